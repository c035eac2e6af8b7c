"""Arguments that are refused: the class of the error is PyTorch's, and the text says what is wrong."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import tengen
from tengen.dispatch.operator import operator
from tengen.generated.operators import OVERLOADS

SIZES = {
    "m.ones(True)": TypeError,
    "m.ones((True,))": TypeError,
    "m.full((True,), 1)": TypeError,
    "m.ones(2).view(True)": TypeError,
    "m.ones(2, 2).sum(True)": TypeError,
    "m.ones(3).topk(True)": TypeError,
    "m.ones(2).new_zeros(True)": TypeError,
    "m.zeros(2.0)": TypeError,
    "m.zeros(-1)": RuntimeError,
    "m.zeros(2**62, 4)": RuntimeError,
    "m.zeros(2**50)": RuntimeError,
    "m.eye(2**40)": RuntimeError,
    "m.randn(2**62, 4)": RuntimeError,
    "m.arange(0, 5, 0)": RuntimeError,
    "m.arange(0, 5, -1)": RuntimeError,
    "m.arange(2**62)": RuntimeError,
    "m.linspace(0, 1, -1)": RuntimeError,
    "m.linspace(0, 1, 2.5)": TypeError,
    "m.eye(2, -1)": RuntimeError,
    "m.randperm(-1)": RuntimeError,
    "m.empty_strided((2,), (-1,))": RuntimeError,
}
OPTIONS = {
    "m.zeros(2, requires_grad='x')": TypeError,
    "m.zeros(2, requires_grad='')": TypeError,
    "m.zeros(2, requires_grad=0)": TypeError,
    "m.zeros(2, dtype='float32')": TypeError,
    "m.zeros(2, layout='strided')": TypeError,
    "m.zeros(2, device=3.0)": TypeError,
    "m.zeros_like(m.ones(2), memory_format='x')": TypeError,
    "m.ones(2).clone(memory_format='x')": TypeError,
    "m.ones(2).contiguous(memory_format='x')": TypeError,
    "m.tensor([1.0], requires_grad='x')": TypeError,
}
PLACES = {
    "F.embedding(m.tensor([0]), m.tensor(1.0))": RuntimeError,
    "F.embedding(m.tensor([0]), m.ones(2))": RuntimeError,
    "F.interpolate(m.ones(1, 1, 2), size=0)": RuntimeError,
    "F.interpolate(m.ones(1, 1, 2), size=-1)": RuntimeError,
    "F.interpolate(m.ones(1, 1, 2, 2), size=(2, 0), mode='nearest-exact')": RuntimeError,
    "F.interpolate(m.ones(1, 1, 2), scale_factor=0)": RuntimeError,
    "F.interpolate(m.ones(1, 1, 2), scale_factor=-1.0)": RuntimeError,
    "F.interpolate(m.ones(1, 1, 2), scale_factor=0.1)": RuntimeError,
    "F.interpolate(m.ones(1, 1, 0), size=2)": RuntimeError,
    "F.interpolate(m.ones(1, 1, 2), size='x')": TypeError,
    "F.interpolate(m.ones(1, 1, 2), size=True)": TypeError,
    "F.interpolate(m.ones(2, 2), size=2)": NotImplementedError,
    "F.conv1d(m.ones(1, 1, 2), m.ones(1, 1, 0))": RuntimeError,
    "m.tensordot(m.tensor(1.0), m.ones(3, 4), ([0], [0]))": IndexError,
    "m.repeat_interleave(m.tensor(1.0), m.tensor([0, 1]), 0)": IndexError,
    "m.meshgrid(1, 2)": TypeError,
    "m.broadcast_tensors(1, 2)": TypeError,
    "m.ones(2, dtype=m.complex64).abs_()": RuntimeError,
    "m.ones(2, dtype=m.complex64).absolute_()": RuntimeError,
    "m.ones(2).cumsum_(0, dtype=m.float64)": RuntimeError,
    "m.ones(1).addmm_(m.ones(2, 2), m.ones(2, 2))": RuntimeError,
}
#: Of autograd: ``s`` is a sum that depends on ``x``.
FLAGS = {
    f"{call}{flag}={value!r})": TypeError
    for call, flags in {
        "s.backward(": ("retain_graph", "create_graph"),
        "m.autograd.backward(s, ": ("retain_graph", "create_graph"),
        "m.autograd.grad(s, x, ": ("retain_graph", "create_graph", "allow_unused", "materialize_grads"),
    }.items()
    for flag in flags
    for value in ("x", 1.5, [])
} | {
    "s.backward(create_graph=None)": TypeError,
    "m.autograd.grad(s, x, create_graph=None)": TypeError,
    "m.set_grad_enabled('x')": TypeError,
    "m.set_grad_enabled(1)": TypeError,
    "m.autograd.set_detect_anomaly('x')": TypeError,
    "m.autograd.grad_mode.set_multithreading_enabled('x')": TypeError,
    "x.requires_grad_('x')": TypeError,
    "setattr(x, 'requires_grad', 'x')": RuntimeError,
    "m.autograd.functional.jacobian(lambda t: t, x, create_graph='x')": TypeError,
}
REFUSED = SIZES | OPTIONS | PLACES | FLAGS


OF_TENSORS = [
    function
    for function, overloads in OVERLOADS.items()
    if hasattr(tengen, function)
    and not function.endswith("_")
    and any(operator(n).tensors for n in overloads)
]


def outcome(program: str, library: ModuleType) -> Any:
    """The class of the error that a program raises, and its text."""
    x = library.ones(2, requires_grad=True)
    names = {"m": library, "F": library.nn.functional, "x": x, "s": (x * 2).sum()}
    try:
        eval(program, names)
    except Exception as error:
        return type(error), str(error)
    finally:
        library.set_grad_enabled(True)
    return None, ""


@pytest.mark.parametrize("program", REFUSED)
def test_here(program: str) -> None:
    kind, text = outcome(program, tengen)
    assert kind is REFUSED[program]
    assert text


@pytest.mark.oracle
@pytest.mark.parametrize("program", REFUSED)
def test_in_torch(program: str) -> None:
    assert outcome(program, pytest.importorskip("torch"))[0] is REFUSED[program]


@pytest.mark.parametrize("value", [1, 0, True, None])
def test_flags_that_count(value: Any) -> None:
    """None is the default of some, and an int counts as a bool."""
    x = tengen.ones(2, requires_grad=True)
    tengen.autograd.grad((x * 2).sum(), x, retain_graph=value, allow_unused=value)
    (x * 2).sum().backward(retain_graph=value)


@pytest.mark.oracle
@pytest.mark.parametrize("function", OF_TENSORS)
def test_numbers_alone(function: str) -> None:
    """Numbers alone are a TypeError where they are one in torch; where that computes, so do we."""
    torch = pytest.importorskip("torch")
    here, there = getattr(tengen, function), getattr(torch, function, None)
    if there is None:
        pytest.skip("torch has no function of this name")
    for values in ((2,), (2, 3), (2.5, 3), (True, False), (2, 3, 4)):
        ours, theirs = called(here, values), called(there, values)
        assert (ours is TypeError) or theirs is not TypeError, values
        if len(values) == 2 and theirs is None and any(operator(n).numbers for n in OVERLOADS[function]):
            assert ours is None, values


def called(function: Any, values: tuple[Any, ...]) -> type[BaseException] | None:
    """The class of the error that a call raises, or None."""
    try:
        function(*values)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.parametrize("dtype", ["float32", "complex64", "bool", "int64", "bfloat16"])
def test_a_huge_expanded_tensor_prints(dtype: str) -> None:
    """Of what a summary leaves out, nothing is made."""
    one = tengen.ones(1, dtype=getattr(tengen, dtype))
    for shape in ((10**12,), (10**6, 10**6), (10**5, 2, 10**7)):
        text, small = repr(one.expand(shape)), repr(one.expand([min(n, 2000) for n in shape]))
        assert text == small


def test_resize_counts_as_a_write() -> None:
    """Who saved the tensor would find another one; the same size changes nothing."""
    x, w = tengen.ones(4), tengen.ones(4, requires_grad=True)
    y = (x * w).sum()
    x.resize_(4)
    assert x._version == 0
    x.resize_(2)
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_data_has_a_version_of_its_own() -> None:
    """What is assigned to ``data`` is counted by each tensor alone."""
    x, y = tengen.ones(2).add_(1), tengen.ones(2)
    x.data = y
    y.add_(1)
    assert (x.tolist(), x._version, y._version) == ([2.0, 2.0], 1, 1)
    x.add_(1)
    assert (x._version, y._version) == (2, 1)
