"""Tensor subclasses survive operators: the default handler, and what it leaves alone."""

from __future__ import annotations

import copy
import operator
import pickle
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import tengen

PROGRAMS = """s + 1
1 + s
x + s
s - x
x - s
1 - s
x / s
1 / s
x ** s
2 ** s
s % 2
s // x
x @ s
-s
abs(s)
~(s > 1)
(s > 0) & True
s == x
x == s
x < s
s[0]
s[:, None, 1]
s[..., 0]
s[[0, 1]]
s[s > 0]
x[s.long() - 1]
s.T
s.mT
s.real
s.data
s.add(x)
x.add(s)
x.mul_(s)
s.add_(1)
s.sum()
s.mean(0)
s.argmax()
s.reshape(4)
s.view(-1)
s.transpose(0, 1)
s.permute(1, 0)
s.expand(3, 2, 2)
s.float()
s.double()
s.long()
s.to(m.float64)
s.to(s)
s.type_as(x)
s.detach()
s.clone()
s.contiguous()
s.requires_grad_()
s.exp().log().sqrt()
s.new_zeros(2)
s.where(s > 0, x)
m.add(x, s, alpha=2)
m.add(s, 1)
m.exp(s)
m.sum(s, dim=0)
m.cat([s, x])
m.stack((x, s))
m.where(x > 0, s, x)
m.zeros_like(s)
m.full_like(s, 2)
m.clamp(s, min=0)
m.einsum("ij->i", s)
m.tensordot(x, s, 1)
m.linalg.det(s)
m.nn.functional.relu(s)
m.nn.functional.linear(x, s)
m.nn.functional.softmax(s, 0)
m.nn.functional.cross_entropy(s, x)
m.nn.functional.mse_loss(s, x, reduction="sum")
m.special.expit(s)
reversed(s)""".splitlines()


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_are_of_the_subclass(lib: Any, program: str) -> None:
    kind = lib.subclass()
    names = {
        "m": lib.m,
        "x": lib.ones(2, 2) + lib.eye(2),
        "s": (lib.ones(2, 2) + lib.eye(2)).as_subclass(kind),
    }
    result = eval(program, names)
    assert type(result) is kind
    plain = {"m": lib.m, "x": lib.ones(2, 2) + lib.eye(2), "s": lib.ones(2, 2) + lib.eye(2)}
    expected = eval(program, plain)
    assert lib.equal(result.as_subclass(lib.Tensor), expected) and result.dtype == expected.dtype


@pytest.mark.parametrize(
    "program",
    [
        "s.shape", "s.dtype", "s.ndim", "s.device", "s.size(0)", "s.stride()", "len(s)", "s.numel()",
        "s.requires_grad", "s.is_leaf", "s.sum().item()", "float(s.sum())", "bool(s.sum())", "s.tolist()",
        "s.is_contiguous()", "m.is_floating_point(s)", "m.result_type(s, 1)", "1 in s", "hash(s) == hash(s)",
        "m.equal(s, s)", "s.is_floating_point()", "m.numel(s)", "m.allclose(s, x)",
    ],
)  # fmt: skip
def test_what_is_no_tensor_stays(lib: Any, program: str) -> None:
    names = {"m": lib.m, "x": lib.ones(2, 2), "s": lib.ones(2, 2).as_subclass(lib.subclass())}
    assert type(eval(program, names)) is type(eval(program, {**names, "s": names["x"]}))


def test_several_results(lib: Any) -> None:
    kind = lib.subclass()
    s = lib.arange(4.0).reshape(2, 2).as_subclass(kind)
    values, indices = s.max(0)
    assert type(values) is kind and type(indices) is kind
    named = lib.max(s, 0)
    assert type(named.values) is kind and type(named) is type(lib.max(lib.ones(2, 2), 0))
    for parts in (
        s.split(1),
        s.unbind(0),
        lib.chunk(s, 2),
        lib.broadcast_tensors(s, lib.ones(2, 2)),
        list(s),
    ):
        assert [type(part) for part in parts] == [kind, kind]
    assert type(lib.meshgrid(s[0], s[0], indexing="ij")[0]) is kind


