"""Every distribution of the table beside torch's: values, dtypes, shapes, reprs, and messages of errors."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import tengen
from examples import EXAMPLES, WRONG, WRONG_VALUES, Example, class_of

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore:Low df values", "ignore:Singular sample"),
]
over_examples = pytest.mark.parametrize("example", EXAMPLES, ids=str)

#: Where PyTorch is wrong or less exact; docs/differences.md tells of them.
DIFFERENT = {
    # Its formula is nan for concentration0 > 1; and a Weibull's mode is 0 below a concentration of 1.
    ("Kumaraswamy", "mode"),
    ("Weibull", "mode"),
    # Near a probability of a half its series has few terms.
    ("ContinuousBernoulli", "mean"),
    ("ContinuousBernoulli", "variance"),
    ("ContinuousBernoulli", "stddev"),
    ("ContinuousBernoulli", "entropy"),
    ("ContinuousBernoulli", "perplexity"),
    ("ContinuousBernoulli", "log_prob"),
    ("ContinuousBernoulli", "cdf"),
    ("ContinuousBernoulli", "icdf"),
    # lgamma of the number of trials in float32.
    ("Multinomial", "entropy"),
    ("Multinomial", "perplexity"),
    # Bessel functions by polynomials of six digits.
    ("VonMises", "log_prob"),
    ("VonMises", "variance"),
    ("VonMises", "stddev"),
}
ROUGH = 2e-3


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def outcome(call: Any) -> Any:
    """What a call gives, or the error that it raises."""
    try:
        return call()
    except Exception as error:
        return error


def text(value: object) -> str:
    return repr(value).replace("tengen.", "torch.")


def same_text(ours: object, theirs: object) -> bool:
    """Whether messages are the same, but for the library's name and how it starts."""
    mine = re.sub(r"\w+\(\): ", "", str(ours)).replace("tengen", "torch")
    return mine.splitlines()[0].startswith(str(theirs).splitlines()[0][:60])


def compare(ours: Any, theirs: Any, what: str, tolerance: float) -> None:
    """Values of both libraries, or errors of both."""
    if isinstance(theirs, RuntimeError) and "Double did not match Float" in str(theirs):
        return  # a mistake of PyTorch's GeneralizedPareto, which compares with a number of float32
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs).__mro__[-3]), (what, ours, theirs)
        if isinstance(theirs, (ValueError, NotImplementedError)) and str(theirs):
            assert same_text(ours, theirs), (what, str(ours), str(theirs))
        return
    assert not isinstance(ours, Exception), (what, ours)
    if not hasattr(theirs, "dtype"):
        assert ours == theirs, what
        return
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1], what
    assert tuple(ours.shape) == tuple(theirs.shape), what
    a, b = ours.detach().double().numpy(), theirs.detach().double().numpy()
    assert np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True), (what, a, b)


def tolerance_of(example: Example, what: str, dtype: str) -> float:
    if (example.name, what) in DIFFERENT:
        return ROUGH
    return 1e-8 if dtype == "float64" else 1e-4


