"""Hooks of modules: when they are called, with what, what they may return, and what they may not."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _no_global_hooks_stay(m: Any) -> Iterator[None]:
    """Each test removes its hooks of all modules; which kind was used is forgotten here."""
    yield
    if m.__name__ == "torch":
        m.nn.modules.module._global_is_full_backward_hook = None
    else:
        m.nn.modules.global_hooks.kind.is_full = None


def test_forward_hooks(m: Any) -> None:
    n, log = m.nn.Identity(), list[str]()
    n.register_forward_pre_hook(lambda module, args: log.append(f"pre {len(args)}"))
    n.register_forward_pre_hook(lambda module, args: args[0] + 1, prepend=True)
    first = n.register_forward_hook(lambda module, args, out: log.append("first"))
    n.register_forward_hook(lambda module, args, out: out * 10)
    n.register_forward_hook(lambda module, args, kwargs, out: log.append(str([*kwargs])), with_kwargs=True)
    n.register_forward_hook(lambda *given: log.append("zeroth"), prepend=True)
    assert n(m.ones(1)).item() == 20 and log == ["pre 1", "zeroth", "first", "[]"]
    with first:
        pass
    log.clear()
    n(m.ones(1))
    assert "first" not in log


def test_keyword_arguments(m: Any) -> None:
    class Add(m.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any, *, y: Any) -> Any:
            return x + y

    n = Add()
    handle = n.register_forward_pre_hook(
        lambda module, args, kw: ((args[0] * 2,), {"y": 5}), with_kwargs=True
    )
    assert n(m.ones(1), y=1).item() == 7
    handle.remove()
    assert not n._forward_pre_hooks_with_kwargs
    n.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(
        RuntimeError, match=r"forward pre-hook must return None or a tuple of .new_args, new_kw"
    ):
        n(m.ones(1), y=1)


class Failing:
    """A forward that fails."""

    def forward(self, x: Any) -> Any:
        raise KeyError("mine")


def test_hooks_that_are_always_called(m: Any) -> None:
    class Fails(Failing, m.nn.Module):  # type: ignore[misc,name-defined]
        pass

    def bad(*given: Any) -> None:
        raise ValueError("hook")

    n, log = Fails(), list[Any]()
    n.register_forward_hook(lambda module, args, out: log.append("usual"))
    n.register_forward_hook(lambda module, args, kw, out: log.append(out), always_call=True, with_kwargs=True)
    n.register_forward_hook(bad, always_call=True)
    handle = m.nn.modules.module.register_module_forward_hook(
        lambda module, args, out: log.append("all"), always_call=True
    )
    with handle, pytest.warns(UserWarning, match="raised an exception that was silenced"):  # noqa: SIM117
        with pytest.raises(KeyError, match="mine"):
            n(1)
    assert log == ["all", None]


def test_an_error_in_a_hook_is_the_callers(m: Any) -> None:
    n, log = m.nn.Identity(), list[Any]()

    def bad(*given: Any) -> None:
        raise ValueError("hook")

    n.register_forward_hook(bad)
    n.register_forward_hook(lambda module, args, out: log.append(out.item()), always_call=True)
    with pytest.raises(ValueError, match="hook"):
        n(m.ones(1))
    assert log == [1.0]


def test_full_backward_hooks(m: Any) -> None:
    n, log = m.nn.Linear(2, 2), list[Any]()

    def before(module: Any, grad_output: Any) -> Any:
        log.append(("before", len(grad_output)))
        return (grad_output[0] * 2,)

    def after(module: Any, grad_input: Any, grad_output: Any) -> Any:
        log.append(("after", grad_output[0].tolist()))
        return (grad_input[0] * 0 + 7,)

    n.register_full_backward_pre_hook(before)
    n.register_full_backward_hook(after)
    n.register_full_backward_pre_hook(lambda *given: log.append("zeroth"), prepend=True)
    x = m.ones(1, 2, requires_grad=True)
    out = n(x)
    assert type(out.grad_fn).__name__ == "BackwardHookFunctionBackward"
    out.sum().backward()
    assert log == ["zeroth", ("before", 1), ("after", [[2.0, 2.0]])]
    assert x.grad.tolist() == [[7.0, 7.0]] and n.bias.grad.tolist() == [2.0, 2.0]


def test_what_is_no_tensor_has_no_gradient(m: Any) -> None:
    class Mixed(m.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any, factor: Any, other: Any) -> Any:
            return x * factor, "text", other + 1

    n, log = Mixed(), list[Any]()
    n.register_full_backward_hook(lambda module, *grads: log.append([[*map(bool_of, g)] for g in grads]))

    def bool_of(grad: Any) -> bool:
        return grad is not None

    x = m.ones(1, requires_grad=True)
    first, text, last = n(x, 3, m.ones(1))
    assert text == "text"
    (first + last).backward()
    assert log == [[[True, False, True], [True, False, False]]]


def test_without_gradients_of_inputs(m: Any) -> None:
    n, log = m.nn.Linear(2, 2), list[Any]()
    n.register_full_backward_hook(lambda module, before, after: log.append((before, len(after))))
    with pytest.warns(
        UserWarning, match="Full backward hook is firing when gradients are computed with respect"
    ):
        n(m.ones(1, 2)).sum().backward()
    assert log == [((None,), 1)] and n.bias.grad is not None
    with m.no_grad():
        assert n(m.ones(1, 2)).grad_fn is None


def test_backward_hooks_that_are_refused(m: Any) -> None:
    n = m.nn.Linear(2, 2)
    handle = n.register_full_backward_hook(lambda *given: (None, None))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        n(m.ones(1, 2, requires_grad=True)).sum().backward()
    handle.remove()
    n.register_full_backward_pre_hook(lambda *given: ())
    with pytest.raises(RuntimeError, match="invalid number of grad_output, got 0, but expected 1"):
        n(m.ones(1, 2, requires_grad=True)).sum().backward()
    with pytest.raises(
        RuntimeError, match="Cannot use both regular backward hooks and full backward hooks on"
    ):
        n.register_backward_hook(lambda *given: None)


def test_outputs_cannot_be_written_to(m: Any) -> None:
    n = m.nn.Linear(2, 2)
    n.register_full_backward_hook(lambda *given: None)
    out = n(m.ones(1, 2, requires_grad=True))
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        out.add_(1)


def test_a_warning_where_the_output_is_no_tensor(m: Any) -> None:
    class Listed(m.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return [x]

    n = Listed()
    n.register_full_backward_hook(lambda *given: None)
    with pytest.warns(
        UserWarning, match="module output should be a Tensor or a tuple of Tensors but received"
    ):
        n(m.ones(1, requires_grad=True))


def test_backward_hooks_of_one_node(m: Any) -> None:
    n, log = m.nn.Linear(2, 2), list[Any]()
    n.register_backward_hook(lambda module, before, after: log.append((module is n, len(after))))
    x = m.ones(1, 2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n(x).sum().backward()
    assert log == [(True, 1)]

    class Dict(m.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return {"x": x * 2}

    d = Dict()
    d.register_backward_hook(lambda *given: log.append("dict"))
    with pytest.warns(FutureWarning, match="does not return a single Tensor or a tuple of Tensors"):
        d(x)["x"].sum().backward()
    assert log[-1] == "dict"

    class Twice(m.nn.Module):  # type: ignore[misc,name-defined]
        def forward(self, x: Any) -> Any:
            return x * 2 + 1

    t = Twice()
    t.register_backward_hook(lambda *given: None)
    with pytest.warns(FutureWarning, match="forward contains multiple autograd Nodes"):
        t(x)


def test_hooks_of_all_modules(m: Any) -> None:
    hooks, log = m.nn.modules.module, list[str]()

    def named(name: str) -> Any:
        return lambda module, *given: log.append(f"{name} {type(module).__name__}")

    handles = [
        hooks.register_module_forward_pre_hook(named("pre")),
        hooks.register_module_forward_hook(named("post")),
        hooks.register_module_full_backward_pre_hook(named("before")),
        hooks.register_module_full_backward_hook(named("after")),
    ]
    n = m.nn.Sequential(m.nn.Identity())
    n.register_forward_hook(named("own"))
    n(m.ones(1, requires_grad=True)).sum().backward()
    with pytest.raises(
        RuntimeError, match="Cannot use both regular backward hooks and full backward hooks as a"
    ):
        hooks.register_module_backward_hook(lambda *given: None)
    for handle in handles:
        handle.remove()
    n(m.ones(1))
    assert log == [
        "pre Sequential",
        "pre Identity",
        "post Identity",
        "post Sequential",
        "own Sequential",
        "before Sequential",
        "before Identity",
        "after Identity",
        "after Sequential",
        "own Sequential",
    ]


def test_hooks_of_registrations(m: Any) -> None:
    hooks, log = m.nn.modules.module, list[str]()
    replaced = m.nn.Parameter(m.zeros(1))
    handles = [
        hooks.register_module_parameter_registration_hook(lambda module, name, value: replaced),
        hooks.register_module_buffer_registration_hook(lambda module, name, value: log.append(name)),
        hooks.register_module_module_registration_hook(lambda module, name, value: log.append(name)),
    ]
    n = m.nn.Module()
    n.p = m.nn.Parameter(m.ones(1))
    n.register_buffer("b", m.ones(1))
    n.add_module("c", m.nn.Module())
    n.d = m.nn.Module()
    for handle in handles:
        handle.remove()
    assert n.p is replaced and log == ["b", "c", "d"]


def noted(module: Any, args: Any, out: Any) -> Any:
    return out + 1


def test_hooks_are_copied_and_pickled(m: Any) -> None:
    n = m.nn.Identity()
    n.handle = n.register_forward_hook(noted)
    for again in (copy.deepcopy(n), pickle.loads(pickle.dumps(n))):
        assert again(m.ones(1)).item() == 2
        again.handle.remove()
        assert again(m.ones(1)).item() == 1
        later = again.register_forward_hook(noted)
        assert later.id > n.handle.id
    assert n(m.ones(1)).item() == 2
