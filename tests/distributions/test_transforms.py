"""Transforms: inverses, how they stretch (by Jacobians of autograd), shapes, caches, compositions."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.distributions import Normal, constraints, transforms
from tengen.func import jacrev

Make = Callable[[Any, Any], Any]

_LOC, _SCALE = [0.5, -1.0, 2.0, 0.1, -0.3, 0.7], [0.5, -2.0, 1.5, 3.0, 0.2, -0.1]

#: A transform of the module ``m``, with tensors by ``t``; the shape of an event that it takes.
MADE: dict[str, tuple[Make, tuple[int, ...]]] = {
    "Abs": (lambda m, t: m.AbsTransform(), ()),
    "Exp": (lambda m, t: m.ExpTransform(), ()),
    "Power": (lambda m, t: m.ComposeTransform([m.ExpTransform(), m.PowerTransform(t(-2.5))]), ()),
    "Sigmoid": (lambda m, t: m.SigmoidTransform(), ()),
    "Softplus": (lambda m, t: m.SoftplusTransform(), ()),
    "Tanh": (lambda m, t: m.TanhTransform(), ()),
    "Affine": (lambda m, t: m.AffineTransform(1.0, -2.0), ()),
    "Affine of vectors": (lambda m, t: m.AffineTransform(t(_LOC), t(_SCALE), 1), (6,)),
    "Affine of vectors by a number": (lambda m, t: m.AffineTransform(t(_LOC), 3.0, 1), (6,)),
    "Independent": (lambda m, t: m.IndependentTransform(m.ExpTransform(), 1), (3,)),
    "Reshape": (lambda m, t: m.ReshapeTransform((6,), (2, 3)), (6,)),
    "CorrCholesky": (lambda m, t: m.CorrCholeskyTransform(), (6,)),
    "Softmax": (lambda m, t: m.SoftmaxTransform(), (4,)),
    "StickBreaking": (lambda m, t: m.StickBreakingTransform(), (4,)),
    "LowerCholesky": (lambda m, t: m.LowerCholeskyTransform(), (3, 3)),
    "PositiveDefinite": (lambda m, t: m.PositiveDefiniteTransform(), (3, 3)),
    "Compose": (
        lambda m, t: m.ComposeTransform(
            [m.AffineTransform(0.1, 0.5), m.TanhTransform(), m.StickBreakingTransform()]
        ),
        (4,),
    ),
    "Cat": (
        lambda m, t: m.CatTransform(
            [m.IndependentTransform(m.ExpTransform(), 1), m.IndependentTransform(m.TanhTransform(), 1)],
            -1,
            [2, 4],
        ),
        (6,),
    ),
    "inverse": (lambda m, t: m.ComposeTransform([m.SigmoidTransform(), m.ExpTransform().inv]), ()),
}
BIJECTIVE = [name for name, (make, _) in MADE.items() if make(transforms, tengen.tensor).bijective]


def doubles(value: Any) -> Any:
    return tengen.tensor(value, dtype=tengen.float64)


def values(name: str, *batch: int) -> Any:
    shape = (*batch, *MADE[name][1])
    return doubles(np.random.default_rng(len(name)).normal(size=shape))


def transform(name: str) -> Any:
    return MADE[name][0](transforms, doubles)


@pytest.mark.parametrize("name", MADE)
def test_the_inverse_gives_what_a_value_was_made_of(name: str) -> None:
    """A bijective transform takes all back; another one what it makes of the inverse."""
    t, x = transform(name), values(name, 2, 3)
    y = t(x)
    assert t.codomain.check(y).all()
    assert t.domain.check(t.inv(y)).all()
    back = t.inv(y) if t.bijective else t(t.inv(y))
    tengen.testing.assert_close(back, x if t.bijective else y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", BIJECTIVE)
def test_how_it_stretches_is_the_determinant_of_the_jacobian(name: str) -> None:
    t, x = transform(name), values(name)
    y = t(x)
    jacobian = jacrev(t)(x)
    if isinstance(t.codomain, type(constraints.corr_cholesky)):
        # The entries below the diagonal: the diagonal follows from them.
        rows, columns = np.tril_indices(y.shape[-1], -1)
        jacobian = jacobian[rows, columns]
    elif t.codomain is constraints.simplex:
        jacobian = jacobian[:-1]
    size = x.numel()
    expected = tengen.linalg.slogdet(jacobian.reshape(size, size)).logabsdet
    tengen.testing.assert_close(t.log_abs_det_jacobian(x, y), expected, rtol=1e-9, atol=1e-9)
    tengen.testing.assert_close(t.inv.log_abs_det_jacobian(y, x), -expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MADE)
def test_shapes(name: str) -> None:
    t, x = transform(name), values(name, 2, 3)
    y = t(x)
    assert t.forward_shape(x.shape) == y.shape and t.inverse_shape(y.shape) == x.shape
    assert t.inv.forward_shape(y.shape) == x.shape and t.inv.inverse_shape(x.shape) == y.shape
    assert t.domain.event_dim == len(MADE[name][1])
    if t.bijective:
        assert t.log_abs_det_jacobian(x, y).shape == (2, 3)


@pytest.mark.parametrize("name", MADE)
def test_a_cache_keeps_the_last_pair(name: str) -> None:
    t, x = transform(name).with_cache(), values(name, 2)
    y = t(x)
    assert t.inv(y) is x and t(x) is y
    assert t.with_cache() is t and t.with_cache(0) is not t
    tengen.testing.assert_close(t.with_cache(0)(x), y)
    tengen.testing.assert_close(transform(name).inv.with_cache()(y), t.with_cache(0).inv(y))


@pytest.mark.parametrize("name", MADE)
def test_equality_inverses_and_copies(name: str) -> None:
    t = transform(name)
    assert t.inv.inv is t and t == t and t.inv == t.inv
    assert (t == transform(name)) == (name not in ("Independent", "Reshape", "Cat", "CorrCholesky"))
    assert t != transforms.CatTransform([t])
    x = values(name, 2)
    for other in (copy.deepcopy(t), pickle.loads(pickle.dumps(t))):
        tengen.testing.assert_close(other(x), t(x))
        assert other.inv.inv is other


@pytest.mark.oracle
@pytest.mark.parametrize("name", MADE)
def test_pytorch_gives_the_same(torch: Any, name: str) -> None:
    ours, x = transform(name), values(name, 2, 3)
    theirs = MADE[name][0](torch.distributions.transforms, lambda v: torch.tensor(v, dtype=torch.float64))
    z = torch.tensor(x.numpy())
    y, w = ours(x), theirs(z)
    np.testing.assert_allclose(y.numpy(), w.numpy(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(ours.inv(y).numpy(), theirs.inv(w).numpy(), rtol=1e-8, atol=1e-10)
    assert ours.bijective == theirs.bijective and repr(ours) == repr(theirs)
    assert repr(ours.domain) == repr(theirs.domain) and repr(ours.codomain) == repr(theirs.codomain)
    if theirs.bijective:
        expected = theirs.log_abs_det_jacobian(z, w).numpy()
        np.testing.assert_allclose(ours.log_abs_det_jacobian(x, y).numpy(), expected, rtol=1e-8)


@pytest.mark.oracle
def test_names_are_pytorchs(torch: Any) -> None:
    assert sorted(transforms.__all__) == sorted(torch.distributions.transforms.__all__)


def test_every_transform_is_tried() -> None:
    """With those of tests of their own, below."""
    own = {"StackTransform", "CumulativeDistributionTransform", "Transform", "identity_transform"}
    tried = {f"{name.split()[0]}Transform" for name in MADE}
    assert set(transforms.__all__) - tried == own


def test_signs() -> None:
    affine = transforms.AffineTransform(0.0, doubles([-2.0, 3.0]))
    assert affine.sign.tolist() == [-1, 1] and transforms.AffineTransform(0.0, -2).sign == -1
    assert transforms.ComposeTransform([affine, transforms.AffineTransform(0, -1)]).sign.tolist() == [1, -1]
    assert transforms.PowerTransform(doubles(-0.5)).sign.item() == -1
    assert transforms.ExpTransform().inv.sign == 1
    with pytest.raises(NotImplementedError):
        transforms.AbsTransform().sign  # noqa: B018


def test_parts_along_a_batch_dimension() -> None:
    """Each part has a determinant of its own where the dimension is none of the events'."""
    x = values("Exp", 3, 2)
    parts = [transforms.ExpTransform(), transforms.TanhTransform(), transforms.AffineTransform(1.0, -3.0)]
    for t in (transforms.StackTransform(parts, 0), transforms.CatTransform(parts, 0)):
        y = t(x)
        expected = tengen.stack([part(row) for part, row in zip(parts, x, strict=True)])
        tengen.testing.assert_close(y, expected)
        tengen.testing.assert_close(t.inv(y), x)
        slopes = [p.log_abs_det_jacobian(a, b) for p, a, b in zip(parts, x, y, strict=True)]
        tengen.testing.assert_close(t.log_abs_det_jacobian(x, y), tengen.stack(slopes))
        assert t.bijective and t.codomain.check(y).all() and t.with_cache().with_cache(0) is not t
        with pytest.raises(AssertionError, match=r"size\(0\) = 2 must equal 3"):
            t(x[:2])
        with pytest.raises(AssertionError, match="dim 0 out of range for tensor with 0 dimensions"):
            t.inv(x[0, 0])


