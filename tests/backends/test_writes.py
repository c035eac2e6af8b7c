"""Writes to tensors whose arrays cannot change, on the backend of examples/array_api_backend."""

from __future__ import annotations

from typing import Any

import pytest

import tengen

pytestmark = pytest.mark.usefixtures("strict")


def both(program: Any) -> None:
    """What a program gives on the backend is what it gives on the CPU."""
    for there, here in zip(program("strict"), program("cpu"), strict=True):
        assert there.detach().cpu().tolist() == here.detach().tolist()


def test_in_place_operators_reach_detached_handles() -> None:
    def program(device: str) -> list[Any]:
        x = tengen.arange(3.0, device=device)
        same = x.detach()
        x.add_(1)
        same.mul_(2)
        return [x, same, x.data]

    both(program)


def test_writing_to_an_index() -> None:
    def program(device: str) -> list[Any]:
        x = tengen.zeros(3, 4, device=device)
        x[0] = 1
        x[1:, ::2] = tengen.tensor([5.0, 6.0], device=device)
        x[tengen.tensor([0, 2], device=device), tengen.tensor([3, 3], device=device)] = 7
        x[x > 6] = -1
        return [x]

    both(program)


def test_gradients_go_through_writes() -> None:
    def program(device: str) -> list[Any]:
        leaf = tengen.arange(4.0).to(device).requires_grad_()
        x = leaf * 2
        x[1:3] = leaf[:2] * leaf[:2]
        x.mul_(leaf)
        x.sum().backward()
        return [x, leaf.grad]

    both(program)


def test_a_write_that_had_to_reach_a_view_is_an_error() -> None:
    x = tengen.ones(2, 2, device="strict")
    row = x[0]
    with pytest.raises(RuntimeError, match=r"has views, and arrays .* cannot change"):
        x.add_(1)
    with pytest.raises(RuntimeError, match=r"is a view of another tensor, and arrays .* cannot change"):
        row.add_(1)
    with pytest.raises(RuntimeError, match=r"has views, and arrays .* cannot change"):
        tengen.add(x, x, out=x)
    assert x.tolist() == [[1, 1], [1, 1]] and x._version == 0
    del row
    x.add_(1)
    assert x.tolist() == [[2, 2], [2, 2]]


def test_gradients_are_accumulated_and_parameters_updated() -> None:
    def program(device: str) -> list[Any]:
        w = tengen.ones(3).to(device).requires_grad_()
        optimiser = tengen.optim.SGD([w], lr=0.1, momentum=0.9)
        for _ in range(3):
            (w * w).sum().backward()
            (w * 2).sum().backward()
            optimiser.step()
            optimiser.zero_grad(set_to_none=False)
        return [w]

    for there, here in zip(program("strict"), program("cpu"), strict=True):
        assert tengen.allclose(there.cpu(), here, rtol=1e-6)