@over_examples
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_known_of_a_distribution(example, dtype, torch):
    ours, theirs = example.of(tengen, dtype), example.of(torch, dtype)
    assert text(ours) == text(theirs)
    if example.name != "Multinomial":  # whose constraint tells the number of trials, too
        assert text(ours.support) == text(theirs.support)
    for name in ("batch_shape", "event_shape"):
        assert tuple(getattr(ours, name)) == tuple(getattr(theirs, name))
    for name in ("has_rsample", "has_enumerate_support"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert sorted(ours.arg_constraints) == sorted(theirs.arg_constraints)
    for name, constraint in theirs.arg_constraints.items():
        assert text(ours.arg_constraints[name]) == text(constraint)
        mine, other = getattr(ours, name), getattr(theirs, name)
        compare(mine, other, name, tolerance_of(example, name, dtype))
    for name in ("mean", "mode", "variance", "stddev"):
        if (example.name, name) in (("Kumaraswamy", "mode"), ("Weibull", "mode")):
            continue
        pair = [outcome(lambda d=d, name=name: getattr(d, name)) for d in (ours, theirs)]
        compare(*pair, name, tolerance_of(example, name, dtype))
    for name in ("entropy", "perplexity", "enumerate_support"):
        pair = [outcome(getattr(d, name)) for d in (ours, theirs)]
        compare(*pair, name, tolerance_of(example, name, dtype))


@over_examples
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_densities_at_the_same_values(example, dtype, torch):
    ours, theirs = example.of(tengen, dtype), example.of(torch, dtype)
    values = ours.sample((5,))
    other = torch.tensor(values.tolist(), dtype=getattr(torch, str(values.dtype).split(".")[1]))
    for name in ("log_prob", "cdf"):
        pair = [
            outcome(lambda d=d, v=v, name=name: getattr(d, name)(v))
            for d, v in ((ours, values), (theirs, other))
        ]
        compare(*pair, name, tolerance_of(example, name, dtype))
    shares = np.linspace(0.05, 0.95, values.numel()).reshape(values.shape)
    pair = [
        outcome(lambda d=d, lib=lib: d.icdf(lib.tensor(shares.tolist(), dtype=getattr(lib, dtype))))
        for d, lib in ((ours, tengen), (theirs, torch))
    ]
    compare(*pair, "icdf", tolerance_of(example, "icdf", dtype))


@over_examples
def test_expanded_distributions(example, torch):
    ours, theirs = (example.of(lib).expand((2, *example.of(lib).batch_shape)) for lib in (tengen, torch))
    assert text(ours) == text(theirs)
    values = ours.sample()
    other = torch.tensor(values.tolist(), dtype=getattr(torch, str(values.dtype).split(".")[1]))
    tolerance = tolerance_of(example, "log_prob", "float64")
    pair = [outcome(lambda d=d, v=v: d.log_prob(v)) for d, v in ((ours, values), (theirs, other))]
    compare(*pair, "log_prob", tolerance)


@over_examples
def test_numbers_as_parameters(example, torch):
    both = [outcome(lambda lib=lib: example.of(lib, "float32", numbers=True)) for lib in (tengen, torch)]
    assert text(both[0]) == text(both[1])
    compare(outcome(lambda: both[0].mean), outcome(lambda: both[1].mean), "mean", ROUGH)


@over_examples
def test_natural_parameters(example, torch):
    ours, theirs = example.of(tengen), example.of(torch)
    if not hasattr(theirs, "_natural_params"):
        return
    mine, other = outcome(lambda: ours._natural_params), outcome(lambda: theirs._natural_params)
    if isinstance(other, Exception):
        return
    assert len(mine) == len(other)
    for a, b in zip(mine, other, strict=True):
        compare(a, b, "_natural_params", 1e-8)
    rough = example.name == "ContinuousBernoulli"
    compare(
        ours._log_normalizer(*mine),
        theirs._log_normalizer(*other),
        "_log_normalizer",
        ROUGH if rough else 1e-8,
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@over_examples
def test_half_dtypes_where_torch_has_them(example, dtype, torch):
    """Whatever PyTorch computes in a half dtype is computed, with the same dtypes of results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = outcome(lambda: example.of(torch, dtype))
        sample = outcome(lambda: theirs.sample((3,)))
        if isinstance(theirs, Exception) or isinstance(sample, Exception):
            return
        ours = example.of(tengen, dtype)
        assert str(ours.sample((3,)).dtype).split(".")[1] == str(sample.dtype).split(".")[1]
        logs = outcome(lambda: theirs.log_prob(sample))
        if isinstance(logs, Exception):
            return
        kind = getattr(tengen, str(sample.dtype).split(".")[1])
        found = ours.log_prob(tengen.tensor(sample.tolist(), dtype=kind))
        assert str(found.dtype).split(".")[1] == str(logs.dtype).split(".")[1]


#: What PyTorch checks only where ``validate_args`` is given.
UNCHECKED = [e for e in WRONG if e.name == "ContinuousBernoulli"]


@pytest.mark.parametrize("example", [e for e in WRONG if e not in UNCHECKED], ids=str)
def test_errors_of_wrong_parameters(example, torch):
    ours, theirs = (outcome(lambda lib=lib: example.of(lib)) for lib in (tengen, torch))
    assert isinstance(theirs, Exception), theirs
    compare(ours, theirs, "parameters", 0)


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG_VALUES.items() for value in values], ids=str
)
def test_errors_of_wrong_values(name, value, torch):
    example = next(e for e in EXAMPLES if e.name == name)
    ours, theirs = (
        outcome(lambda lib=lib: example.of(lib).log_prob(lib.tensor(value, dtype=lib.float64)))
        for lib in (tengen, torch)
    )
    assert isinstance(theirs, Exception), theirs
    compare(ours, theirs, "value", 0)


def test_all_distributions_of_torch_are_here_and_in_the_table(torch):
    theirs = set(torch.distributions.__all__)
    assert theirs <= set(tengen.distributions.__all__) | set(dir(tengen.distributions))
    classes = {n for n in theirs if issubclass_of_distribution(getattr(torch.distributions, n), torch)}
    made_of_others = {
        "Distribution",
        "ExponentialFamily",
        "Independent",
        "MixtureSameFamily",
        "TransformedDistribution",
    }
    assert classes - made_of_others <= {e.name for e in EXAMPLES}
    for name in classes - made_of_others:
        assert (
            class_of(tengen, name).__module__.split(".")[1:]
            == class_of(torch, name).__module__.split(".")[1:]
        )


def issubclass_of_distribution(value: Any, torch: Any) -> bool:
    return isinstance(value, type) and issubclass(value, torch.distributions.Distribution)