def test_the_map_of_a_distribution() -> None:
    normal = Normal(doubles([0.0, 1.0]), doubles(2.0))
    t, x = transforms.CumulativeDistributionTransform(normal), doubles([0.3, -0.7])
    y = t(x)
    tengen.testing.assert_close(y, normal.cdf(x))
    tengen.testing.assert_close(t.inv(y), x)
    tengen.testing.assert_close(t.log_abs_det_jacobian(x, y), normal.log_prob(x))
    assert t.domain is normal.support and t.with_cache().distribution is normal


def test_ends_of_the_range() -> None:
    """Neither 0 nor 1 are reached, and what rounds to 1 has a determinant."""
    far = tengen.tensor([-200.0, 200.0])
    y = transforms.SigmoidTransform()(far)
    assert (y > 0).all() and (y < 1).all() and transforms.SigmoidTransform().inv(y).isfinite().all()
    slope = transforms.TanhTransform().log_abs_det_jacobian(far, far.tanh())
    tengen.testing.assert_close(slope, 2 * (math.log(2) - far.abs()))
    broken = transforms.StickBreakingTransform()(tengen.tensor([50.0, 80.0]))
    assert transforms.StickBreakingTransform().inv(broken).isfinite().all()


def test_no_parts_are_no_change() -> None:
    t, x = transforms.identity_transform, values("Exp", 3)
    assert t(x) is x and t.inv(x) is x and t.domain is t.codomain is constraints.real
    assert t.log_abs_det_jacobian(x, x).tolist() == [0.0] * 3


