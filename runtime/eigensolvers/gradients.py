"""The derivatives of some eigenpairs of a symmetric matrix, as a Function around the solver."""

from __future__ import annotations

from typing import Any

from tengen.generated import functions, linalg_functions

from ..autograd.function import Function
from ..core.memory_format import strided
from ..tensors.tensor import Tensor
from . import solve

_FORWARD_DOES = "Note that lobpcg.forward does though."


class LOBPCGAutogradFunction(Function):
    """The eigenpairs, whose gradient is computed from themselves, not from the steps that led to them."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, k: Any, B: Tensor | None, *rest: Any) -> tuple[Tensor, Tensor]:
        values, vectors = solve(A, k, B, *rest)
        ctx.save_for_backward(A, B, values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx: Any, grad_values: Tensor, grad_vectors: Tensor) -> tuple[Tensor | None, ...]:
        A, B, values, vectors = ctx.saved_tensors
        if A.layout is not strided or (B is not None and B.layout is not strided and ctx.needs_input_grad[2]):
            raise ValueError(f"lobpcg.backward does not support sparse input yet. {_FORWARD_DOES}")
        if A.is_complex() or (B is not None and B.is_complex()):
            raise ValueError(f"lobpcg.backward does not support complex input yet. {_FORWARD_DOES}")
        if B is not None:
            raise ValueError("lobpcg.backward does not support backward with B != I yet.")
        grad = eigenpairs_backward(grad_values, grad_vectors, A, values, vectors)
        return (grad, *[None] * 13)


def eigenpairs_backward(
    grad_values: Tensor, grad_vectors: Tensor, A: Tensor, values: Tensor, vectors: Tensor
) -> Tensor:
    """The gradient of a symmetric matrix (..., m, m) from those of k of its eigenpairs, which differ.

    A change of the matrix turns an eigenvector towards each other one, by one over the difference of their
    eigenvalues. Towards the others of the k that is a division; towards those that are not known it is the
    solution of ``(d - A) y = g`` in the space that is orthogonal to the k vectors.
    """
    m, k = vectors.shape[-2:]
    eye = functions.eye(k, dtype=A.dtype, device=A.device)
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    inside = (vectors.mT @ grad_vectors) * ((1 - eye) / (gaps + eye))
    change = vectors @ (grad_values.diag_embed() + inside)
    if k < m:
        change = change + _turned_outside(grad_vectors, A, values, vectors)
    return change @ vectors.mT


def _turned_outside(grad_vectors: Tensor, A: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
    """For each vector the solution of ``(d - A) y = g`` that is orthogonal to all of them."""
    span = vectors @ vectors.mT
    # In the span of the vectors the matrix is moved away from all of its eigenvalues there.
    away = values.amax(-1) - values.amin(-1) + values.abs().amax(-1) + 1
    moved = A + away.unsqueeze(-1).unsqueeze(-1) * span
    eye = functions.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    right = grad_vectors - span @ grad_vectors
    solutions = [
        linalg_functions.solve(values[..., j, None, None] * eye - moved, right[..., j : j + 1])
        for j in range(vectors.shape[-1])
    ]
    found = functions.cat(solutions, -1)
    return found - span @ found
