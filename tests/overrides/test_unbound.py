"""Methods that are called as functions of the class."""

from __future__ import annotations

import pytest

import tengen


@pytest.mark.parametrize("name", ["add", "__radd__", "__rsub__", "__and__", "sum", "__neg__"])
def test_what_is_no_tensor_has_no_methods(name: str) -> None:
    with pytest.raises(TypeError, match=rf"'{name}' .* 'int' object"):
        getattr(tengen.Tensor, name)(2, *([tengen.ones(3)] if name not in ("sum", "__neg__") else []))


def test_reflected_operators_of_tensors() -> None:
    """Python does not ask for them where both are tensors; programs may."""
    a, b = tengen.full((2, 1), 8.0), tengen.tensor([1.0, 2.0])
    for name, expected in {
        "__radd__": b + a,
        "__rsub__": b - a,
        "__rmul__": b * a,
        "__rtruediv__": b / a,
        "__rpow__": b**a,
        "__rmod__": b % a,
        "__rfloordiv__": b // a,
    }.items():
        assert tengen.equal(getattr(tengen.Tensor, name)(a, b), expected), name
        assert tengen.equal(getattr(a, name)(b), expected), name