def test_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="cache_size must be 0 or 1, not 2"):
        transforms.ExpTransform(cache_size=2)
    with pytest.raises(ValueError, match=r"different numbers of elements: \(2,\) and \(3,\)"):
        transforms.ReshapeTransform((2,), (3,))
    reshape = transforms.ReshapeTransform((2, 3), (6,))
    with pytest.raises(ValueError, match="Too few dimensions on input"):
        reshape.forward_shape((3,))
    with pytest.raises(ValueError, match=r"Shape mismatch: expected \(2, 3\) but got \(3, 2\)"):
        reshape(tengen.ones(3, 2))
    corr = transforms.CorrCholeskyTransform()
    with pytest.raises(ValueError, match="not a flattened lower-diagonal number: 4"):
        corr.forward_shape((4,))
    with pytest.raises(ValueError, match=r"not square: \(2, 3\)"):
        corr.inverse_shape((2, 3))
    for t in (corr, transforms.SoftmaxTransform(), transforms.StickBreakingTransform()):
        with pytest.raises(ValueError, match="Too few dimensions on input"):
            t.forward_shape(())
    with pytest.raises(ValueError, match="Too few dimensions on input"):
        transforms.IndependentTransform(transforms.ExpTransform(), 2)(tengen.ones(3))
    wrong: Any = 1.0
    with pytest.raises(AssertionError, match="must be a Transform, got float"):
        transforms.StackTransform([wrong])
    with pytest.raises(AssertionError, match=r"lengths \(2\) must match tseq \(1\)"):
        transforms.CatTransform([transforms.ExpTransform()], 0, [1, 2])


def test_a_class_of_a_program() -> None:
    class Cube(transforms.Transform):
        domain = codomain = constraints.real
        bijective = True

        def __init__(self, factor: float, cache_size: int = 0) -> None:
            super().__init__(cache_size)
            self.factor = factor

        def _call(self, x: Any) -> Any:
            return self.factor * x**3

    t = Cube(2.0)
    assert t(tengen.tensor(2.0)).item() == 16 and repr(t) == "Cube()" and t != Cube(2.0) and t == t
    with pytest.raises(NotImplementedError, match=r"Cube.*with_cache is not implemented"):
        t.with_cache()
    with pytest.raises(NotImplementedError):
        t.inv(tengen.tensor(1.0))
