"""Strides of tensors without elements: views have those that the sizes give, where 0 counts as 1."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from called import Called

import tengen
from tengen.testing.declared import variants

SHAPES = [(0,), (0, 3), (3, 0), (1, 0), (0, 1), (0, 0), (5, 0, 3), (4, 0, 0), (2, 3, 0, 4), (2, 0, 1, 3)]

VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "alias": lambda m, x: x.view_as(x),
    "as_strided": lambda m, x: x.as_strided((2, 0, 3), (1, 2, 3)),
    "chunk": lambda m, x: x.chunk(2, -1),
    "detach": lambda m, x: x.detach(),
    "diagonal": lambda m, x: x.diagonal(0, -1, 0),
    "expand": lambda m, x: x.expand(2, *x.shape),
    "flatten": lambda m, x: x.flatten(),
    "imag": lambda m, x: m.empty_like(x, dtype=m.complex64).imag,
    "movedim": lambda m, x: x.movedim(0, -1),
    "mT": lambda m, x: x.mT,
    "narrow": lambda m, x: x.narrow(-1, 0, 0),
    "permute": lambda m, x: x.permute(*range(x.ndim)[::-1]),
    "real": lambda m, x: m.empty_like(x, dtype=m.complex64).real,
    "reshape": lambda m, x: x.reshape(0, 7),
    "select": lambda m, x: x.select(-1, 0),
    "select of the first": lambda m, x: x.select(0, 0),
    "slice": lambda m, x: x[..., :2],
    "slice_inverse": lambda m, x: x.slice_inverse(x),
    "slice with steps": lambda m, x: x[::2],
    "slice with steps of the last": lambda m, x: x[..., ::3],
    "split": lambda m, x: x.split(1, -1),
    "split_with_sizes": lambda m, x: x.split([0, x.shape[-1]], -1),
    "squeeze": lambda m, x: x.squeeze(),
    "squeeze of one": lambda m, x: x[None].squeeze(0),
    "squeeze of two": lambda m, x: x[None, None].squeeze((0, 1)),
    "swapdims": lambda m, x: x.swapdims(0, -1),
    "t": lambda m, x: x.t(),
    "T": lambda m, x: x.transpose(0, -1).transpose(0, -1),
    "transpose": lambda m, x: x.transpose(0, -1),
    "unbind": lambda m, x: x.unbind(-1),
    "unflatten": lambda m, x: x.unflatten(-1, (1, -1)),
    "unfold": lambda m, x: x.unfold(-1, 1, 2),
    "unsqueeze": lambda m, x: x.unsqueeze(-1),
    "unsqueeze in between": lambda m, x: x.unsqueeze(1),
    "None": lambda m, x: x[None],
    "view": lambda m, x: x.view(7, 0, 2),
    "view as a narrower dtype": lambda m, x: m.empty_like(x, dtype=m.float64).view(m.int32),
    "view as a wider dtype": lambda m, x: x.view(m.float64),
    "view_as_complex": lambda m, x: m.view_as_complex(m.zeros(*x.shape, 2, device=x.device)),
    "view_as_real": lambda m, x: m.view_as_real(m.empty_like(x, dtype=m.complex64)),
}
MADE_ANEW: dict[str, Callable[[Any, Any], Any]] = {
    "deepcopy": lambda m, x: copy.deepcopy(x),
    "empty_like": lambda m, x: m.empty_like(x),
    "ones_like": lambda m, x: m.ones_like(x),
    "pickle": lambda m, x: pickle.loads(pickle.dumps(x)) if x.device.type == "cpu" else x,
    "sum": lambda m, x: x.sum(0),
    "zeros_like": lambda m, x: m.zeros_like(x),
}
#: Arguments that are views already.
ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, -1),
    "stepped": lambda x: x[..., ::2],
}


def layouts(m: Any, function: Any, argument: Any, shape: tuple[int, ...], device: str = "cpu") -> Any:
    """Sizes, strides and contiguity of the results, or the class of the error."""
    try:
        found = function(m, argument(m.zeros(*shape, device=device)))
    except Exception as error:
        return type(error).__name__
    results = found if isinstance(found, (list, tuple)) else [found]
    return [(tuple(r.shape), tuple(r.stride()), r.is_contiguous()) for r in results]


@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("name", VIEWS | MADE_ANEW)
def test_strides_are_those_without_data(name: str, argument: str) -> None:
    """An array without data has its strides from arithmetic alone."""
    function, given = (VIEWS | MADE_ANEW)[name], ARGUMENTS[argument]
    for shape in SHAPES:
        if name == "pickle":
            expected = layouts(tengen, lambda m, x: x, given, shape)
        else:
            expected = layouts(tengen, function, given, shape, "meta")
        assert layouts(tengen, function, given, shape) == expected, shape


@pytest.mark.oracle
@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize("name", VIEWS | MADE_ANEW)
def test_strides_are_pytorchs(name: str, argument: str, torch: Any) -> None:
    function, given = (VIEWS | MADE_ANEW)[name], ARGUMENTS[argument]
    for shape in SHAPES:
        assert layouts(tengen, function, given, shape) == layouts(torch, function, given, shape), shape


def test_every_view_operator_is_tried() -> None:
    with Called() as called:
        for function in VIEWS.values():
            for shape in SHAPES:
                layouts(tengen, function, ARGUMENTS["contiguous"], shape)
    views = {n for n, v in variants().items() if v.kind == "view" and "other_layout" not in v.operator.tags}
    assert views <= called.names
