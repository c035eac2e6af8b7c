"""What a small mistake in the engine would change: sums of numbers, hooks run once, writes that count."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen.autograd import Function
from tengen.autograd.graph import register_multi_grad_hook, saved_tensors_hooks


def leaf(*values: float) -> Any:
    return tengen.tensor(values, dtype=tengen.float64, requires_grad=True)


def test_gradients_of_a_number_are_summed() -> None:
    x = tengen.tensor(3.0, requires_grad=True)
    (x * x + x * 4 + x).backward()
    assert x.grad.item() == 11


def test_hooks_of_what_was_asked_for_run_once_where_it_leads_on() -> None:
    x = leaf(1.0, 2.0)
    seen: list[Any] = []
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.tolist()))
    found = tengen.autograd.grad((y * 3).sum(), (x, y))
    assert [g.tolist() for g in found] == [[6, 6], [3, 3]]
    assert seen == [[3, 3]]


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_behind_the_sum_run_in_every_pass(create_graph: bool) -> None:
    x = leaf(1.0, 2.0)
    seen: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    (x * 5).sum().backward(create_graph=create_graph)
    assert seen == [[5, 5]]


def test_a_hook_may_not_give_another_shape_of_as_many_elements() -> None:
    x = tengen.ones(2, 3, requires_grad=True)
    x.register_hook(lambda grad: grad.reshape(3, 2))
    with pytest.raises(RuntimeError, match="changed the size"):
        (x * 2).sum().backward()


def test_every_handle_on_a_saved_result_is_watched() -> None:
    """A handle made later has a Storage of its own; a write through the first is seen all the same."""
    x = leaf(1.0, 2.0)
    y = x.exp()
    loss = y.sum()
    y.view(-1)  # now it has a Storage
    y.grad_fn._saved_result.view(-1)
    with tengen.no_grad():
        y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_write_to_an_optional_input_is_seen() -> None:
    x, weight = tengen.ones(2, 3, requires_grad=True), tengen.ones(3, requires_grad=True)
    out = tengen.nn.functional.layer_norm(x, (3,), weight)
    with tengen.no_grad():
        weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_a_write_of_a_wider_result_through_a_view_takes_the_gradient_there_once() -> None:
    x = tengen.ones(3, requires_grad=True)
    base = x * 1
    base[:2].mul_(tengen.tensor([2.0, 3.0], dtype=tengen.float64))
    base.sum().backward()
    assert x.grad.tolist() == [2, 3, 1]


def test_memory_that_is_expanded_to_two_is_not_written() -> None:
    x = tengen.zeros(1).expand(2)
    with pytest.raises(RuntimeError, match="single memory location"):
        x.add_(tengen.tensor([1.0, 2.0]))


class Doubled(Function):
    """Writes past the version counter, and says so."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        x.data.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2


def test_what_a_function_has_written_to_counts_as_written() -> None:
    x = leaf(1.0, 2.0) * 1
    product = x * x
    version = x._version
    Doubled.apply(x)
    assert x._version == version + 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_hooks_of_several_tensors_tell_passes_within_passes_apart() -> None:
    x, y = leaf(1.0), leaf(2.0)
    seen: list[Any] = []
    register_multi_grad_hook((x, y), lambda grads: seen.append([g if g is None else g.item() for g in grads]))
    # While only one of the two gradients has come, another pass begins, and reaches x alone.
    within = (x * 7).sum()
    y.register_hook(lambda grad: within.backward(retain_graph=True) if len(seen) == 0 else None)
    (x * 3 + y * 5).sum().backward()
    (y * 11).sum().backward()
    assert seen == [[7.0, None], [3.0, 5.0], [None, 11.0]]


def test_what_was_saved_first_is_packed_first() -> None:
    """Of an operator that is made of several."""

    def packed(function: Any) -> list[Any]:
        found: list[Any] = []

        def pack(tensor: Any) -> Any:
            found.append((tuple(tensor.shape), tensor.dtype))
            return tensor

        with saved_tensors_hooks(pack, lambda tensor: tensor):
            function()
        return found

    logits, target = tengen.ones(2, 3, 1, 1, requires_grad=True), tengen.tensor([[[0]], [[2]]])
    functional = tengen.nn.functional
    whole = packed(lambda: functional.cross_entropy(logits, target))
    parts = packed(lambda: functional.nll_loss(functional.log_softmax(logits, 1), target))
    assert whole == parts and len(whole) > 1