def test_in_place_keeps_the_object(lib: Any) -> None:
    kind = lib.subclass()
    s = t = lib.ones(2).as_subclass(kind)
    s += 1
    s *= lib.ones(2)
    s[0] = 5
    assert s is t and s.tolist() == [5, 2] and s.add_(1) is t
    x = y = lib.ones(2)
    x += s
    assert type(x) is kind and type(y) is lib.Tensor and y.tolist() == [7, 4]


def test_out(lib: Any) -> None:
    kind = lib.subclass()
    out = lib.zeros(2).as_subclass(kind)
    assert lib.add(lib.ones(2), lib.ones(2), out=out) is out and out.tolist() == [2, 2]
    plain = lib.zeros(2)
    result = lib.add(out, 1, out=plain)
    assert type(result) is kind and type(plain) is lib.Tensor and plain.tolist() == [3, 3]


def test_attributes_are_the_objects_own(lib: Any) -> None:
    kind = lib.subclass(label="of the class")
    s = lib.ones(2).as_subclass(kind)
    s.note = [1]
    assert s.note == [1] and s.label == "of the class" and not hasattr(s + 1, "note")


def test_as_subclass_is_a_differentiable_view(lib: Any) -> None:
    kind = lib.subclass()
    x = lib.ones(2, requires_grad=True)
    s = x.as_subclass(kind)
    assert s.requires_grad and not s.is_leaf and "Alias" in type(s.grad_fn).__name__
    (s * 3).sum().backward()
    assert x.grad.tolist() == [3, 3]
    y = lib.ones(3)
    view = y.as_subclass(kind)
    view.mul_(2)
    assert y.tolist() == [2, 2, 2] and view.data_ptr() == y.data_ptr() and view._version == y._version == 1
    with pytest.raises((TypeError, RuntimeError)):
        y.as_subclass(int)


def test_writes_through_a_view_of_a_subclass_reach_the_history(lib: Any) -> None:
    kind = lib.subclass()
    x = lib.ones(3, requires_grad=True)
    s = (x * 2).as_subclass(kind)
    part = s[1:]
    part.mul_(5)
    s.sum().backward()
    assert x.grad.tolist() == [2, 10, 10]


def test_without_recording(lib: Any) -> None:
    kind = lib.subclass()
    s = lib.ones(2).as_subclass(kind)
    with lib.inference_mode():
        assert type(lib.ones(2).as_subclass(kind) + 1) is kind and type(s[0] * 2) is kind
    with lib.no_grad():
        made = s * 2
    assert type(made) is kind and not made.requires_grad
    with pytest.raises(RuntimeError, match="no_grad"):
        made.mul_(lib.ones(2, requires_grad=True))


def test_classes_with_slots_and_init(lib: Any) -> None:
    kind = lib.subclass(name="Slotted", __slots__=("unit",))
    s = lib.ones(2).as_subclass(kind)
    s.unit = "m"
    assert s.unit == "m" and type(s + 1) is kind


def test_make_subclass(lib: Any) -> None:
    kind = lib.subclass()
    x = lib.ones(2, requires_grad=True)
    made = lib.Tensor._make_subclass(kind, x * 2, True)
    assert type(made) is kind and made.is_leaf and made.requires_grad
    (made * 3).sum().backward()
    assert made.grad.tolist() == [3, 3] and x.grad is None


