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


COUNTED = {
    "arange": lambda m, where: m.arange(0, 2**63 - 1, device=where),
    "arange from below": lambda m, where: m.arange(-(2**63), 2**63 - 1, device=where),
    "arange by little": lambda m, where: m.arange(0.0, 1.0, 1e-19, device=where),
    "linspace": lambda m, where: m.linspace(0, 1, HALF, device=where),
    "eye": lambda m, where: m.eye(HALF, device=where),
    "randperm": lambda m, where: m.randperm(HALF, device=where),
    "pad": lambda m, where: m.constant_pad_nd(m.ones(2, device=where), (HALF, HALF)),
    "replicated": lambda m, where: m.nn.functional.pad(m.ones(1, 2, device=where), (HALF, HALF), "replicate"),
    "interpolate": lambda m, where: m.nn.functional.interpolate(m.ones(1, 1, 2, device=where), HALF),
    "interpolate by": lambda m, where: m.nn.functional.interpolate(m.ones(1, 1, 2), None, 1e18),
    "interpolate by inf": lambda m, where: m.nn.functional.interpolate(m.ones(1, 1, 2), None, float("inf")),
    "interpolate area": lambda m, where: m.nn.functional.interpolate(m.ones(1, 1, 2), HALF, mode="area"),
    "adaptive_avg_pool2d": lambda m, where: m.nn.functional.adaptive_avg_pool2d(m.ones(1, 2, 2), 2**40),
    "one_hot": lambda m, where: m.nn.functional.one_hot(m.tensor([0, 1]), HALF),
    "repeat_interleave": lambda m, where: m.repeat_interleave(m.tensor([HALF, HALF])),
    "diag_embed": lambda m, where: m.diag_embed(m.ones(2, device=where), 2**40),
    "tril_indices": lambda m, where: m.tril_indices(2**40, 2**40),
    "bincount": lambda m, where: m.bincount(m.tensor([HALF])),
}


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("maker", COUNTED)
def test_sizes_that_follow_from_numbers(m: Any, maker: str, device: str) -> None:
    """They are refused at once, neither computed modulo 2**64 nor counted one by one."""
    if m.__name__ == "torch" and device == "meta":
        pytest.skip("torch counts some of them modulo 2**64 there")
    with pytest.raises(RuntimeError):
        COUNTED[maker](m, device)


def test_diagonals_far_outside_are_empty(m: Any) -> None:
    for offset in (HALF, -HALF, 2**31, -(2**31)):
        for device in ("cpu", "meta"):
            assert tuple(m.ones(2, 3, device=device).diagonal(offset).shape) == (0,)


@pytest.mark.parametrize("row", range(5))
@pytest.mark.parametrize("col", range(5))
def test_how_many_indices_a_triangle_has(row: int, col: int) -> None:
    import tengen

    for make in (tengen.tril_indices, tengen.triu_indices):
        for offset in range(-6, 7):
            assert make(row, col, offset, device="meta").shape == make(row, col, offset).shape


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_resize_leaves_the_tensor_as_it_was(m: Any, size: tuple[int, ...]) -> None:
    x = m.arange(3.0)
    version = x._version
    with pytest.raises(RuntimeError):
        x.resize_(size)
    if m.__name__ == "tengen":  # torch has given it the size already
        assert x.tolist() == [0, 1, 2] and x._version == version
