"""``backward`` and ``autograd.grad``: what they compute, and what they refuse."""

from __future__ import annotations

import pytest

import tengen as tg

TWICE = "Trying to backward through the graph a second time"


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


def test_sum_over_paths() -> None:
    x = leaf(1.0, 2.0, 3.0)
    y = x * x
    (y * x + y).sum().backward()
    assert x.grad.tolist() == [3 * v * v + 2 * v for v in (1.0, 2.0, 3.0)]


def test_backward_accumulates_and_grad_does_not() -> None:
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    (g,) = tg.autograd.grad((x * x).sum(), x)
    assert g.tolist() == [2.0, 4.0]
    assert x.grad.tolist() == [6.0, 6.0]


def test_a_leaf_is_its_own_root() -> None:
    x = leaf(2.0)
    x.backward(tg.tensor([5.0]))
    assert x.grad.tolist() == [5.0]
    assert tg.autograd.grad(x, x, tg.tensor([7.0]))[0].tolist() == [7.0]


def test_several_roots_and_the_same_root_twice() -> None:
    x = leaf(2.0)
    y = x * x
    tg.autograd.backward([y, y, x], [tg.tensor([1.0]), tg.tensor([10.0]), tg.tensor([100.0])])
    assert x.grad.tolist() == [144.0]


def test_operands_of_both_sides() -> None:
    x, w = leaf(2.0), leaf(3.0)
    gx, gw = tg.autograd.grad((x * w).sum(), (x, w))
    assert (gx.item(), gw.item()) == (3.0, 2.0)


def test_gradients_are_reduced_to_the_inputs_shape() -> None:
    x, b = tg.ones(2, 3, requires_grad=True), tg.ones(1, 3, requires_grad=True)
    s = tg.tensor(2.0, requires_grad=True)
    (x * b * s).sum().backward()
    assert b.grad.tolist() == [[4.0, 4.0, 4.0]]
    assert s.grad.shape == () and s.grad.item() == 6.0


def test_gradients_are_cast_to_the_inputs_dtype() -> None:
    x = tg.ones(3, dtype=tg.float32, requires_grad=True)
    w = tg.tensor([1.0, 2.0, 3.0], dtype=tg.float64, requires_grad=True)
    (x * w).sum().backward()
    assert x.grad.dtype is tg.float32 and w.grad.dtype is tg.float64
    assert x.grad.tolist() == [1.0, 2.0, 3.0]


def test_the_gradient_of_a_real_input_is_real() -> None:
    x = leaf(1.0, 2.0)
    z = tg.tensor([2 + 1j, 3 - 1j])
    (x * z).backward(tg.tensor([1 + 0j, 1 + 0j]))
    assert x.grad.dtype is tg.float32
    assert x.grad.tolist() == [2.0, 3.0]


def test_the_gradient_of_a_complex_input_is_the_conjugate_one() -> None:
    z = tg.tensor([1 + 2j], requires_grad=True)
    (g,) = tg.autograd.grad(z * z.conj(), z, tg.tensor([1 + 0j]))
    assert g.tolist() == [2 + 4j]


def test_higher_orders() -> None:
    x = leaf(2.0, 3.0)
    y = (x * x * x * x).sum()
    for values in ([32.0, 108.0], [48.0, 108.0], [48.0, 72.0], [24.0, 24.0]):
        (g,) = tg.autograd.grad(y, x, create_graph=True)
        assert g.tolist() == values
        y = g.sum()


def test_create_graph_keeps_history_in_grad() -> None:
    x = leaf(3.0)
    (x * x * x).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    (second,) = tg.autograd.grad(first.sum(), x)
    assert second.item() == 18.0


def test_double_backward_through_broadcasts_and_casts() -> None:
    x = tg.tensor([1.0, 2.0], dtype=tg.float32, requires_grad=True)
    w = tg.tensor([[1.0], [2.0]], dtype=tg.float64, requires_grad=True)
    y = (x * w * w).sum()
    (g,) = tg.autograd.grad(y, x, create_graph=True)
    assert g.dtype is tg.float32
    gw, gx = tg.autograd.grad((g * g).sum(), (w, x), allow_unused=True)
    assert gx is None
    assert gw.tolist() == [[40.0], [80.0]]  # d/dw of 2 * (sum of w^2)^2


def test_only_what_leads_to_the_inputs_runs() -> None:
    x, w = leaf(2.0), leaf(3.0)
    seen = []
    side = w * w
    side.register_hook(lambda g: seen.append(g))
    y = x * 2 + side
    tg.autograd.grad(y.sum(), x)
    assert seen == []
    assert w.grad is None


def test_inputs_may_be_intermediate() -> None:
    x = leaf(2.0)
    y = x * x
    z = (y * y).sum()
    gy, gx = tg.autograd.grad(z, [y, x], retain_graph=True)
    assert (gy.item(), gx.item()) == (8.0, 32.0)
    z.backward(inputs=[y])
    assert y.grad.item() == 8.0 and x.grad is None


def test_backward_with_inputs_leaves_others_alone() -> None:
    x, w = leaf(2.0), leaf(3.0)
    (x * w).sum().backward(inputs=w)
    assert x.grad is None and w.grad.item() == 2.0


def test_the_same_input_twice() -> None:
    x = leaf(2.0)
    a, b = tg.autograd.grad((x * x).sum(), (x, x))
    assert a.item() == b.item() == 4.0
    assert a.data_ptr() != b.data_ptr()


