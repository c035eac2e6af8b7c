"""What the generator writes for calls with keywords, and for writes in place."""

from __future__ import annotations

import inspect

import pytest

import tengen
from tengen.codegen.derive.ufuncs import Ufuncs
from tengen.codegen.specialise.inplace import written_into_self
from tengen.core import interception
from tengen.ir.reader import read_expression
from tengen.ir.writer import write
from tengen.testing.declared import declarations
from tengen.testing.primitives import function_of


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(dim=1),
        lambda x: x.sum(dim=1, keepdim=True),
        lambda x: x.mean(-1, keepdim=True),
        lambda x: x.argmax(dim=0, keepdim=True),
        lambda x: x.max(dim=1).values,
        lambda x: tengen.sum(x, dim=1),
        lambda x: tengen.cat([x, x], dim=1),
        lambda x: x.softmax(dim=1),
        lambda x: x.contiguous(),
        lambda x: x.mT.contiguous(memory_format=tengen.contiguous_format),
        lambda x: x.to("cpu"),
        lambda x: x.to(x.device, tengen.float64),
        lambda x: x.to(dtype=tengen.int64),
        lambda x: x.to(device=tengen.device("cpu"), dtype=tengen.bool),
        lambda x: x.to(device=x.device),
        lambda x: x.to(tengen.float64, non_blocking=False, copy=False, memory_format=None),
        lambda x: x.to("cpu", tengen.float64, copy=False),
        lambda x: x.to(dtype=tengen.float64, device="cpu", non_blocking=False),
        lambda x: x.norm(2, dtype=None),
        lambda x: x.norm(2, dim=None),
        lambda x: tengen.norm(x, 2, 1, dtype=None),
        lambda x: tengen.exp(x, out=None),
        lambda x: tengen.add(x, x, out=None),
        lambda x: tengen.add(x, x, alpha=2, out=None),
        lambda x: tengen.where(x > 0, x, x, out=None),
        lambda x: tengen.matmul(x, x.mT, out=None),
        lambda x: tengen.zeros(3, out=None),
        lambda x: tengen.zeros((3,), dtype=None, layout=None, device=None, pin_memory=None),
        lambda x: tengen.arange(3, out=None, dtype=None),
    ],
)
def test_usual_keywords_take_the_first_path(call: object, monkeypatch: pytest.MonkeyPatch) -> None:
    from tengen.generated import functions, tensor_methods
    from tengen.tensors import casts

    def second_path(*args: object, **keywords: object) -> object:
        raise AssertionError("the second path")

    monkeypatch.setattr(functions, "call", second_path)
    monkeypatch.setattr(tensor_methods, "call", second_path)
    monkeypatch.setattr(casts, "call", second_path)
    assert not interception.active
    call(tengen.ones(2, 3))  # type: ignore[operator]


def test_what_is_given_as_none_is_not_lost() -> None:
    """Errors are those of the call, and classes with function overrides see all of it."""
    x = tengen.ones(2, 3)
    for call, text in (
        (lambda: tengen.exp(x, out=None, dtype=None), "exp"),
        (lambda: x.norm(2, 1, dim=None), "norm"),
        (lambda: tengen.norm(x, 2, p=None), "norm"),
        (lambda: tengen.where(x > 0, x, x, other=None), "where"),
    ):
        with pytest.raises(TypeError, match=text):
            call()
    seen: list[object] = []

    class Seeing:
        @classmethod
        def __tengen_function__(
            cls, func: object, types: object, args: object, kwargs: object = None
        ) -> None:
            seen.append(kwargs)

    tengen.add(Seeing(), x, out=None)  # type: ignore[call-overload]
    tengen.add(x, Seeing(), out=None)  # type: ignore[call-overload]
    tengen.exp(Seeing(), out=None)  # type: ignore[arg-type]
    assert seen == [{"out": None}] * 3


def test_keywords_mean_the_same_on_both_paths() -> None:
    x = tengen.arange(6.0).reshape(2, 3)
    seen: list[str] = []

    class Watching(interception.Layer):
        def __call__(self, operator: object, arguments: object, proceed: object) -> object:
            seen.append(operator.name)  # type: ignore[attr-defined]
            return proceed(*arguments)  # type: ignore[operator,misc]

    for call in (
        lambda: x.sum(dim=1, keepdim=True),
        lambda: x.std(dim=0, correction=0),
        lambda: x.amax(dim=1),
    ):
        first = call()
        with Watching():
            second = call()
        assert first.tolist() == second.tolist() and first.shape == second.shape
    assert len(seen) >= 3


def written(text: str) -> str | None:
    ufuncs = Ufuncs(declarations().primitives)
    found = written_into_self(read_expression(text), ufuncs)
    return None if found is None else write(found)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("self + other", "xp.add(self, other, out=self)"),
        ("-self", "xp.negative(self, out=self)"),
        ("xp.exp(self) * other", "xp.multiply(xp.exp(self), other, out=self)"),
        (
            "self - other if alpha == 1 else self - scaled(other, alpha)",
            "xp.subtract(self, other, out=self) if alpha == 1 else "
            "xp.subtract(self, scaled(other, alpha), out=self)",
        ),
        ("xp.where(mask, self, other)", None),  # no ufunc
        ("kernel(self)", None),
        ("erf(-self)", "erf(-self, self)"),
        ("self if alpha == 1 else self * alpha", None),
    ],
)
def test_the_last_operation_writes(expression: str, expected: str | None) -> None:
    assert written(expression) == expected


def test_said_to_be_ufuncs_are() -> None:
    import numpy as np

    for name, primitive in declarations().primitives.items():
        assert primitive.out == isinstance(function_of(primitive), np.ufunc), name


def test_methods_that_write_have_the_general_form_behind_them() -> None:
    from tengen.generated import cpu_variable_types

    source = inspect.getsource(cpu_variable_types.VariableCPUFloatingType.add__Tensor)
    assert "out=" in source and "super().add__Tensor" in source
