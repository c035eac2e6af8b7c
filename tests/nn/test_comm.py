"""Tensors that are cut up for devices, put together and copied, and their gradients."""

from __future__ import annotations

import pytest

import tengen
from tengen.nn.parallel import comm


def leaf(*shape: int) -> tengen.Tensor:
    return tengen.arange(float(tengen.zeros(shape).numel())).reshape(shape).requires_grad_()


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_scatter_and_gather_are_inverse(count: int) -> None:
    x = leaf(5, 2)
    parts = comm.scatter(x, ["cpu"] * count)
    assert len(parts) == len(x.detach().chunk(count))
    y = comm.gather(parts, 0, "cpu")
    assert y.tolist() == x.tolist()
    (y * y).sum().backward()
    assert x.grad is not None and x.grad.tolist() == (2 * x).tolist()


def test_scatter_by_sizes_and_another_dimension() -> None:
    x = leaf(2, 5)
    first, second = comm.scatter(x, ["cpu", "cpu"], [1, 4], dim=1)
    assert first.shape == (2, 1) and second.shape == (2, 4)
    (first.sum() + 3 * second.sum()).backward()
    assert x.grad is not None and x.grad.tolist() == [[1.0, 3.0, 3.0, 3.0, 3.0]] * 2


def test_broadcast_and_reduce() -> None:
    x = leaf(3)
    copies = comm.broadcast(x, ["cpu", "cpu", "cpu"])
    assert all(c.tolist() == x.tolist() and c.data_ptr() != x.data_ptr() for c in copies)
    total = comm.reduce_add([c * k for k, c in enumerate(copies, 1)])
    assert total.tolist() == [0.0, 6.0, 12.0]
    total.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [6.0] * 3


def test_scalars_and_devices_without_data() -> None:
    a, b = leaf(1).sum(), tengen.tensor(2.0, requires_grad=True)
    assert comm.gather([a, b]).tolist() == [0.0, 2.0]
    parts = comm.scatter(tengen.ones(4, 2), ["cpu", "meta"])
    assert [p.device.type for p in parts] == ["cpu", "meta"] and parts[1].shape == (2, 2)


def test_what_is_refused() -> None:
    x = tengen.ones(4)
    for call in (
        lambda: comm.scatter(x, []),
        lambda: comm.scatter(x, ["cpu", "cpu"], [1, 2]),
        lambda: comm.scatter(x, ["cpu", "cpu"], [4]),
        lambda: comm.gather([]),
        lambda: comm.broadcast(x, []),
        lambda: comm.reduce_add([]),
        lambda: comm.reduce_add([x, tengen.ones(3)]),
    ):
        with pytest.raises(ValueError, match=r"scatter|gather|broadcast|reduce_add"):
            call()
    with pytest.raises(TypeError, match=r"gather\(\): tensors must be Tensors, but got int"):
        comm.gather([3])  # type: ignore[list-item]