def test_inputs_as_a_dict() -> None:
    x, w = leaf(2.0), leaf(3.0)
    found = tg.autograd.grad((x * w).sum(), {"x": x, "w": w})
    assert {k: v.item() for k, v in found.items()} == {"x": 3.0, "w": 2.0}


def test_unused_inputs() -> None:
    x, w = leaf(2.0), tg.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="index 1 appears to not have been used"):
        tg.autograd.grad((x * 2).sum(), (x, w))
    assert tg.autograd.grad((x * 2).sum(), w, allow_unused=True) == (None,)
    (zeros,) = tg.autograd.grad((x * 2).sum(), w, materialize_grads=True)
    assert zeros.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed"):
        tg.autograd.grad((x * 2).sum(), w, allow_unused=False, materialize_grads=True)


def test_a_second_backward_raises_where_something_was_saved() -> None:
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match=TWICE):
        y.backward()


def test_a_second_backward_raises_where_a_result_was_saved() -> None:
    x = leaf(1.0, 2.0)
    y = x.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match=TWICE):
        y.backward()


def test_a_second_backward_is_fine_where_nothing_was_saved() -> None:
    x = leaf(1.0, 2.0)
    y = (x + 1).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_retain_graph() -> None:
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(RuntimeError, match=TWICE):
        y.backward()


def test_create_graph_retains_unless_told_otherwise() -> None:
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    tg.autograd.grad(y, x, create_graph=True)
    tg.autograd.grad(y, x, create_graph=True, retain_graph=False)
    with pytest.raises(RuntimeError, match=TWICE):
        tg.autograd.grad(y, x)


def test_a_failed_backward_frees_nothing_before_it_started() -> None:
    x = leaf(1.0, 2.0)
    y = x * x
    with pytest.raises(RuntimeError, match="implicitly created only for scalar outputs"):
        y.backward()
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_what_backward_refuses() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        tg.ones(2).sum().backward()
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
        tg.autograd.backward([x.sum(), tg.ones(2)])
    with pytest.raises(RuntimeError, match=r"only for real scalar outputs but got tengen\.complex64"):
        (x * tg.tensor([1j, 1j])).sum().backward()
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of .*\[3\]"):
        (x * 2).backward(tg.ones(3))
    with pytest.raises(RuntimeError, match="For complex Tensors, both grad_output and output"):
        (x * 2).backward(tg.tensor([1j, 1j]))
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        tg.autograd.backward([x.sum(), x.sum()], [None])
    with pytest.raises(RuntimeError, match="invalid gradient at index 0 - expected device cpu but got meta"):
        (x * 2).backward(tg.ones(2, device="meta"))
    with pytest.raises(TypeError, match="int"):
        x.sum().backward(3)
    with pytest.raises(TypeError, match="either Tensors or None, but got str"):
        tg.autograd.backward([x.sum()], ["1"])
    with pytest.raises(RuntimeError, match="`inputs` argument to `backward\\(\\)` cannot be empty"):
        x.sum().backward(inputs=[])


def test_what_grad_refuses() -> None:
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        tg.autograd.grad(x.sum(), tg.ones(2))
    with pytest.raises(RuntimeError, match="`inputs` argument to `grad\\(\\)` cannot be empty"):
        tg.autograd.grad(x.sum(), [])
    with pytest.raises(TypeError, match="inputs"):
        tg.autograd.grad(x.sum(), 3)
    with pytest.raises(TypeError, match="outputs"):
        tg.autograd.grad(3, x)
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        tg.autograd.grad(x.sum(), x, only_inputs=False)
    with pytest.raises(RuntimeError, match=r"is_grads_batched=True.*a mismatch was detected"):
        tg.autograd.grad(x * 2, x, tg.ones(3, 4), is_grads_batched=True)


def test_a_given_gradient_is_cast() -> None:
    x = leaf(1.0, 2.0)
    (x * 2).backward(tg.ones(2, dtype=tg.float64))
    assert x.grad.dtype is tg.float32


def test_a_size_one_tensor_needs_no_gradient_argument() -> None:
    x = tg.ones(1, 1, requires_grad=True)
    (x * 2).backward()
    assert x.grad.tolist() == [[2.0]]


def test_recording_is_off_during_backward_and_restored_after() -> None:
    x = leaf(1.0)
    modes = []
    y = x * x
    y.register_hook(lambda g: modes.append(tg.is_grad_enabled()))
    y.sum().backward(retain_graph=True)
    y.sum().backward(create_graph=True)
    assert modes == [False, True] and tg.is_grad_enabled()
    with tg.no_grad():
        tg.autograd.grad(y, x, tg.ones(1), create_graph=True)
        assert not tg.is_grad_enabled()


def test_an_error_in_backward_restores_the_mode() -> None:
    x = leaf(1.0)
    y = x * x

    def fail(g: tg.Tensor) -> None:
        raise ValueError("no")

    y.register_hook(fail)
    with pytest.raises(ValueError, match="no"):
        y.sum().backward()
    assert tg.is_grad_enabled()


def test_backward_inside_backward() -> None:
    x, w = leaf(2.0), leaf(3.0)

    def again(g: tg.Tensor) -> None:
        with tg.enable_grad():
            (w * w).sum().backward()

    y = x * x
    y.register_hook(again)
    y.sum().backward()
    assert x.grad.item() == 4.0 and w.grad.item() == 6.0
