"""``quasirandom.SobolEngine``: PyTorch's points, and that scrambled ones are as even."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import qmc

import tengen
from tengen.quasirandom import SobolEngine


def test_points_are_known() -> None:
    """The first ones, as Joe and Kuo have them."""
    found = SobolEngine(3).draw(5)
    assert found.tolist() == [
        [0, 0, 0],
        [0.5] * 3,
        [0.75, 0.25, 0.25],
        [0.25, 0.75, 0.75],
        [0.375, 0.375, 0.625],
    ]


def test_points_are_scipys() -> None:
    engine, theirs = SobolEngine(SobolEngine.MAXDIM), qmc.Sobol(SobolEngine.MAXDIM, scramble=False, bits=30)
    assert np.array_equal(engine.draw(64, dtype=tengen.float64).numpy(), theirs.random(64))


@pytest.mark.oracle
@pytest.mark.parametrize("dimension", [1, 7, 1111, 21201])
def test_points_are_pytorchs(torch: Any, dimension: int) -> None:
    ours, theirs = SobolEngine(dimension), torch.quasirandom.SobolEngine(dimension)
    assert ours.sobolstate.tolist() == theirs.sobolstate.tolist()
    for n, dtype in ((1, "float32"), (1, "float64"), (6, "float32"), (3, "float64")):
        found, expected = (e.draw(n, dtype=getattr(m, dtype)) for e, m in ((ours, tengen), (theirs, torch)))
        assert np.array_equal(found.numpy(), expected.numpy()) and str(found.dtype) == f"tengen.{dtype}"
    for engine in (ours, theirs):
        engine.fast_forward(100).fast_forward(77)
    assert np.array_equal(ours.draw(4).numpy(), theirs.draw(4).numpy())
    assert ours.num_generated == theirs.num_generated
    assert np.array_equal(ours.reset().draw(2).numpy(), theirs.reset().draw(2).numpy())
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("pieces", [[1] * 16, [16], [0, 3, 0, 12, 1], [1, 15], [2, 14]])
def test_points_come_in_pieces(scramble: bool, pieces: list[int]) -> None:
    whole = SobolEngine(5, scramble, seed=4).draw(16)
    drawing, leaving = SobolEngine(5, scramble, seed=4), SobolEngine(5, scramble, seed=4)
    assert tengen.equal(tengen.cat([drawing.draw(n) for n in pieces]), whole)
    start = 0
    for n in pieces:
        leaving.fast_forward(n)
        start += n
        assert leaving.num_generated == start
        if start < 16:
            assert tengen.equal(copy.deepcopy(leaving).draw(16 - start), whole[start:])
    assert tengen.equal(leaving.reset().draw(16), whole)


@pytest.mark.parametrize("seed", range(3))
def test_scrambled_points_are_even(seed: int) -> None:
    """Of the first 2**k points each part of 2**-k of every axis has one; none is where it was unscrambled."""
    found = SobolEngine(50, scramble=True, seed=seed).draw_base2(6, dtype=tengen.float64)
    parts, _ = (found * 64).floor().sort(0)
    assert tengen.equal(parts, tengen.arange(64.0).double()[:, None].expand(64, 50))
    pairs = (found[:, :2] * 8).floor()  # the first two dimensions are a net: one in each square
    assert len({tuple(p) for p in pairs.tolist()}) == 64
    assert not (found == SobolEngine(50).draw(64, dtype=tengen.float64)).any()


def test_scrambling_is_by_the_seed() -> None:
    first, second, other = (SobolEngine(4, scramble=True, seed=s).draw(8) for s in (1, 1, 2))
    assert tengen.equal(first, second) and not tengen.equal(first, other)
    tengen.manual_seed(3)
    state = tengen.get_rng_state()
    assert not tengen.equal(SobolEngine(4, scramble=True).draw(8), SobolEngine(4, scramble=True).draw(8))
    assert tengen.equal(tengen.get_rng_state(), state), "it has a generator of its own"


def test_scrambled_digits_are_random() -> None:
    """Over many seeds each coordinate of a point is uniform: its mean is within 5 deviations of a half."""
    drawn = tengen.stack(
        [SobolEngine(3, scramble=True, seed=s).draw(4, dtype=tengen.float64) for s in range(400)]
    )
    assert ((drawn.mean(0) - 0.5).abs() < 5 * (1 / 12 / 400) ** 0.5).all()


@pytest.mark.parametrize("dtype", [tengen.float16, tengen.bfloat16, tengen.float32, tengen.float64])
def test_points_are_below_one(dtype: tengen.dtype) -> None:
    engine = SobolEngine(1)
    engine.quasi.fill_(2**30 - 2)
    engine.sobolstate.zero_()
    engine.num_generated = 1
    assert (engine.draw(2, dtype=dtype) < 1).all()


def test_out() -> None:
    out = tengen.empty(0, dtype=tengen.float64)
    assert SobolEngine(3).draw(2, out=out) is out and out.tolist() == [[0] * 3, [0.5] * 3]
    assert SobolEngine(3).draw_base2(1, out, tengen.float64) is out
    assert SobolEngine(2).draw().dtype == tengen.float32


def test_pickling() -> None:
    engine = SobolEngine(3, scramble=True, seed=1)
    engine.draw(3)
    assert tengen.equal(pickle.loads(pickle.dumps(engine)).draw(4), engine.draw(4))


def test_mistakes() -> None:
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=rf"\[1, 21201\], but got {dimension}"):
            SobolEngine(dimension)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match=r"3 points have been generated, and with 2\*\*1 more there are 5"):
        engine.draw_base2(1)
    with pytest.raises(NotImplementedError, match=r"expected a floating point dtype, but got tengen\.int64"):
        engine.draw(2, dtype=tengen.int64)
    for call in (engine.draw, engine.fast_forward):
        with pytest.raises(RuntimeError, match=r"expected n >= 0, but got -1"):
            call(-1)
        with pytest.raises(ValueError, match=r"of 2\*\*30 points 1073741821 are left, but n is 1073741822"):
            call(2**30 - 2)
    assert engine.num_generated == 3
    assert engine.draw().tolist() == [[0.25, 0.75]], "nothing has changed"
