"""``Tensor.grad_dtype``: which dtype a leaf's gradient may have, and is cast to."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest


def leaf(m: Any, **options: Any) -> Any:
    return m.ones(2, requires_grad=True, **options)


def doubled(m: Any, dtype: Any) -> Any:
    """A Function that doubles, whose gradient has a dtype of its own."""

    class Doubled(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return (grad * 2).to(dtype)

    return Doubled.apply


def test_it_is_the_tensors_own_by_default(m: Any) -> None:
    assert leaf(m).grad_dtype is m.float32
    assert m.ones(2, dtype=m.int32).grad_dtype is m.int32
    x = leaf(m)
    x.data = m.ones(2, dtype=m.float16)
    assert x.grad_dtype is m.float16
    with pytest.raises(RuntimeError, match=r"attempting to assign a gradient with dtype .* grad_dtype"):
        x.grad = m.ones(2)


def test_what_arrives_is_cast(m: Any) -> None:
    x = leaf(m)
    before = x * 2  # whose graph is older
    seen = []
    x.grad_dtype = m.float64
    x.register_hook(lambda grad: seen.append(grad.dtype))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.dtype))
    for y in (before, x * 2, doubled(m, m.float16)(x)):
        y.sum().backward()
    assert x.grad.dtype is m.float64 and x.grad.tolist() == [6.0, 6.0] and set(seen) == {m.float64}
    assert m.autograd.grad((x * x).sum(), x)[0].dtype is m.float64
    x.grad = None
    (x * x).sum().backward(create_graph=True)
    assert x.grad.dtype is m.float64 and x.grad.requires_grad
    x.grad.sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_narrow_parameters_may_have_wide_gradients(m: Any) -> None:
    x = leaf(m, dtype=m.float16)
    x.grad_dtype = m.float32
    for _ in range(3):
        (x * (1 / 3)).sum().backward()
    third = float(m.tensor(1 / 3, dtype=m.float16))
    assert x.grad.dtype is m.float32 and x.grad[0].item() == pytest.approx(3 * third, abs=2**-11)


def test_none_keeps_what_arrives(m: Any) -> None:
    x = leaf(m)
    x.grad_dtype = None
    assert x.grad_dtype is None
    wide = doubled(m, m.float64)
    wide(x).sum().backward()
    assert x.grad.dtype is m.float64
    (x * 2).sum().backward()
    wide(x).sum().backward()
    assert x.grad.dtype is m.float64 and x.grad.tolist() == [6.0, 6.0]
    x.grad = m.ones(2, dtype=m.float16)
    (x * 2).sum().backward()
    assert x.grad.dtype is m.float16 and x.grad.tolist() == [3.0, 3.0]
    x.grad = None
    (x * (1 + 2j)).real.sum().backward()
    assert x.grad.dtype is m.float32 and x.grad.tolist() == [1.0, 1.0]
    (gradient,) = m.autograd.grad(wide(x).sum() + (x * 3).sum(), x)
    assert gradient.tolist() == [5.0, 5.0]


def test_what_may_be_assigned(m: Any) -> None:
    x = leaf(m)
    x.grad_dtype = m.float64
    x.grad = m.ones(2, dtype=m.float64)
    with pytest.raises(RuntimeError, match="to a tensor with grad_dtype"):
        x.grad = m.ones(2)
    assert x.grad.dtype is m.float64
    with pytest.raises(RuntimeError, match=r"Cannot set grad_dtype .* already a gradient with dtype"):
        x.grad_dtype = m.float32
    assert x.grad_dtype is m.float64
    x.grad_dtype = None
    x.grad_dtype = m.float64  # that of the gradient
    x.grad = None
    x.grad_dtype = m.float32


def test_what_is_refused(m: Any) -> None:
    y = leaf(m) * 2
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        y.grad_dtype  # noqa: B018
    with pytest.raises(RuntimeError, match="grad_dtype can only be set on leaf tensors"):
        y.grad_dtype = m.float64
    for wrong in ("float64", 3):
        with pytest.raises(RuntimeError, match=f"dtype or None, but got {type(wrong).__name__}"):
            leaf(m).grad_dtype = wrong
    with pytest.raises(RuntimeError, match="to a tensor with grad_dtype"):
        leaf(m).grad = m.ones(2, dtype=m.float64)


def test_it_belongs_to_the_tensor_alone(m: Any) -> None:
    x = leaf(m)
    x.grad_dtype = m.float64
    for other in (x.detach(), x.data, copy.copy(x), pickle.loads(pickle.dumps(x))):
        assert other.grad_dtype is m.float32
    x.data = m.ones(2, dtype=m.float16)
    assert x.grad_dtype is m.float64
    (x * 2).sum().backward()
    assert x.grad.dtype is m.float64


def test_optimisers_take_such_gradients(m: Any) -> None:
    x = leaf(m)
    x.grad_dtype = m.float64
    optimizer = m.optim.SGD([x], lr=0.5, momentum=0.5)
    for _ in range(2):
        (x * 2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert x.tolist() == [-1.5, -1.5] and x.dtype is m.float32
