"""Calls that tensors of all sparse layouts have, and what calls give, of tengen or of torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import tengen
from tengen import Tensor


def functions(m: Tensor, w: Tensor) -> dict[str, Callable[[Tensor], Tensor]]:
    """Functions to a strided tensor, of a matrix as ``w``, sparse or strided, which ``m`` may follow."""
    return {
        "to_dense": lambda s: s.to_dense() * w,
        "scaled": lambda s: (s * 3).to_dense() * w,
        "divided": lambda s: (s / 4).to_dense() * w,
        "negated": lambda s: (-s).to_dense() * w,
        "abs": lambda s: s.abs().to_dense() * w,
        "square": lambda s: (s * s).to_dense() * w,
        "by strided": lambda s: (s * w).to_dense() * w,
        "added": lambda s: w * (w + s),
        "twice": lambda s: (s + s).to_dense() * w,
        "mm": lambda s: s.mm(m).pow(2),
        "matmul": lambda s: (s @ m).pow(2),
        "mv": lambda s: s.mv(m[:, 1]).pow(2),
        "addmm": lambda s: tengen.addmm(m[: len(w)], s, m, beta=2, alpha=3).pow(2),
        "of two": lambda s: s.mm(s.t()).to_dense().pow(2),
        "transposed": lambda s: (s.t().to_dense() * w.t()).pow(2),
        "sum": lambda s: s.sum().pow(2),
        "cast": lambda s: s.to(tengen.complex128).to_dense().real * w,
        "clone": lambda s: s.clone().to_dense() * w,
    }


def outcome(call: Callable[[], Any], facts: Callable[[Any], Any]) -> Any:
    """The ``facts`` of a result, of each one in a list; or an error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
    except (RuntimeError, IndexError, TypeError, ValueError) as error:
        return error
    return [facts(one) for one in found] if isinstance(found, (tuple, list)) else facts(found)
