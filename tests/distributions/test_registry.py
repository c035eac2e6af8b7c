"""``biject_to`` and ``transform_to``: each gives a transform into the constraint."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen.distributions import biject_to, constraints, transform_to, transforms
from tengen.distributions.constraint_registry import ConstraintRegistry

#: Constraints as they are written, with the shape of what is taken there.
BOTH = {
    "real": (),
    "real_vector": (3,),
    "positive": (),
    "nonnegative": (),
    "greater_than(2.5)": (),
    "greater_than_eq(-1.5)": (),
    "less_than(0.5)": (),
    "unit_interval": (),
    "interval(-3.0, 5.0)": (),
    "half_open_interval(0.0, 2.0)": (),
    "simplex": (4,),
    "corr_cholesky": (6,),
    "independent(positive, 2)": (2, 3),
    "cat([positive, less_than(1.0)], -1, [2, 1])": (3,),
    "stack([positive, less_than(1.0)], -1)": (2,),
}
ONE_WAY = {"lower_cholesky": (3, 3), "positive_definite": (3, 3), "positive_semidefinite": (3, 3)}


def made(text: str, of: Any = constraints) -> Any:
    return eval(text, dict(vars(of)))


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(2, *shape))


@pytest.mark.parametrize("text", [*BOTH, *ONE_WAY])
@pytest.mark.parametrize("registry", [biject_to, transform_to], ids=["biject_to", "transform_to"])
def test_a_constraint_is_reached(registry: ConstraintRegistry, text: str) -> None:
    constraint = made(text)
    if registry is biject_to and text in ONE_WAY:
        with pytest.raises(NotImplementedError, match="Cannot transform"):
            registry(constraint)
        return
    t, x = registry(constraint), tengen.tensor(numbers({**BOTH, **ONE_WAY}[text]))
    y = t(x)
    assert constraint.check(y).all()
    tengen.testing.assert_close(t(t.inv(y)), y, rtol=1e-9, atol=1e-9)
    if registry is biject_to:
        assert t.bijective
        tengen.testing.assert_close(t.inv(y), x, rtol=1e-9, atol=1e-9)


@pytest.mark.oracle
@pytest.mark.parametrize("text", [*BOTH, *ONE_WAY])
@pytest.mark.parametrize("name", ["biject_to", "transform_to"])
def test_pytorch_goes_there_by_the_same_way(torch: Any, name: str, text: str) -> None:
    ours, theirs = (
        {"biject_to": biject_to, "transform_to": transform_to}[name],
        getattr(torch.distributions, name),
    )
    x = numbers({**BOTH, **ONE_WAY}[text])
    try:
        other = theirs(made(text, torch.distributions.constraints))
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            ours(made(text))
        return
    t = ours(made(text))
    assert repr(t) == repr(other)
    np.testing.assert_allclose(t(tengen.tensor(x)).numpy(), other(torch.tensor(x)).numpy(), rtol=1e-12)


def test_a_registry_of_a_program() -> None:
    registry = ConstraintRegistry()

    class Even(constraints.Constraint):
        is_discrete = True

    @registry.register(Even)
    def to_even(constraint: Any) -> Any:
        return transforms.AffineTransform(0, 2)

    registry.register(constraints.boolean, lambda constraint: transforms.identity_transform)
    assert (
        registry(Even()) == to_even(None) and registry(constraints.boolean) is transforms.identity_transform
    )
    with pytest.raises(NotImplementedError, match="Cannot transform _Real constraints"):
        registry(constraints.real)
    with pytest.raises(TypeError, match="Expected constraint to be either a Constraint subclass or instance"):
        registry.register(int, to_even)