def test_construction(lib: Any) -> None:
    kind = lib.subclass()
    assert type(kind([1.0, 2.0])) is kind and type(kind(2, 3)) is kind and kind(2, 3).shape == (2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert type(lib.tensor(kind([1.0]))) is lib.Tensor
    s = kind([1.0])
    assert lib.as_tensor(s) is s


def test_methods_of_the_subclass_and_super(lib: Any) -> None:
    calls: list[str] = []

    def add(self: Any, other: Any) -> Any:
        calls.append("add")
        return super(kind, self).add(other)

    def __add__(self: Any, other: Any) -> Any:
        calls.append("__add__")
        return super(kind, self).__add__(other)

    kind = lib.subclass(add=add, __add__=__add__)
    s = lib.ones(2).as_subclass(kind)
    assert type(s.add(1)) is kind and type(s + 1) is kind and (s + 1).tolist() == [2, 2]
    assert calls == ["add", "__add__", "__add__"]
    assert type(lib.Tensor.add(s, 1)) is kind and calls[3:] == []


def test_a_subclass_before_its_superclass(lib: Any) -> None:
    parent = lib.subclass(name="Parent")
    child = lib.subclass(name="Child", base=parent)
    other = lib.subclass(name="Other")
    x = lib.ones(2)
    p, c, o = (x.as_subclass(k) for k in (parent, child, other))
    assert type(p + c) is child and type(c + p) is child and type(lib.stack([p, x, c])) is child
    with pytest.raises(TypeError):
        p + o
    with pytest.raises(TypeError, match=r"Multiple dispatch failed|no implementation"):
        lib.add(p, o)


def test_several_bases(lib: Any) -> None:
    class Mixin:
        def double(self: Any) -> Any:
            return self * 2

    kind = lib.define("Mixed", (Mixin, lib.Tensor))
    s = lib.ones(2).as_subclass(kind)
    assert type(s.double()) is kind and type(s.double().exp().double()) is kind


def test_classes_that_opt_out(lib: Any) -> None:
    kind = lib.subclass(**{lib.protocol: lib.opted_out})
    s = lib.ones(2, 2).as_subclass(kind)
    for result in (s + 1, 1 - s, s.T, s[0], lib.exp(s), lib.cat([s, s]), s.max(0)[0], s.detach()):
        assert type(result) is lib.Tensor
    assert type(s.add_(1)) is kind
    again = lib.subclass(base=kind, name="Again", handler=lib.default)
    assert type(s.as_subclass(again) + 1) is again
    out = lib.subclass(base=lib.subclass(), name="Out", **{lib.protocol: lib.opted_out})
    assert type(s.as_subclass(out) + 1) is lib.Tensor and type(s.as_subclass(out).T) is lib.Tensor
    sub = lib.ones(2, 2).as_subclass(lib.subclass(name="Other"))
    assert type(s + sub) is type(sub) and type(sub + s) is type(sub)


# -- autograd


def test_gradients(lib: Any) -> None:
    kind = lib.subclass()
    s = lib.ones(2).as_subclass(kind).requires_grad_()
    x = lib.full((2,), 3.0, requires_grad=True)
    y = s * x
    seen: list[Any] = []
    s.register_hook(lambda g: seen.append(type(g)))
    y.retain_grad()
    y.sum().backward()
    assert type(s) is kind and s.is_leaf and type(s.grad) is lib.Tensor and type(y.grad) is lib.Tensor
    assert s.grad.tolist() == [3, 3] and x.grad.tolist() == [1, 1] and seen == [lib.Tensor]
    (g,) = lib.autograd.grad((s * x).sum(), s)
    assert type(g) is kind


def test_formulas_are_not_overridden(lib: Any) -> None:
    log: list[str] = []
    kind = lib.logging(log)
    s = lib.full((2,), 2.0).as_subclass(kind).requires_grad_()
    x = lib.ones(2, requires_grad=True)
    loss = (s * x * s).sum().as_subclass(lib.Tensor)
    log.clear()
    (g,) = lib.autograd.grad(loss, x, create_graph=True)
    assert type(g) is lib.Tensor and g.requires_grad and g.tolist() == [4, 4] and log == []
    (h,) = lib.autograd.grad(g.sum(), s)
    assert h.tolist() == [4, 4]


def test_hooks_are_overridden(lib: Any) -> None:
    log: list[str] = []
    kind = lib.logging(log)
    s = lib.ones(2).as_subclass(kind)
    x = lib.ones(2, requires_grad=True)
    x.register_hook(lambda g: (g + s).as_subclass(lib.Tensor))
    (x * 2).sum().backward()
    assert log == ["add"] and x.grad.tolist() == [3, 3]


def test_saved_tensors_are_of_the_subclass(lib: Any) -> None:
    s = lib.ones(2).as_subclass(lib.subclass())
    x = lib.ones(2, requires_grad=True)
    node = (x * s).grad_fn.next_functions[0][0]
    assert node._saved_other is s

    class Twice(lib.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            return a * b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            kinds.append((type(a), type(b), type(g * b)))
            return g * b, None

    kinds: list[Any] = []
    Twice.apply(x, s).sum().as_subclass(lib.Tensor).backward()
    assert kinds == [(lib.Tensor, type(s), type(s))] and x.grad.tolist() == [1, 1]


# -- copies


class Unit(tengen.Tensor):
    """A class that pickle finds."""


def test_copies_and_pickles() -> None:
    s = tengen.ones(2).as_subclass(Unit)
    s.note = "kept"
    for made in (copy.deepcopy(s), copy.copy(s), pickle.loads(pickle.dumps(s))):
        assert type(made) is Unit and made.tolist() == [1, 1] and made.note == "kept"
    leaf = s.detach().requires_grad_()
    (leaf * 2).sum().backward()
    made = copy.deepcopy(leaf)
    assert type(made) is Unit and made.requires_grad and made.is_leaf and made.grad.tolist() == [2, 2]


def test_printing(lib: Any) -> None:
    s = lib.ones(2).as_subclass(lib.subclass())
    assert repr(s) == "Sub([1., 1.])" and str(s) == repr(s) == f"{s}"
    assert "grad_fn=<AliasBackward0>" in repr(s.requires_grad_() * 2)


def test_lookups_in_the_class(lib: Any) -> None:
    kind = lib.subclass()
    assert kind.add is lib.Tensor.add and kind.shape is lib.Tensor.shape
    assert issubclass(kind, lib.Tensor) and isinstance(lib.ones(1).as_subclass(kind), lib.Tensor)
    assert lib.Tensor.add(lib.ones(2), 1).tolist() == [2, 2] and lib.Tensor.shape.__get__(lib.ones(2)) == (2,)
    assert lib.Tensor.add.__name__ == "add" and lib.Tensor.__getitem__.__name__ == "__getitem__"


def test_assignments_to_tensor_reach_subclasses(lib: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = lib.subclass()
    s = lib.ones(2).as_subclass(kind)
    before = kind.square
    monkeypatch.setattr(lib.Tensor, "square", lambda self: "patched", raising=False)
    assert lib.ones(2).square() == "patched"
    assert s.square() == "patched"
    monkeypatch.undo()
    assert (
        type(s.square()) is kind and (lib.ones(2) * 2).square().tolist() == [4, 4] and kind.square is before
    )


# -- NumPy


def test_numpy(lib: Any) -> None:
    kind = lib.subclass()
    s, x, n = lib.ones(2).as_subclass(kind), lib.ones(2), np.ones(2, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert type(np.add(s, s)) is kind and type(np.sin(x)) is lib.Tensor
        assert type(s * n) is kind and type(x * n) is lib.Tensor
    assert type(s.numpy()) is np.ndarray and type(np.asarray(s)) is np.ndarray
    with pytest.raises(TypeError):
        n * x
    assert lib.Tensor.__array_priority__ == 1000


def test_foreign_arrays_that_reflect(lib: Any) -> None:
    class Array:
        __array_priority__ = 2000

        def __radd__(self, other: Any) -> Any:
            return "radd", type(other)

        def __rsub__(self, other: Any) -> Any:
            return "rsub", type(other)

    s = lib.ones(2).as_subclass(lib.subclass())
    assert lib.ones(2) + Array() == ("radd", lib.Tensor) and s - Array() == ("rsub", type(s))
    with pytest.raises(TypeError):
        operator.mul(s, Array())


# -- threads


def test_disabling_is_a_threads_own(lib: Any) -> None:
    kind = lib.subclass()
    s = lib.ones(2).as_subclass(kind)
    found: list[type] = []
    with lib.disabled():
        thread = threading.Thread(target=lambda: found.append(type(s + 1)))
        thread.start()
        thread.join()
        assert type(s + 1) is lib.Tensor and type(s.t()) is lib.Tensor and type(lib.exp(s)) is lib.Tensor
    assert found == [kind] and type(s + 1) is kind
