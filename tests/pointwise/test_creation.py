"""Creation operators against PyTorch: values, dtypes, strides and what is an error."""

from __future__ import annotations

import itertools

import pytest
from oracle import NAMES, agree

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

OF_A_DTYPE = """
m.arange(5, dtype=d)
m.arange(1, 2.5, 0.5, dtype=d)
m.linspace(-2, 4, 7, dtype=d)
m.logspace(0, 3, 4, base=2, dtype=d)
m.eye(3, dtype=d)
m.eye(2, 4, dtype=d)
m.zeros(2, 3, dtype=d)
m.ones(2, 3, dtype=d)
m.full((2,), 1.7, dtype=d)
m.full((2,), -1, dtype=d)
m.full((2,), 300, dtype=d)
m.full((2,), True, dtype=d)
m.scalar_tensor(2.5, dtype=d)
m.ones(2, dtype=d).fill_(2.5)
m.ones(2, dtype=d).fill_(1j)
m.ones(2, dtype=d).fill_(m.tensor(3))
m.fill(m.ones(2, dtype=d), 3)
m.ones(2, dtype=d).zero_()
m.zeros_like(m.ones(2, 3, dtype=d))
m.ones_like(m.ones(2, 3), dtype=d)
m.full_like(m.ones(2, 3, dtype=d), 3.5)
m.ones(2, dtype=d).new_full((2,), 2.5)
m.ones(2, dtype=d).new_zeros(3)
m.ones(2, dtype=d).new_ones((3, 2))
m.tril_indices(3, 4, 1, dtype=d)
m.triu_indices(3, 4, -1, dtype=d)
""".strip().splitlines()

CALLS = """
m.arange(5)
m.arange(5.0)
m.arange(2, 5)
m.arange(5, 2, -1)
m.arange(0, 1, 0.1)
m.arange(1, 0)
m.arange(0)
m.arange(0, 1, 0)
m.arange(nan)
m.arange(inf)
m.arange(start=1, end=4)
m.arange(0, 10, step=3)
m.arange(5, requires_grad=True)
m.arange(5.0, requires_grad=True)
m.arange(1, 4, out=m.empty(0))
m.zeros(3)
m.zeros((3,))
m.zeros([3, 2])
m.zeros(())
m.zeros(2, -1)
m.zeros(size=(2,))
m.zeros(2.5)
m.zeros("a")
m.zeros(3, dtype=float)
m.zeros(3, device="meta").shape
m.zeros(2, out=m.ones(2))
m.ones(3, requires_grad=True)
m.full((2, 3), 1)
m.full((2, 3), 1.0)
m.full((2, 3), True)
m.full((2, 3), 1j)
m.full((-2,), 1)
m.full(2, 1)
m.full([2], fill_value=3)
m.eye(3)
m.eye(-1)
m.eye(2, -3)
m.linspace(0, 1, 5)
m.linspace(0, 1, 1)
m.linspace(0, 1, -2)
m.linspace(0, 1)
m.linspace(0, 10, 4, dtype=m.int64)
m.linspace(m.tensor(0.0), m.tensor(1.0), 3)
m.linspace(0, m.tensor(1.0), 3)
m.linspace(m.tensor([0.0]), 1, 3)
m.logspace(0, 1, 3)
m.zeros_like(m.ones(3, 2).t())
m.zeros_like(m.ones(3, 1).expand(3, 4))
m.zeros_like(m.ones(6, 6)[::2, ::3])
m.ones_like(m.ones(2, 3, 4).permute(2, 0, 1))
m.empty_like(m.ones(3, 2).t(), memory_format=m.contiguous_format).stride()
m.full_like(m.ones(2), 7)
m.full_like(m.ones(2))
m.zeros_like(m.ones(2, requires_grad=True))
m.zeros_like(m.ones(2), requires_grad=True)
m.tril_indices(3, 3)
m.triu_indices(3, 3, 1)
m.tril_indices(-1, 3)
m.tril_indices(3, 4, -5)
m.triu_indices(0, 3)
m.empty_strided((2, 3), (1,))
m.empty_strided((2,), (-1,))
m.empty_strided((2, 3), (0, 1)).stride()
m.ones(2).fill_(m.tensor([1.0]))
m.ones(3).new_zeros(2, 2)
m.ones(3).new_zeros((2, 2), dtype=m.int32)
m.ones(3).new_full((2,), 3, requires_grad=True)
m.ones(3).new_empty_strided((2, 3), (1, 2)).stride()
m.ones(3).new_ones(2, -1)
m.complex(m.tensor([1.0]), m.tensor([2.0]))
m.complex(m.tensor([1.0]), m.tensor([2.0], dtype=m.float64))
m.polar(m.tensor([2.0]), m.tensor([1.0]))
m.view_as_complex(m.ones(4, 3)[:, :2])
m.view_as_complex(m.ones(3))
m.view_as_complex(m.tensor(1.0))
m.view_as_complex(m.ones(3, 4, 2).transpose(0, 1))
m.view_as_real(m.ones(2, 2, dtype=m.complex64).t())
m.real(m.ones(2, 2, dtype=m.complex64).t())
m.imag(m.ones(2))
m.where(m.tensor([True, False]), 1, 2)
m.where(m.tensor([True, False]), 1.0, 2)
m.where(m.tensor([True, False]))[0]
m.where(m.tensor(True))[0]
m.where(m.ones(2), m.ones(2), m.ones(2))
m.ones(2).where(m.tensor([True, False]), 0)
m.ones(2).where(m.tensor([True, False]), m.zeros(2))
m.ones(2).where(condition=m.tensor([True, False]), other=m.zeros(2))
""".strip().splitlines()


@pytest.mark.parametrize("text", OF_A_DTYPE)
def test_every_dtype(text: str) -> None:
    for dtype in NAMES:
        if "space" in text and dtype in ("float16", "bfloat16", "uint8"):
            continue  # PyTorch's steps are rounded to the dtype; -2 is no uint8
        agree(text, torch, d=lambda m, name=dtype: getattr(m, name))


@pytest.mark.parametrize("text", CALLS)
def test_call(text: str) -> None:
    agree(text, torch)


def test_a_fractional_step() -> None:
    for dtype, step in itertools.product(("int32", "int64"), (0.5, 1.5)):
        agree("m.arange(0, 3, s, dtype=d)", torch, d=lambda m, name=dtype: getattr(m, name), s=step)
