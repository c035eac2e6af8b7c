"""Sizes whose product no integer holds: an error of PyTorch's class before any memory is taken."""

from __future__ import annotations

from typing import Any

import pytest

HALF = 2**62
SIZES = [(HALF, HALF), (HALF, 4), (2**40, 2**40, 2**40), (2**63 - 1, 2), (HALF,)]

MAKERS = {
    "empty": lambda m, size: m.empty(size),
    "zeros": lambda m, size: m.zeros(size),
    "ones": lambda m, size: m.ones(size),
    "full": lambda m, size: m.full(size, 1),
    "rand": lambda m, size: m.rand(size),
    "randint": lambda m, size: m.randint(3, size),
    "empty_strided": lambda m, size: m.empty_strided(size, (1,) * len(size)),
    "new_empty": lambda m, size: m.ones(2).new_empty(size),
    "new_zeros": lambda m, size: m.ones(2).new_zeros(size),
    "new_ones": lambda m, size: m.ones(2).new_ones(size),
    "new_full": lambda m, size: m.ones(2).new_full(size, 1),
    "repeat": lambda m, size: m.ones(1).repeat(size),
    "tile": lambda m, size: m.ones(1).tile(size),
    "view": lambda m, size: m.ones(4).view(size),
    "reshape": lambda m, size: m.ones(4).reshape(size),
    "as_strided": lambda m, size: m.ones(1).as_strided(size, (1,) * len(size)),
    "meta empty": lambda m, size: m.empty(size, device="meta"),
    "meta zeros": lambda m, size: m.zeros(size, device="meta"),
    "meta repeat": lambda m, size: m.ones(1, device="meta").repeat(size),
    "meta view": lambda m, size: m.ones(4, device="meta").view(size),
}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("maker", MAKERS)
def test_an_error_before_memory_is_taken(m: Any, maker: str, size: tuple[int, ...]) -> None:
    with pytest.raises(RuntimeError):
        MAKERS[maker](m, size)


@pytest.mark.parametrize("size", SIZES[:4], ids=str)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_more_elements_than_can_be_counted(m: Any, device: str, size: tuple[int, ...]) -> None:
    for make in (lambda x: x.expand(size), lambda x: m.broadcast_to(x, size), lambda x: x.resize_(size)):
        with pytest.raises(RuntimeError):
            make(m.ones(1, device=device))


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_resize_leaves_the_tensor_as_it_was(m: Any, size: tuple[int, ...]) -> None:
    x = m.arange(3.0)
    version = x._version
    with pytest.raises(RuntimeError):
        x.resize_(size)
    if m.__name__ == "tengen":  # torch has given it the size already
        assert x.tolist() == [0, 1, 2] and x._version == version
