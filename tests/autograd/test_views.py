"""Views: shared memory and versions, and writes through one of them."""

from __future__ import annotations

import gc
from types import ModuleType
from typing import Any

import pytest

import tengen as tg

MULTI = "This view is the output of a function that returns multiple views"


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


def test_views_share_memory_and_version() -> None:
    x = tg.zeros(2, 3)
    v = x[0]
    w = v[1]
    w.add_(5)
    assert x.tolist() == [[0.0, 5.0, 0.0], [0.0] * 3]
    assert x._version == v._version == w._version == 1
    assert v._base is x and w._base is x and x._base is None
    assert v._is_view() and not x._is_view()


def test_a_write_through_a_view_rewrites_the_bases_history() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y[0].mul_(10)
    assert y.grad_fn.name() == "CopySlices"
    y.sum().backward()
    assert x.grad.tolist() == [20.0, 2.0, 2.0]


def test_the_view_is_made_again_from_the_base() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    v = y[0:2]
    v.mul_(10)
    assert v.grad_fn.name() == "AsStridedBackward0"
    assert v.grad_fn.next_functions[0][0] is y.grad_fn
    (v * v).sum().backward()
    assert x.grad.tolist() == [800.0, 1600.0, 0.0]


def test_a_write_into_the_base_is_seen_by_its_views() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    v, t = y[0:2], y[1:]
    y.mul_(x)
    assert v.grad_fn.name() == "AsStridedBackward0"
    (v.sum() + t.sum()).backward()
    assert x.grad.tolist() == [4.0, 16.0, 12.0]


def test_a_write_through_one_view_is_seen_by_another() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    v, t = y[0:2], y[1:]
    v.mul_(10)
    t.sum().backward()
    assert x.grad.tolist() == [0.0, 20.0, 2.0]


def test_a_base_comes_to_require_gradients_through_a_view() -> None:
    w = leaf(5.0, 6.0)
    base = tg.zeros(3)
    other = base[2:]
    base[0:2].copy_(w)
    assert base.requires_grad and other.requires_grad
    (base * base).sum().backward()
    assert w.grad.tolist() == [10.0, 12.0]


def test_setitem() -> None:
    x, w = leaf(1.0, 2.0, 3.0), leaf(7.0)
    y = x * 2
    y[1] = w[0]
    y[2] = 4.0
    assert y.tolist() == [2.0, 7.0, 4.0]
    (y * y).sum().backward()
    assert x.grad.tolist() == [8.0, 0.0, 0.0] and w.grad.tolist() == [14.0]


def test_views_of_views_and_transposes() -> None:
    x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    y = x * 1
    t = y.t()
    v = t[1]
    v.mul_(10)
    assert y.tolist() == [[1.0, 20.0, 3.0], [4.0, 50.0, 6.0]]
    (t * tg.ones(3, 2)).sum().backward()
    assert x.grad.tolist() == [[1.0, 10.0, 1.0], [1.0, 10.0, 1.0]]


def test_a_base_that_is_not_contiguous() -> None:
    x = tg.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).t().detach().requires_grad_()
    y = x.exp() * 0 + x
    y[0].mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [[10.0, 10.0], [1.0, 1.0], [1.0, 1.0]]


def test_several_writes() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    for i in range(3):
        y[i].mul_(i + 2)
        y[i:].mul_(2)
    y.sum().backward()
    assert x.grad.tolist() == [4.0, 12.0, 32.0]


def test_double_backward_through_a_write() -> None:
    x = leaf(2.0, 3.0)
    y = x * x
    y[0].mul_(x[0])
    v = y[1]
    v.mul_(x[1])
    (g,) = tg.autograd.grad((y * y).sum(), x, create_graph=True)
    assert g.tolist() == [6.0 * 2.0**5, 6.0 * 3.0**5]
    (h,) = tg.autograd.grad(g.sum(), x, create_graph=True)
    assert h.tolist() == [30.0 * 2.0**4, 30.0 * 3.0**4]
    assert tg.autograd.grad(h.sum(), x)[0].tolist() == [120.0 * 2.0**3, 120.0 * 3.0**3]


def test_backward_twice_through_a_write() -> None:
    x, w = leaf(2.0, 3.0), leaf(5.0)
    y = x + 1
    y[0].mul_(w[0])
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 2.0]
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_overlapping_views_made_again() -> None:
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 1
    windows = y.as_strided((3, 2), (1, 1), 0)
    rows = y[0:1].expand(3)
    y.mul_(2)
    (windows.sum() + rows.sum()).backward()
    assert x.grad.tolist() == [8.0, 4.0, 4.0, 2.0]


