"""Windows beside SciPy's and torch's, and what may be asked of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.signal import windows as reference

import tengen
from tengen.signal import windows

WORDS: dict[str, dict[str, Any]] = {
    "bartlett": {},
    "blackman": {},
    "cosine": {},
    "exponential": {"tau": 2.0},
    "gaussian": {"std": 1.5},
    "general_cosine": {"a": [0.5, 0.3, 0.2]},
    "general_hamming": {"alpha": 0.6},
    "hamming": {},
    "hann": {},
    "kaiser": {"beta": 8.6},
    "nuttall": {},
}
FACTORIES = ("bartlett", "blackman", "hamming", "hann", "kaiser")


@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("name", WORDS)
def test_windows_are_scipys(name: str, sym: bool) -> None:
    """SciPy has the same formulas; Bessel functions of it and of tengen are within a few roundings."""
    for count in (0, 1, 2, 7, 12):
        window = getattr(windows, name)(count, sym=sym, dtype=tengen.float64, **WORDS[name])
        expected = getattr(reference, name)(count, sym=sym, **WORDS[name])
        np.testing.assert_allclose(window.numpy(), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", WORDS)
def test_what_windows_refuse(name: str) -> None:
    make = getattr(windows, name)
    with pytest.raises(ValueError, match=f"{name} requires non-negative window length, got M=-1"):
        make(-1, **WORDS[name])
    with pytest.raises(ValueError, match=f"{name} expects float32 or float64 dtypes"):
        make(3, dtype=tengen.float16, **WORDS[name])
    with pytest.raises(ValueError, match="strided tensors only"):
        make(3, layout="sparse_coo", **WORDS[name])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("exponential", {"tau": 0}),
        ("exponential", {"center": 1}),
        ("gaussian", {"std": -1}),
        ("kaiser", {"beta": -1}),
        ("general_cosine", {"a": []}),
    ],
)
def test_parameters_that_make_no_window(name: str, words: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        getattr(windows, name)(3, **words)


def test_windows_record_what_they_are_asked_to() -> None:
    assert windows.hann(5, requires_grad=True).requires_grad
    assert windows.hann(5).dtype is tengen.get_default_dtype()
    assert windows.hann(5, device="meta").shape == (5,)


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_are_periodic(name: str) -> None:
    make = getattr(tengen, f"{name}_window")
    assert tengen.equal(make(8), make(9, False)[:-1])
    assert tengen.equal(make(8), make(8, True))
    out = tengen.empty(0, dtype=tengen.float64)
    assert make(8, out=out) is out and out.shape == (8,)
    assert make(8, requires_grad=True).is_leaf
    assert make(4, dtype=tengen.float16).dtype is tengen.float16


@pytest.mark.oracle
@pytest.mark.parametrize("name", FACTORIES)
def test_factories_beside_torch(torch: Any, name: str) -> None:
    """Torch computes in the dtype asked for: a few roundings of numbers up to 1, of angles up to 2 pi."""
    ours, theirs = getattr(tengen, f"{name}_window"), getattr(torch, f"{name}_window")
    for count in (0, 1, 2, 7, 12):
        for periodic in (True, False):
            for dtype, close in (
                ("float32", 1e-5),
                ("float64", 1e-13),
                ("float16", 2e-2),
                ("bfloat16", 2e-1),
            ):
                here = ours(count, periodic, dtype=getattr(tengen, dtype))
                there = theirs(count, periodic, dtype=getattr(torch, dtype))
                found, expected = here.to(tengen.float64).numpy(), there.double().numpy()
                assert found.shape == expected.shape
                np.testing.assert_allclose(found, expected, rtol=0, atol=close)
