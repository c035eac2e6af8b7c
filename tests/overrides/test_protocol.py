"""The protocol: who is asked, in which order, with what, and what happens when nobody answers."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import pytest


def answer(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What a foreign object's handler was given."""
    return cls.__name__, func.__name__, [kind.__name__ for kind in types]


def refuse(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    return NotImplemented


CALLS = {
    "x + f": "add",
    "f + x": "add",
    "f - x": "__rsub__",
    "x - f": "sub",
    "f / x": ("__rtruediv__", "__rdiv__"),
    "x @ f": "matmul",
    "x == f": "eq",
    "x += f": "add_",
    "x[f]": "__getitem__",
    "x[0, f]": "__getitem__",
    "x.add(f)": "add",
    "x.to(f)": "to",
    "x.view(f)": "view",
    "x.mean(f)": "mean",
    "x.where(f, x)": "where",
    "x.clamp(min=f)": "clamp",
    "x.copy_(f)": "copy_",
    "m.add(x, f)": "add",
    "m.add(f, x)": "add",
    "m.add(x, x, alpha=f)": "add",
    "m.add(x, x, out=f)": "add",
    "m.exp(f)": "exp",
    "m.sum(f, dim=0)": "sum",
    "m.sum(x, dtype=f)": "sum",
    "m.cat([x, f])": "cat",
    "m.cat((f, f))": "cat",
    "m.stack([x, f], 1)": "stack",
    "m.where(x > 0, f, x)": "where",
    "m.zeros(f)": "zeros",
    "m.full((2,), f)": "full",
    "m.zeros_like(f)": "zeros_like",
    "m.zeros_like(f, requires_grad=True)": "zeros_like",
    "m.einsum('i,i', x, f)": "einsum",
    "m.tensordot(f, x, 1)": "tensordot",
    "m.broadcast_tensors(x, f)": "broadcast_tensors",
    "m.meshgrid(f, f)": "meshgrid",
    "m.linalg.inv(f)": "linalg_inv",
    "m.linalg.solve(x, f)": "linalg_solve",
    "m.nn.functional.relu(f)": "relu",
    "m.nn.functional.linear(x, f)": "linear",
    "m.nn.functional.linear(x, x, bias=f)": "linear",
    "m.nn.functional.pad(f, (1, 1))": "pad",
    "m.nn.functional.cross_entropy(x, f)": "cross_entropy",
    "m.nn.functional.dropout(f, 0.5)": "dropout",
    "m.nn.functional.batch_norm(f, None, None)": "batch_norm",
    "m.is_floating_point(f)": "is_floating_point",
    "m.numel(f)": "numel",
    "m.allclose(x, f)": "allclose",
    "m.autograd.grad(f, x)": "grad",
}


@pytest.mark.parametrize("call", CALLS)
def test_foreign_objects(lib: Any, call: str) -> None:
    names = {"m": lib.m, "x": lib.ones(2, 2), "f": lib.foreign(answer)()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if " += " in call:
            result = operator.iadd(names["x"], names["f"])
        else:
            result = eval(call, names)
    names_allowed = CALLS[call] if isinstance(CALLS[call], tuple) else (CALLS[call],)
    kind, function, types = result
    assert kind == "Foreign" and function in names_allowed and "Foreign" in types


def test_assignment_to_an_element(lib: Any) -> None:
    seen: list[Any] = []

    def handler(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        seen.append((func.__name__, len(args)))

    x = lib.ones(2)
    x[0] = lib.foreign(handler)()
    assert seen == [("__setitem__", 3)] and x.tolist() == [1, 1]


def test_not_asked(lib: Any) -> None:
    f = lib.foreign(answer)()
    assert not lib.is_tensor(f)
    with pytest.raises((RuntimeError, TypeError)):
        lib.tensor(f)


def test_a_class_is_not_asked_for_its_instances(ours: Any) -> None:
    with pytest.raises(TypeError):
        ours.add(ours.ones(2), ours.foreign(answer))


def test_arguments_as_they_were_given(lib: Any) -> None:
    seen: list[Any] = []

    def handler(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> None:
        seen.append((args, dict(kwargs)))

    f = lib.foreign(handler)()
    x = lib.ones(2)
    lib.add(f, 1)
    lib.add(f, 1, alpha=3)
    lib.sum(f, dim=0, keepdim=True)
    lib.mean(f)
    x.add(f)
    lib.zeros_like(f, dtype=lib.float64, requires_grad=True)
    lib.max(f, 1)
    assert seen == [
        ((f, 1), {}),
        ((f, 1), {"alpha": 3}),
        ((f, 0, True), {}) if lib.name == "tengen" else ((f,), {"dim": 0, "keepdim": True}),
        ((f,), {}),
        ((x, f), {}),
        ((f,), {"dtype": lib.float64, "requires_grad": True}),
        ((f, 1), {}),
    ]


def test_what_was_called(lib: Any) -> None:
    called: list[Any] = []

    def handler(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        called.append(func)
        return lib.default(cls, func, types, args, kwargs)

    s = lib.ones(2, 2).as_subclass(lib.subclass(handler))
    x = lib.ones(2, 2)
    tensor, functional = lib.Tensor, lib.nn.functional
    cases = [
        (lambda: lib.add(s, 1), lib.add),
        (lambda: lib.add(x, s), lib.add),
        (lambda: s.add(1), tensor.add),
        (lambda: x.add(s), tensor.add),
        (lambda: s + 1, tensor.add),
        (lambda: 1 + s, tensor.add),
        (lambda: x + s, tensor.add),
        (lambda: 1 - s, tensor.__rsub__),
        (lambda: x * s, tensor.mul),
        (lambda: s / 2, tensor.div),
        (lambda: s @ x, tensor.matmul),
        (lambda: s < x, tensor.lt),
        (lambda: x < s, tensor.gt),
        (lambda: -s, tensor.neg),
        (lambda: s[0], tensor.__getitem__),
        (lambda: len(s), tensor.__len__),
        (lambda: s.sum(0), tensor.sum),
        (lambda: lib.sum(s, 0), lib.sum),
        (lambda: s.add_(1), tensor.add_),
        (lambda: s.float(), tensor.float),
        (lambda: s.shape, tensor.shape.__get__),
        (lambda: s.T, tensor.T.__get__),
        (lambda: s.grad, tensor.grad.__get__),
        (lambda: s.dim(), tensor.dim),
        (lambda: s.backward, None),
        (lambda: repr(s), tensor.__repr__),
        (lambda: s.tolist(), tensor.tolist),
        (lambda: functional.relu(s), functional.relu),
        (lambda: functional.linear(x, s), functional.linear),
        (lambda: functional.pad(s, (1, 1)), functional.pad),
        (lambda: functional.softmax(s, dim=0), functional.softmax),
        (lambda: lib.einsum("ij->i", s), lib.einsum),
        (lambda: lib.linalg.det(s), lib.linalg.det),
        (lambda: lib.cat([x, s]), lib.cat),
        (lambda: lib.where(x > 0, s, x), lib.where),
        (lambda: x.where(s > 5, x), tensor.where),
    ]
    for call, expected in cases:
        called.clear()
        call()
        assert called[-1:] == ([] if expected is None else [expected]), expected
    s.requires_grad = True
    assert called[-1] == tensor.requires_grad.__set__
    del s.grad
    assert called[-1] == tensor.grad.__delete__


def test_functions_by_table(lib: Any) -> None:
    """The way of the guides: a table of functions, and those that are not in it are not there."""
    table: dict[Any, Any] = {}

    def handler(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func not in table or not all(issubclass(t, (lib.Tensor, kind)) for t in types):
            return NotImplemented
        return table[func](*args, **kwargs)

    kind = lib.foreign(handler, "Diagonal", __init__=lambda self, n, v: self.__dict__.update(n=n, v=v))
    table[lib.mean] = lambda input: input.v / input.n
    table[lib.add] = lambda input, other: kind(input.n, input.v + other.v)
    table[lib.Tensor.mul] = lambda input, other: kind(other.n, other.v * input.item())
    assert lib.mean(kind(5, 2)) == 0.4 and lib.add(kind(2, 1), kind(2, 3)).v == 4
    assert (lib.tensor(2.0) * kind(2, 3)).v == 6
    with pytest.raises(TypeError):
        lib.sum(kind(2, 2))
    with pytest.raises(TypeError):
        lib.tensor(2.0) - kind(2, 2)


def test_the_order(lib: Any) -> None:
    asked: list[str] = []

    def note(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        asked.append(cls.__name__)
        return NotImplemented

    a, b = lib.foreign(note, "A"), lib.foreign(note, "B")
    child = lib.define("Child", (a,))
    sub = lib.subclass(note)
    s = lib.ones(2).as_subclass(sub)
    for arguments, expected in (
        ([a(), b()], ["A", "B"]),
        ([b(), a()], ["B", "A"]),
        ([a(), child()], ["Child", "A"]),
        ([a(), b(), child()], ["Child", "A", "B"]),
        ([b(), a(), child(), a(), b()], ["B", "Child", "A"]),
        ([s, a()], ["Sub", "A"]),
        ([lib.ones(2), b(), s], ["B", "Sub"]),
    ):
        asked.clear()
        with pytest.raises(TypeError):
            lib.cat(arguments)
        assert asked == expected


def test_the_next_one_is_asked(lib: Any) -> None:
    shy, bold = lib.foreign(refuse, "Shy"), lib.foreign(answer, "Bold")
    assert lib.add(shy(), bold()) == ("Bold", "add", ["Shy", "Bold"])


def test_nobody_answers(lib: Any) -> None:
    f, x = lib.foreign(refuse)(), lib.ones(2)
    s = x.as_subclass(lib.subclass(refuse))
    for call in (lambda: lib.add(x, f), lambda: x.add(f), lambda: lib.cat([x, f])):
        with pytest.raises(TypeError, match=r"(?s)handlers? returned NotImplemented.*Foreign"):
            call()
    with pytest.raises(TypeError, match=r"(?s)shape.__get__.*tensor subclass.*Sub"):
        s.shape  # noqa: B018
    with pytest.raises(TypeError, match="unsupported operand"):
        x + f
    with pytest.raises(TypeError, match="unsupported operand"):
        s + 1


def test_reflected_operators_of_foreign_objects(lib: Any) -> None:
    class Plain:
        def __radd__(self, other: Any) -> str:
            return "radd"

    shy = lib.foreign(refuse, __rmul__=lambda self, other: "rmul")()
    x = lib.ones(2)
    assert x + Plain() == "radd" and x * shy == "rmul"
    assert x.as_subclass(lib.subclass()) + Plain() == "radd"


def test_errors_of_handlers_come_through(lib: Any) -> None:
    def handler(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise LookupError("its own")

    f, x = lib.foreign(handler)(), lib.ones(2)
    s = x.as_subclass(lib.subclass(handler))
    for call in (lambda: x + f, lambda: lib.exp(f), lambda: s.shape, lambda: s + 1, lambda: -s, lambda: s[0]):
        with pytest.raises(LookupError, match="its own"):
            call()
    with lib.disabled():
        assert (s + 1).tolist() == [2, 2]


def test_an_exception_inside_leaves_nothing_disabled(lib: Any) -> None:
    kind = lib.subclass()
    s = lib.ones(2).as_subclass(kind)
    with pytest.raises(RuntimeError):
        s.view(7)
    with pytest.raises(ValueError, match="mine"), lib.disabled():
        raise ValueError("mine")
    assert type(s + 1) is kind


def test_wrappers_of_wrappers(lib: Any) -> None:
    """A handler that unwraps and calls ``func`` reaches the handler of what it unwrapped."""
    log: list[str] = []

    def wrapping(name: str) -> Any:
        def handler(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            log.append(f"{name}.{func.__name__}")
            result = func(*[a.__dict__["inner"] if type(a) is cls else a for a in args], **kwargs)
            return wrap(kinds[name], result) if isinstance(result, lib.Tensor) else result

        return lib.subclass(handler, name)

    def wrap(kind: Any, inner: Any) -> Any:
        with lib.disabled():
            made = lib.Tensor._make_subclass(kind, inner.as_subclass(lib.Tensor).detach())
            made.__dict__["inner"] = inner
        return made

    kinds = {name: wrapping(name) for name in ("Outer", "Inner")}
    s = wrap(kinds["Outer"], wrap(kinds["Inner"], lib.ones(2, 2)))
    for call, name in (
        (lambda: s.add(1), "add"),
        (lambda: s + 1, "add"),
        (lambda: lib.exp(s), "exp"),
        (lambda: s[0], "__getitem__"),
        (lambda: s.shape, "__get__"),
        (lambda: s.neg(), "neg"),
    ):
        log.clear()
        call()
        assert log == [f"Outer.{name}", f"Inner.{name}"]


def test_plain_methods_are_deprecated_handlers(ours: Any) -> None:
    def protocol(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> str:
        return self.word

    kind = type("Instance", (), {ours.protocol: protocol, "word": "from the instance"})
    with pytest.warns(DeprecationWarning, match="as a plain method"):
        assert ours.exp(kind()) == "from the instance"