def test_views_of_several_outputs_are_refused() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    a, b = y.unbind(0)
    with pytest.raises(RuntimeError, match=f"Output 0 of Unbind.* being modified inplace. {MULTI}"):
        a.mul_(2)
    with pytest.raises(RuntimeError, match=MULTI):
        a.reshape(1).mul_(2)  # a view of such a view
    assert y._version == 0
    y.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        _ = b.grad_fn
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        (b * 2).sum().backward()


def test_a_stale_view_stays_so() -> None:
    y = leaf(1.0, 2.0) * 2
    a = y.unbind(0)[0]
    y.mul_(2)
    y.mul_(2)
    with pytest.raises(RuntimeError, match=r"^Output 0 of Unbind"):
        _ = a.grad_fn


def test_views_of_several_outputs_may_be_written_without_gradients() -> None:
    x = tg.zeros(2)
    for i, part in enumerate(x.unbind(0)):
        part.add_(i + 1)
    assert x.tolist() == [1.0, 2.0]


def test_views_made_under_no_grad_are_refused() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    with tg.no_grad():
        v = y[0]
        v.mul_(1)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being"):
        v.mul_(2)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and its base or another view"):
        _ = v.grad_fn


#: In-place operators that give a tensor another shape, and write nothing.
RESHAPING: dict[str, tuple[Any, ...]] = {
    "as_strided_": ((2,), (1,)),
    "squeeze_": (),
    "swapaxes_": (0, 1),
    "swapdims_": (0, 1),
    "t_": (),
    "transpose_": (0, 1),
    "unsqueeze_": (0,),
}


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
@pytest.mark.parametrize("name", RESHAPING)
def test_views_made_where_nothing_is_recorded_keep_their_shape(m: Any, name: str, mode: str) -> None:
    base, plain = m.ones(2, 3, requires_grad=True), m.ones(2, 3)
    with getattr(m, mode)():
        view, other = base[:], plain[:]
    with pytest.raises(
        RuntimeError, match=f"A view was created in {mode.split('_mode')[0]}.* modified inplace"
    ):
        getattr(view, name)(*RESHAPING[name])
    assert view.shape == base.shape
    with m.no_grad():
        getattr(view, name)(*RESHAPING[name])
    assert getattr(other, name)(*RESHAPING[name]).shape == view.shape


def test_views_made_under_no_grad_of_what_needs_no_gradient() -> None:
    x = tg.zeros(2)
    with tg.no_grad():
        v = x[0]
    v.add_(1)
    assert x.tolist() == [1.0, 0.0]


def test_detached_handles_share_the_version_but_are_no_views() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    d = y.detach()
    assert not d._is_view() and d.data_ptr() == y.data_ptr() and not d.requires_grad
    d.mul_(10)
    assert y._version == d._version == 1
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_detaching_views_in_place_is_refused() -> None:
    y = leaf(1.0, 2.0) * 2
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        y[0].detach_()


def test_views_of_a_base_that_was_detached_in_place() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    v, w = y[0], y[1]
    y.detach_()
    (v * 2).backward()
    assert x.grad.tolist() == [2.0, 0.0]
    y.zero_()
    assert v.requires_grad and w.requires_grad  # as in PyTorch, but nothing goes to x from here on
    (v + w).backward()
    assert x.grad.tolist() == [2.0, 0.0]


def test_dead_views_are_forgotten() -> None:
    x = tg.zeros(4)
    for _ in range(1000):
        x[0]
    gc.collect()
    assert len(x._storage.views) < 50


def test_a_write_through_a_view_that_lives_on_its_own() -> None:
    x = leaf(1.0, 2.0)
    v = (x * 2)[0]
    v.mul_(3)
    v.backward()
    assert x.grad.tolist() == [6.0, 0.0]


def test_saved_views() -> None:
    x = leaf(1.0, 2.0)
    y = x * 1
    v = y[0]
    z = v * v
    y[1].mul_(2)  # the same memory block, the same counter
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


@pytest.mark.parametrize("write", ["none", "base", "view"])
def test_an_older_view_of_what_was_detached_in_place(m: ModuleType, write: str) -> None:
    """It requires gradients still; after a write they lead nowhere, as those of its base do."""
    x = m.ones(3, requires_grad=True)
    base = x * 2
    view, of_view = base[1:], base[1:][1:]
    base.detach_()
    with m.no_grad():
        if write == "base":
            base.mul_(3)
        elif write == "view":
            view.mul_(3)
    assert not base.requires_grad and base.is_leaf
    assert view.requires_grad and not view.is_leaf and of_view.requires_grad
    (view.sum() + of_view.sum()).backward()
    assert (x.grad is None) == (write != "none")
