"""Fourier transforms: where results lie in memory, edges, and what they are beside torch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tengen

REAL, COMPLEX = ("rfft", "ihfft"), ("fft", "ifft", "irfft", "hfft")
NAMES = [f"{name}{many}" for name in (*REAL, *COMPLEX) for many in ("", "2", "n")]


def random(shape: tuple[int, ...], dtype: str) -> Any:
    """Random numbers; of complex ones both parts are."""
    generator = np.random.default_rng(0)
    values = generator.standard_normal(shape)
    return (values + 1j * generator.standard_normal(shape) if dtype[0] == "c" else values).astype(dtype)


@pytest.mark.parametrize("name", NAMES)
def test_float32_stays_float32(name: str) -> None:
    result = getattr(tengen.fft, name)(tengen.ones(3, 4))
    assert result.dtype in (tengen.float32, tengen.complex64)
    assert result.element_size() == (8 if result.is_complex() else 4)


@pytest.mark.parametrize("name", NAMES)
def test_no_examples_give_none(name: str) -> None:
    result = getattr(tengen.fft, name)(tengen.ones(0, 3, 4), **({} if name[-1] in "t2" else {"dim": (1, 2)}))
    assert result.shape[0] == 0 and result.ndim == 3


def test_what_is_real_has_phase_zero_or_pi() -> None:
    """The sum of real numbers is real: no sign of zero turns its phase."""
    for n in (1, 2, 7, 8):
        whole = tengen.fft.fft(tengen.full((n,), -1.0))
        assert whole[0].angle().item() == pytest.approx(np.pi)


@pytest.mark.usefixtures("threads_kept")
def test_results_do_not_depend_on_other_rows_or_threads() -> None:
    rows = tengen.tensor(random((64, 331), "float32"))
    whole = tengen.fft.rfft(rows)
    single = tengen.stack([tengen.fft.rfft(row) for row in rows])
    assert (whole - single).abs().max() <= 4 * tengen.finfo(tengen.float32).eps * whole.abs().max()
    tengen.set_num_threads(2)
    assert tengen.equal(tengen.fft.rfft(rows), whole)


@pytest.mark.parametrize("dtype", [tengen.float16, tengen.bfloat16])
def test_reduced_types_are_refused(dtype: Any) -> None:
    for name in NAMES:
        with pytest.raises(RuntimeError, match="Unsupported dtype"):
            getattr(tengen.fft, name)(tengen.ones(3, 3, dtype=dtype))


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_as_torch_in_every_layout(torch: Any, name: str) -> None:
    """Values, dtypes and strides, of arrays that lie in memory in any order."""
    ours, theirs = getattr(tengen.fft, name), getattr(torch.fft, name)
    for dtype, order in itertools.product(
        ("float32", "complex128", "int32"), itertools.permutations(range(3))
    ):
        if dtype == "complex128" and name.startswith(REAL):
            continue
        array = (10 * random((2, 3, 4), dtype)).astype(dtype)
        many = name[-1] in "2n"
        for dim in [*itertools.permutations(range(3), 2)] if many else range(-3, 3):
            here = ours(tengen.from_numpy(array).permute(order), dim=dim)
            there = theirs(torch.from_numpy(array).permute(order), dim=dim).resolve_conj()
            assert (here.dtype.name, tuple(here.shape)) == (str(there.dtype)[6:], tuple(there.shape))
            assert here.stride() == there.stride(), (dtype, order, dim)
            close = 1e-5 if here.dtype in (tengen.float32, tengen.complex64) else 1e-13
            np.testing.assert_allclose(here.numpy(), there.numpy(), rtol=0, atol=close * 24 * 40)
