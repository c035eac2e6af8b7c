"""Inference mode within other modes, and views made in it; in torch too."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from in_threads import in_threads

import tengen


def test_recording_stays_off_in_it(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    with m.inference_mode(), m.enable_grad():
        assert not (x * 2).requires_grad


def test_suspended(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    with m.inference_mode():
        with m.inference_mode(False):
            assert m.is_grad_enabled() and not m.is_inference_mode_enabled()
            y = x * 2
        assert m.is_inference_mode_enabled() and not m.is_grad_enabled()
    assert y.requires_grad and not y.is_inference()
    assert m.is_grad_enabled()


def test_a_tensor_made_in_it_has_no_version(m: Any) -> None:
    with m.inference_mode():
        x = m.ones(2)
        x.add_(1)
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
            x._version  # noqa: B018
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        x._version  # noqa: B018
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside"):
        x.requires_grad_()


def test_writing_through_a_view_made_in_it(m: Any) -> None:
    y = m.ones(2, requires_grad=True) * 2
    with m.inference_mode():
        v = y.view(2)
        v.add_(1)
    assert not v.is_inference() and v._is_view()
    with pytest.raises(
        RuntimeError, match="A view was created in inference mode and is being modified inplace"
    ):
        v.mul_(2)


def test_a_view_made_in_it_whose_base_is_written_to(m: Any) -> None:
    y = m.ones(2, requires_grad=True) * 2
    with m.inference_mode():
        v = y.view(2)
    y.mul_(2)
    with pytest.raises(
        RuntimeError, match="created in inference mode and its base or another view of its base"
    ):
        v.grad_fn  # noqa: B018


# -- what is an inference tensor -------------------------------------------------------------


def made_in(m: Any) -> tuple[Any, Any]:
    """A tensor that was made in inference mode, and a leaf that was not."""
    w = m.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with m.inference_mode():
        i = m.tensor([4.0, 5.0, 6.0])
    return i, w


COMPUTING: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda m, x: x * x,
    "mul by a number": lambda m, x: x * 2,
    "exp": lambda m, x: x.exp(),
    "comparison": lambda m, x: x > 1,
    "sum": lambda m, x: x.sum(),
    "sum of a dim": lambda m, x: x.sum(0),
    "matmul": lambda m, x: m.matmul(x, x),
    "sort": lambda m, x: x.sort()[0],
    "indices": lambda m, x: x.argsort(),
    "clone": lambda m, x: x.clone(),
    "cast": lambda m, x: x.double(),
    "integers": lambda m, x: x.long() + 1,
    "cat": lambda m, x: m.cat([x, x]),
    "zeros_like": lambda m, x: m.zeros_like(x),
    "rand_like": lambda m, x: m.rand_like(x),
    "new_ones": lambda m, x: x.new_ones(2),
    "advanced index": lambda m, x: x[m.tensor([0])],
    "softmax": lambda m, x: m.softmax(x, 0),
    "floor_divide": lambda m, x: m.floor_divide(x, 2),
    "where": lambda m, x: m.where(x > 2, x, 0.0),
    "diag": lambda m, x: m.diag(x),
    "einsum": lambda m, x: m.einsum("i,i->", x, x),
}
VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "view": lambda m, x: x.view(3, 1),
    "index": lambda m, x: x[0],
    "slice": lambda m, x: x[1:],
    "expand": lambda m, x: x.expand(2, 3),
    "split": lambda m, x: x.split(2)[1],
    "unbind": lambda m, x: x.unbind()[0],
    "reshape": lambda m, x: x.reshape(3, 1),
    "detach": lambda m, x: x.detach(),
    "itself": lambda m, x: x.contiguous(),
}


@pytest.mark.parametrize("name", COMPUTING)
def test_results_are_as_the_mode_is_whatever_the_operands_are(m: Any, name: str) -> None:
    i, w = made_in(m)
    compute = COMPUTING[name]
    with m.inference_mode():
        for operand in (i, w, w.detach()):
            result = compute(m, operand)
            assert result.is_inference() and not result.requires_grad
        with m.inference_mode(False):
            assert not compute(m, i).is_inference() and not compute(m, w).is_inference()
    outside = compute(m, i)
    assert not outside.is_inference() and not outside.requires_grad and outside.is_leaf
    assert not compute(m, w).is_inference()


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_as_their_base_is(m: Any, name: str) -> None:
    i, w = made_in(m)
    view = VIEWS[name]
    with m.inference_mode():
        assert view(m, i).is_inference()
        assert not view(m, w).is_inference()
    assert view(m, i).is_inference()
    assert not view(m, i)._is_view() and view(m, i)._base is None
    assert view(m, i).data_ptr() >= i.data_ptr()


def test_mixed_operands(m: Any) -> None:
    i, w = made_in(m)
    with m.inference_mode():
        assert (i + w).is_inference() and (w * i).is_inference() and m.cat([w, i]).is_inference()
        assert m.where(i > 4, w, i).is_inference() and (w.double() + i).is_inference()
    assert not (i + w.detach()).is_inference() and not m.cat([w.detach(), i]).is_inference()


def test_out_and_in_place_keep_what_they_write_to(m: Any) -> None:
    normal = m.ones(3)
    with m.inference_mode():
        normal.add_(1)
        assert not normal.is_inference() and normal._version == 1
        assert not m.add(normal, 1, out=normal).is_inference()
        i = m.ones(3)
        i.add_(normal)
        normal.copy_(i)
        i[0] = 7.0
        assert i.tolist() == [7.0, 4.0, 4.0] and i.is_inference()
        leaf = m.ones(3, requires_grad=True)
        assert leaf.requires_grad and leaf.is_inference() and leaf.add_(1).tolist() == [2.0] * 3
    assert normal.tolist() == [4.0] * 3 and not normal.is_inference()


# -- the three errors ------------------------------------------------------------------------

WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "add_": lambda m, x: x.add_(1),
    "through a view": lambda m, x: x[0].add_(1),
    "an item": lambda m, x: x.__setitem__(0, 1.0),
    "items": lambda m, x: x.__setitem__(m.tensor([0]), 1.0),
    "copy_": lambda m, x: x.copy_(m.ones(3)),
    "zero_": lambda m, x: x.zero_(),
    "fill_": lambda m, x: x.fill_(1.0),
    "out": lambda m, x: m.add(m.ones(3), 1, out=x),
    "resize_": lambda m, x: x.resize_(2),
    "t_": lambda m, x: x.t_(),
    "squeeze_": lambda m, x: x.squeeze_(),
    "unsqueeze_": lambda m, x: x.unsqueeze_(0),
    "+=": lambda m, x: x.__iadd__(1),
    "clamp_": lambda m, x: x.clamp_(0, 1),
    "masked_fill_": lambda m, x: x.masked_fill_(m.tensor([True, False, True]), 0.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_no_write_outside(m: Any, name: str) -> None:
    i, _ = made_in(m)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        WRITES[name](m, i)
    if m is tengen:  # PyTorch has written by the time that it complains
        assert i.tolist() == [4.0, 5.0, 6.0] and i.shape == (3,)
    i, _ = made_in(m)
    with (
        m.inference_mode(),
        m.inference_mode(False),
        pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"),
    ):
        WRITES[name](m, i)


def test_a_gradient_that_is_one_is_not_added_to_outside(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    x.grad = made_in(m)[0][:2]
    y = (x * 2).sum()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        y.backward(retain_graph=True)
    if m is tengen:  # PyTorch has written by the time that it complains
        assert x.grad.tolist() == [4.0, 5.0]
    before = x.grad.tolist()
    with m.inference_mode():
        y.backward()
    assert x.grad.tolist() == [before[0] + 2, before[1] + 2]
    assert x.grad.is_inference()


@pytest.mark.filterwarnings("ignore:Using backward")
def test_a_gradient_that_is_one_is_replaced_when_it_is_differentiable(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    old = x.grad = made_in(m)[0][:2]
    (x * 2).sum().backward(create_graph=True)
    assert x.grad.tolist() == [6.0, 7.0] and not x.grad.is_inference()
    assert old.tolist() == [4.0, 5.0]


SAVING: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mul": lambda m, w, i: w * i,
    "mul, the other way": lambda m, w, i: i * w,
    "mul_": lambda m, w, i: (w * 1).mul_(i),
    "promoted": lambda m, w, i: w.double() * i,
    "matmul": lambda m, w, i: m.matmul(w, i),
    "linear": lambda m, w, i: m.nn.functional.linear(i, w.reshape(1, 3)),
    "addcmul": lambda m, w, i: m.addcmul(w, w, i),
    "where": lambda m, w, i: m.where(w > 1, w * i, i),
}


@pytest.mark.parametrize("name", SAVING)
def test_none_is_saved_for_backward(m: Any, name: str) -> None:
    i, w = made_in(m)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        SAVING[name](m, w, i)
    with m.no_grad():
        assert not SAVING[name](m, w, i).requires_grad
    assert SAVING[name](m, w, i.clone()).requires_grad


def test_in_place_that_would_save_one_changes_nothing(m: Any) -> None:
    i, w = made_in(m)
    y = w * 1
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        y.mul_(i)
    assert y.tolist() == [1.0, 2.0, 3.0] and y._version == 0 and y.grad_fn.name() == "MulBackward0"


def test_where_nothing_is_saved_they_may_be_used(m: Any) -> None:
    i, w = made_in(m)
    y = (w + i).sum() + m.cat([w, i]).sum() + m.where(m.tensor([True, False, True]), w, i).sum()
    y.backward()
    assert w.grad.tolist() == [3.0, 2.0, 3.0]


def test_a_function_cannot_save_one(m: Any) -> None:
    class Times(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(b)
            return a * b

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[0], None

    i, w = made_in(m)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        Times.apply(w, i)
    with m.inference_mode():
        assert Times.apply(w, i).is_inference()


def test_requires_grad(m: Any) -> None:
    with m.inference_mode():
        i = m.ones(2)
        assert i.requires_grad_().requires_grad and not (i * 2).requires_grad
        j = m.ones(2)
    assert j.requires_grad_(False) is j
    for set_it in (lambda: j.requires_grad_(), lambda: setattr(j, "requires_grad", True)):
        with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside"):
            set_it()
    assert not j.requires_grad
    # Without another kind of operand nothing is recorded for it; with one it gets a gradient.
    assert not (i * i).requires_grad
    w = m.ones(2, requires_grad=True)
    (w + i).sum().backward()
    assert i.grad.tolist() == [1.0, 1.0]


# -- the modes -------------------------------------------------------------------------------


def modes(m: Any) -> tuple[bool, bool]:
    return m.is_inference_mode_enabled(), m.is_grad_enabled()


def test_what_the_modes_say(m: Any) -> None:
    assert modes(m) == (False, True)
    with m.inference_mode():
        assert modes(m) == (True, False)
        with m.enable_grad():
            assert modes(m) == (True, True)
            x = m.ones(2, requires_grad=True) * 2
            assert x.is_inference() and not x.requires_grad and x.grad_fn is None
            with m.no_grad():
                assert modes(m) == (True, False)
            assert modes(m) == (True, True)
        assert modes(m) == (True, False)
        m.set_grad_enabled(True)
        with m.inference_mode(False):
            assert modes(m) == (False, True)
        with m.inference_mode():
            assert modes(m) == (True, False)
        assert modes(m) == (True, True)
    assert modes(m) == (False, True)
    with m.no_grad(), m.inference_mode(False):
        assert modes(m) == (False, True)


def test_an_error_inside_leaves_nothing_behind(m: Any) -> None:
    with pytest.raises(ValueError, match="inside"), m.inference_mode():
        raise ValueError("inside")
    assert modes(m) == (False, True) and not (m.ones(2) * 2).is_inference()


def test_decorators(m: Any) -> None:
    @m.inference_mode()
    def called() -> Any:
        return modes(m)

    @m.inference_mode
    def bare() -> Any:
        return modes(m)

    @m.inference_mode(False)
    def suspended() -> Any:
        return modes(m)

    @m.inference_mode()
    def generator() -> Iterator[Any]:
        sent = yield modes(m)
        yield sent, modes(m)

    assert called() == bare() == (True, False) and suspended() == (False, True)
    steps = generator()
    assert next(steps) == (True, False) and modes(m) == (False, True)
    assert steps.send(5) == (5, (True, False)) and modes(m) == (False, True)
    with m.inference_mode():
        assert suspended() == (False, True) and modes(m) == (True, False)


def test_it_is_of_the_thread(m: Any) -> None:
    """Operators of other threads record, and make normal tensors, while this one is in the mode."""
    w = m.ones(2, requires_grad=True)
    found: list[Any] = []

    def elsewhere() -> None:
        y = w * w
        y.sum().backward()
        found.append((modes(m), y.is_inference(), y.requires_grad, w.grad.tolist()))

    with m.inference_mode():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        assert (w * w).is_inference()
    assert found == [((False, True), False, True, [2.0, 2.0])]


def test_many_threads_in_and_out(m: Any) -> None:
    """Whatever the others do, each thread's results are of its own mode."""
    wrong: list[Any] = []

    def work(inside: bool) -> None:
        x = m.ones(3)
        for _ in range(200):
            if inside:
                with m.inference_mode():
                    wrong.extend([1] if not (x * x).is_inference() else [])
            wrong.extend([2] if (x * x).is_inference() else [])

    in_threads(work, [n % 2 == 0 for n in range(6)])
    assert not wrong


def test_a_type_that_is_first_used_inside() -> None:
    code = (
        "import tengen\nx = tengen.tensor([1, 2])\n"
        "with tengen.inference_mode():\n    y = x.double()\n"
        "    z = tengen.ones(2, dtype=tengen.float16) * 2\n"
        "    w = x.to(tengen.int8) + 1\n"
        "print(y.is_inference(), z.is_inference(), w.is_inference(), (y * 2).is_inference())\n"
        "with tengen.inference_mode(), tengen.inference_mode(False):\n"
        "    v = tengen.ones(2, dtype=tengen.complex64)\n"
        "    with tengen.inference_mode():\n        u = v * v\n"
        "print(v.is_inference(), u.is_inference(), (v * v).is_inference())\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "True", "True", "False", "False", "True", "False"]


def test_a_mode_that_is_none() -> None:
    with pytest.raises(TypeError, match="must be bool, or a function, not int"):
        tengen.inference_mode(1)
