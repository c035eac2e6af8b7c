"""Orders, counts and states that a wrong gradient does not show."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import pytest

import tengen as tg

MODIFIED = "modified by an inplace operation"


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


# -- sums of gradients -------------------------------------------------------------------------------


def test_gradients_of_one_number_add_up(m: Any) -> None:
    x = m.tensor(2.0, requires_grad=True)
    y = x * 1
    (y * 3 + y * 4).backward()
    assert x.grad.item() == 7


def test_what_a_view_was_overwritten_with_takes_its_gradient(m: Any) -> None:
    x, w = m.ones(2, 3, requires_grad=True), m.full((3,), 2.0, requires_grad=True)
    y = x * 5
    y[0].copy_(w)
    y[1, 1].fill_(3.0)
    (y * m.arange(1.0, 7.0).reshape(2, 3)).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [20, 0, 30]]
    assert w.grad.tolist() == [1, 2, 3]


# -- hooks -------------------------------------------------------------------------------------------


def test_a_tensor_that_is_asked_for_and_passed_calls_its_hooks_once(m: Any) -> None:
    x = m.ones(3, requires_grad=True)
    y = x * 2
    seen: list[str] = []
    y.register_hook(lambda g: seen.append("tensor"))
    y.grad_fn.register_prehook(lambda gs: seen.append("before"))
    y.grad_fn.register_hook(lambda gi, go: seen.append("after"))
    m.autograd.grad((y * y).sum(), [y, x])
    assert seen == ["tensor", "before", "after"]


def test_hooks_of_one_kind_are_called_in_their_order(m: Any) -> None:
    x = m.ones(3, requires_grad=True)
    y = x * 2
    seen: list[str] = []
    for i in range(3):
        y.register_hook(lambda g, i=i: seen.append(f"tensor {i}"))
        y.grad_fn.register_prehook(lambda gs, i=i: seen.append(f"before {i}"))
        y.grad_fn.register_hook(lambda gi, go, i=i: seen.append(f"after {i}"))
        x.register_hook(lambda g, i=i: seen.append(f"leaf {i}"))
        x.register_post_accumulate_grad_hook(lambda t, i=i: seen.append(f"accumulated {i}"))
    y.sum().backward()
    kinds = ("tensor", "before", "after", "leaf", "accumulated")
    assert seen == [f"{kind} {i}" for kind in kinds for i in range(3)]


def test_hooks_after_accumulation_see_gradients_that_have_a_history(m: Any) -> None:
    x = m.ones(3, requires_grad=True)
    seen: list[bool] = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.requires_grad))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the cycle that create_graph makes
        (x * x * x).sum().backward(create_graph=True)
    assert seen == [True]
    x.grad = None


def test_a_hook_may_not_change_the_shape_though_the_size_stays(m: Any) -> None:
    x = m.ones(2, 3, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g.reshape(3, 2))
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        y.sum().backward()


# -- versions ----------------------------------------------------------------------------------------


def test_a_result_that_was_looked_at_is_watched_all_the_same() -> None:
    """What the Node hands out of its saved result is an alias with a Storage of its own."""
    x = leaf(1.0, 2.0)
    y = x.exp()
    view = y[:1]
    assert y.grad_fn._saved_result.view(-1).shape == (2,)
    view.detach().add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED):
        y.sum().backward()


def test_what_a_function_has_written_past_us_is_seen() -> None:
    class Written(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            a.detach().numpy()[0] = 7
            ctx.mark_dirty(a)
            return a

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    for requires in (False, True):
        w, x = leaf(1.0, 2.0), leaf(3.0, 4.0) * 1 if requires else tg.tensor([3.0, 4.0])
        y = w * x
        Written.apply(x)
        with pytest.raises(RuntimeError, match=MODIFIED):
            y.sum().backward()


def test_former_views_share_the_version_counter(m: Any) -> None:
    x = m.ones(3)
    view, detached = x.view(-1), x.detach()
    x.data = m.zeros(3)
    view.add_(1)
    assert x._version == view._version == detached._version == 1
    assert x.tolist() == [0, 0, 0] and view.tolist() == [2, 2, 2] and view._base is x
    x.add_(1)
    assert x._version == view._version == 2 and view.tolist() == [2, 2, 2]
    other = m.zeros(3)
    other.add_(1)
    x.data = other
    assert x._version == 2
    other.add_(1)
    assert x._version == 2 and other._version == 2 and x.tolist() == [2, 2, 2]


def test_a_view_that_is_given_other_data_counts_with_its_base(m: Any) -> None:
    x = m.ones(3)
    view = x[:]
    view.data = m.zeros(3)
    view.add_(1)
    assert x._version == view._version == 1 and view._base is x and x.tolist() == [1, 1, 1]


def test_former_views_have_the_history_of_their_base(m: Any) -> None:
    x = m.ones(3, requires_grad=True)
    y = x * 1
    view = y[:2]
    y.data = m.zeros(3)
    y.mul_(2)
    view.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 0.0]


def test_a_former_view_may_be_greater_than_its_base(m: Any) -> None:
    x = m.ones(3, requires_grad=True)
    y = x * 1
    view = y[:2]
    y.data = m.zeros(1)
    with m.no_grad():
        y.add_(1)
    assert view.tolist() == [1.0, 1.0] and y.tolist() == [1.0]


def test_data_cannot_be_deleted(m: Any) -> None:
    with pytest.raises(RuntimeError, match="Deleting tensor data is not allowed"):
        del m.ones(2).data


def test_inference_mode_lets_leaves_be_resized(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"), m.no_grad():
        x.resize_(3)
    with m.inference_mode():
        x.resize_(3)
        x.resize_as_(m.ones(4))
    assert x.shape == (4,) and x._version == 2 and x.requires_grad
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 4


def test_versions_of_inference_tensors_are_not_counted(m: Any) -> None:
    with m.inference_mode():
        x = m.ones(2)
    m.autograd.graph.increment_version([x, m.ones(2)])
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        x._version  # noqa: B018


def test_memory_of_two_elements_that_are_one_is_not_written(m: Any) -> None:
    with pytest.raises(RuntimeError, match="refers to a single memory location"):
        m.zeros(1).expand(2).add_(m.tensor([1.0, 2.0]))


@pytest.mark.parametrize("name", ["sort", "max", "min", "median", "kthvalue", "topk", "cummax", "cummin"])
def test_indices_that_were_written_to_are_seen(m: Any, name: str) -> None:
    x = m.tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]], requires_grad=True)
    arguments = (2, 1) if name in ("kthvalue", "topk") else (1,)
    values, indices = getattr(m, name)(x, *arguments)
    indices.view(-1)[:1].zero_()
    with pytest.raises(RuntimeError, match=MODIFIED):
        values.sum().backward()


# -- what is let go ----------------------------------------------------------------------------------


def test_saved_values_are_let_go_after_the_pass() -> None:
    """Inputs, results, lists of tensors and what Functions saved, though the graph itself is kept."""

    kept: list[tg.Tensor] = []

    class Saves(tg.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a, kept[-1])
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = leaf(1.0, 2.0, 3.0)
    kept += [tg.ones(3) * i for i in range(1, 4)] + [tg.tensor([0, 1, 2])]
    refs = [weakref.ref(t) for t in kept]
    index = kept[3]
    y = (x * kept[0]).exp()[index] + tg.lerp(x, kept[1], kept[2])
    kept.append(tg.ones(3))
    refs.append(weakref.ref(kept[-1]))
    z = Saves.apply(y).sum()
    kept.clear()
    del index
    gc.collect()
    assert all(ref() is not None for ref in refs[:1] + refs[3:])
    z.backward()
    gc.collect()
    assert [ref() for ref in refs] == [None] * len(refs)
    assert y.grad_fn is not None


def test_what_failed_in_anomaly_mode_leaves_it_as_it_was(m: Any) -> None:
    """After an error in a pass the mode, the Node that ran and the next pass are as if there were none."""
    x = m.zeros(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            with pytest.raises(RuntimeError, match="returned nan values"), m.autograd.detect_anomaly():
                (x / x).sum().backward()
            assert not m.is_anomaly_enabled()
        x.grad = None
        before = len(caught)
        with m.autograd.detect_anomaly():
            y = (x * 3).sum()
            y.backward()
    texts = [str(w.message) for w in caught[before:]]
    assert not any("Error detected" in text or "induced by" in text for text in texts)
    assert x.grad.tolist() == [3, 3]
    assert m.is_grad_enabled()
