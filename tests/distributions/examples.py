"""Parameters of each distribution, what SciPy has of it, and what none of its parameters may be: one table.

Lists are tensors, numbers stay numbers. ``Example.of`` makes the distribution of a library, tengen or torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.stats as stats


@dataclass(frozen=True)
class Example:
    """Parameters of one distribution."""

    name: str
    parameters: dict[str, Any]
    number: int

    def __str__(self) -> str:
        return f"{self.name}{self.number}"

    def values(
        self, lib: Any, dtype: str | None = None, requires_grad: bool = False, numbers: bool = False
    ) -> dict[str, Any]:
        """The parameters, as tensors of the library; where none is one, unless ``numbers``, floats too."""
        kind = getattr(lib, dtype or "float64")
        made = list if any(is_array(v) for v in self.parameters.values()) or numbers else (list, float)
        return {
            name: lib.tensor(value, dtype=kind, requires_grad=requires_grad)
            if isinstance(value, made) or name == "temperature"
            else value
            for name, value in self.parameters.items()
        }

    def of(self, lib: Any, dtype: str | None = None, numbers: bool = False, **more: Any) -> Any:
        """The distribution of the library ``lib``, by default of float64."""
        return class_of(lib, self.name)(**self.values(lib, dtype, numbers=numbers), **more)


def is_array(value: Any) -> bool:
    return isinstance(value, list)


def class_of(lib: Any, name: str) -> Any:
    """The class of a distribution, also of those that only their modules export."""
    homes = {"LogitRelaxedBernoulli": "relaxed_bernoulli", "ExpRelaxedCategorical": "relaxed_categorical"}
    home = getattr(lib.distributions, homes[name]) if name in homes else lib.distributions
    return getattr(home, name)


_SPD = [[2.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 1.5]]
_TRIL = [[1.2, 0.0, 0.0], [0.3, 0.8, 0.0], [-0.2, 0.4, 1.5]]
_TABLE: dict[str, list[dict[str, Any]]] = {
    "Bernoulli": [
        {"probs": [0.7, 0.2, 0.4]},
        {"probs": 0.3},
        {"logits": [[-1.5], [0.0], [30.0]]},
        {"probs": [[0.0, 1.0]]},
    ],
    "Beta": [
        {"concentration1": [[0.5], [2.0]], "concentration0": [1.5, 0.3, 40.0]},
        {"concentration1": 2.5, "concentration0": 1.5},
    ],
    "Binomial": [
        {"total_count": 10, "probs": [[0.1, 0.2], [0.5, 0.99]]},
        {"total_count": [3.0, 100.0, 0.0], "logits": [-1.0, 0.4, 2.0]},
        {"total_count": 7, "probs": 0.3},
    ],
    "Categorical": [
        {"probs": [[0.1, 0.2, 0.3], [0.5, 0.3, 0.2]]},
        {"logits": [0.0, -2.0, 3.0, 1.0]},
        {"probs": [[1.0, 0.0], [0.0, 2.0]]},
    ],
    "Cauchy": [{"loc": [0.5, -3.0], "scale": [1.0, 0.1]}, {"loc": 0.0, "scale": 2.0}],
    "Chi2": [{"df": [0.5, 3.0, 60.0]}, {"df": 2.0}],
    "ContinuousBernoulli": [
        {"probs": [0.1, 0.49999, 0.5, 0.50001, 0.9]},
        {"logits": [-7.0, -1.0, 0.0, 1e-6, 0.3, 1.0, 12.0]},
        {"probs": 0.3},
    ],
    "Dirichlet": [
        {"concentration": [[0.5, 1.5, 3.0], [4.0, 0.2, 7.0]]},
        {"concentration": [1.0, 1.0]},
        {"concentration": [0.5, 0.25, 0.75]},
    ],
    "Exponential": [{"rate": [0.7, 0.2, 400.0]}, {"rate": 1.5}],
    "FisherSnedecor": [
        {"df1": [[1.5], [3.0]], "df2": [6.5, 5.0, 1.5]},
        {"df1": 8.0, "df2": 12.0},
    ],
    "Gamma": [
        {"concentration": [[0.3], [2.0], [50.0]], "rate": [0.5, 2.0]},
        {"concentration": 1.0, "rate": 1.0},
    ],
    "GeneralizedPareto": [
        {
            "loc": [0.0, 1.0, -2.0, 0.5],
            "scale": [1.0, 0.5, 2.0, 1.0],
            "concentration": [0.2, -0.3, 0.0, -1.0],
        },
        {"loc": 0.0, "scale": 1.0, "concentration": 1e-4},
        {"loc": 0.0, "scale": 1.0, "concentration": 1.2},
    ],
    "Geometric": [{"probs": [0.7, 0.2, 1.0]}, {"probs": 0.3}, {"logits": [-2.0, 0.0, 3.0]}],
    "Gumbel": [{"loc": [0.5, -3.0], "scale": [1.0, 0.1]}, {"loc": 0.0, "scale": 2.0}],
    "HalfCauchy": [{"scale": [1.0, 0.1]}, {"scale": 2.0}],
    "HalfNormal": [{"scale": [1.0, 0.1]}, {"scale": 2.0}],
    "InverseGamma": [
        {"concentration": [[0.8], [2.5], [9.0]], "rate": [0.5, 2.0]},
        {"concentration": 3.0, "rate": 1.0},
    ],
    "Kumaraswamy": [
        {"concentration1": [[0.5], [2.0]], "concentration0": [1.5, 0.7, 4.0]},
        {"concentration1": 2.0, "concentration0": 3.0},
    ],
    "LKJCholesky": [
        {"dim": 2, "concentration": 0.5},
        {"dim": 3, "concentration": [0.5, 1.0, 3.0]},
        {"dim": 5, "concentration": [[2.0], [1.5]]},
    ],
    "Laplace": [{"loc": [0.5, -3.0], "scale": [1.0, 0.1]}, {"loc": 0.0, "scale": 2.0}],
    "LogNormal": [{"loc": [0.5, -3.0], "scale": [1.0, 0.1]}, {"loc": 0.0, "scale": 0.5}],
    "LogisticNormal": [
        {"loc": [[0.5, -1.0], [0.0, 0.2]], "scale": [[1.0, 0.3], [0.5, 2.0]]},
        {"loc": 0.0, "scale": 0.5},
    ],
    "LogitRelaxedBernoulli": [
        {"temperature": 0.5, "probs": [0.7, 0.2, 0.4]},
        {"temperature": 2.0, "logits": [[-1.0], [3.0]]},
    ],
    "LowRankMultivariateNormal": [
        {"loc": [0.5, -1.0, 2.0], "cov_factor": [[0.3], [-0.7], [1.0]], "cov_diag": [0.5, 1.0, 0.2]},
        {
            "loc": [[0.5, -1.0, 2.0], [0.0, 0.0, 0.0]],
            "cov_factor": [[0.3, 0.1], [-0.7, 0.2], [1.0, 0.5]],
            "cov_diag": [0.5, 1.0, 0.2],
        },
    ],
    "Multinomial": [
        {"total_count": 5, "probs": [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]},
        {"total_count": 10, "logits": [0.0, -1.0]},
        {"total_count": 3, "probs": [1.0, 0.0, 1.0]},
    ],
    "MultivariateNormal": [
        {"loc": [0.5, -1.0, 2.0], "covariance_matrix": _SPD},
        {"loc": [[0.5, -1.0, 2.0], [1.0, 0.0, 0.0]], "precision_matrix": _SPD},
        {"loc": [0.0, 0.0, 1.0], "scale_tril": [_TRIL, np.eye(3).tolist()]},
        {"loc": [[[0.5, -1.0, 2.0]], [[1.0, 0.0, 0.0]]], "scale_tril": [_TRIL, np.eye(3).tolist()]},
    ],
    "NegativeBinomial": [
        {"total_count": [3.0, 0.5, 20.0], "probs": [0.3, 0.9, 0.0]},
        {"total_count": 5, "logits": [[-1.0], [0.5]]},
        {"total_count": 2.5, "probs": 0.4},
    ],
    "Normal": [
        {"loc": [0.5, -3.0], "scale": [1.0, 0.1]},
        {"loc": 0.0, "scale": 2.0},
        {"loc": [[0.5], [100.0]], "scale": [1.0, 0.1, 1e-6]},
        {"loc": 1, "scale": [1.0, 2.0]},
    ],
    "OneHotCategorical": [
        {"probs": [[0.1, 0.2, 0.3], [0.5, 0.3, 0.2]]},
        {"logits": [0.0, -2.0, 3.0, 1.0]},
    ],
    "OneHotCategoricalStraightThrough": [
        {"probs": [[0.1, 0.2, 0.3], [0.5, 0.3, 0.2]]},
        {"logits": [0.0, -2.0, 3.0, 1.0]},
    ],
    "Pareto": [{"scale": [1.0, 0.3, 2.0], "alpha": [0.5, 1.5, 6.0]}, {"scale": 1.0, "alpha": 3.0}],
    "Poisson": [{"rate": [0.5, 5.0, 300.0]}, {"rate": 3.0}, {"rate": [0.0, 1.0]}],
    "RelaxedBernoulli": [
        {"temperature": 0.5, "probs": [0.7, 0.2, 0.4]},
        {"temperature": 2.0, "logits": [[-1.0], [3.0]]},
    ],
    "ExpRelaxedCategorical": [
        {"temperature": 0.5, "probs": [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]},
        {"temperature": 2.0, "logits": [0.0, -1.0]},
    ],
    "RelaxedOneHotCategorical": [
        {"temperature": 0.5, "probs": [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]},
        {"temperature": 2.0, "logits": [0.0, -1.0]},
    ],
    "StudentT": [
        {"df": [0.5, 1.5, 3.0, 200.0], "loc": [0.0, 1.0, -1.0, 3.0], "scale": [1.0, 0.5, 2.0, 1.0]},
        {"df": 5.0},
    ],
    "Uniform": [{"low": [0.0, -1.0], "high": [[1.0], [3.0]]}, {"low": 0.0, "high": 2.0}],
    "VonMises": [
        {"loc": [0.0, 3.0, -1.0], "concentration": [1e-3, 1.0, 300.0]},
        {"loc": 0.5, "concentration": 2.0},
    ],
    "Weibull": [
        {"scale": [[0.5], [2.0]], "concentration": [0.7, 1.0, 6.0]},
        {"scale": 1.0, "concentration": 2.0},
    ],
    "Wishart": [
        {"df": 5.0, "covariance_matrix": _SPD},
        {"df": [4.0, 7.5], "precision_matrix": _SPD},
        {"df": [3.5], "scale_tril": [_TRIL, np.eye(3).tolist()]},
    ],
}

EXAMPLES = [
    Example(name, given, i) for name, all_given in _TABLE.items() for i, given in enumerate(all_given)
]

#: Parameters of which one is not allowed; float64.
WRONG = [
    Example(name, given, i)
    for i, (name, given) in enumerate(
        [
            ("Bernoulli", {"probs": [0.5, 1.5]}),
            ("Bernoulli", {"probs": [0.5, float("nan")]}),
            ("Bernoulli", {}),
            ("Bernoulli", {"probs": [0.5], "logits": [0.5]}),
            ("Beta", {"concentration1": [-1.0], "concentration0": [1.0]}),
            ("Binomial", {"total_count": [-1.0], "probs": [0.5]}),
            ("Binomial", {"total_count": 3}),
            ("Categorical", {"probs": [-0.1, 1.1]}),
            ("Categorical", {"logits": [float("nan"), 1.0]}),
            ("Cauchy", {"loc": 0.0, "scale": 0.0}),
            ("Chi2", {"df": [-2.0]}),
            ("ContinuousBernoulli", {"probs": [1.1]}),
            ("Dirichlet", {"concentration": [0.0, 1.0]}),
            ("Exponential", {"rate": [0.0, 1.0]}),
            ("FisherSnedecor", {"df1": [1.0], "df2": [-1.0]}),
            ("Gamma", {"concentration": 1.0, "rate": -1.0}),
            ("GeneralizedPareto", {"loc": 0.0, "scale": -1.0, "concentration": 0.0}),
            ("Geometric", {"probs": [0.0, 0.5]}),
            ("Gumbel", {"loc": [0.0], "scale": [-1.0]}),
            ("HalfCauchy", {"scale": [-1.0]}),
            ("HalfNormal", {"scale": [0.0]}),
            ("InverseGamma", {"concentration": [0.0], "rate": [1.0]}),
            ("Kumaraswamy", {"concentration1": [0.0], "concentration0": [1.0]}),
            ("LKJCholesky", {"dim": 1, "concentration": 1.0}),
            ("LKJCholesky", {"dim": 3, "concentration": [-1.0]}),
            ("Laplace", {"loc": 0.0, "scale": [1.0, 0.0]}),
            ("LogNormal", {"loc": 0.0, "scale": -1.0}),
            ("LogisticNormal", {"loc": [0.0], "scale": [-1.0]}),
            (
                "LowRankMultivariateNormal",
                {"loc": [0.0], "cov_factor": [[1.0], [2.0]], "cov_diag": [1.0]},
            ),
            ("LowRankMultivariateNormal", {"loc": [0.0], "cov_factor": [[1.0]], "cov_diag": [-2.0]}),
            ("Multinomial", {"total_count": 2.5, "probs": [0.5, 0.5]}),
            ("Multinomial", {"total_count": 2, "probs": [-0.5, 0.5]}),
            ("MultivariateNormal", {"loc": [0.0, 0.0], "covariance_matrix": [[1.0, 2.0], [2.0, 1.0]]}),
            ("MultivariateNormal", {"loc": [0.0, 0.0], "scale_tril": [[1.0, 2.0], [2.0, 1.0]]}),
            ("MultivariateNormal", {"loc": [0.0, 0.0]}),
            ("MultivariateNormal", {"loc": [0.0, 0.0], "scale_tril": [1.0]}),
            ("NegativeBinomial", {"total_count": [2.0], "probs": [1.0]}),
            ("Normal", {"loc": [0.0, float("nan")], "scale": 1.0}),
            ("Normal", {"loc": 0.0, "scale": [[1.0, -1.0]]}),
            ("Normal", {"loc": "0", "scale": 1.0}),
            ("OneHotCategorical", {"probs": [-0.1, 1.1]}),
            ("Pareto", {"scale": [0.0], "alpha": [1.0]}),
            ("Poisson", {"rate": [-1.0]}),
            ("RelaxedBernoulli", {"temperature": 1.0, "probs": [2.0]}),
            ("RelaxedOneHotCategorical", {"temperature": 1.0, "probs": [-0.1, 1.1]}),
            ("StudentT", {"df": [0.0]}),
            ("Uniform", {"low": [1.0], "high": [0.0]}),
            ("VonMises", {"loc": [0.0], "concentration": [-1.0]}),
            ("Weibull", {"scale": [0.0], "concentration": [1.0]}),
            ("Wishart", {"df": [1.5], "covariance_matrix": _SPD}),
            ("Wishart", {"df": 5.0, "covariance_matrix": [1.0]}),
            ("Wishart", {"df": 5.0}),
        ]
    )
]

#: Values outside the support of the first example, or of shapes that do not fit.
WRONG_VALUES: dict[str, list[Any]] = {
    "Bernoulli": [0.5, [0.0, 1.0], [[2.0, 0.0, 1.0]], float("nan")],
    "Beta": [-0.1, 1.5, [0.5, 0.5]],
    "Binomial": [-1.0, 11.0, 0.5],
    "Categorical": [3.0, -1.0, 0.5],
    "Cauchy": [float("nan")],
    "Chi2": [-1.0],
    "ContinuousBernoulli": [-0.1, 1.1],
    "Dirichlet": [[0.5, 0.5], [0.5, 0.5, 0.5], [-0.5, 0.5, 1.0]],
    "Exponential": [-1.0],
    "FisherSnedecor": [0.0, -1.0],
    "Gamma": [-1.0],
    "GeneralizedPareto": [-10.0, 100.0],
    "Geometric": [-1.0, 0.5],
    "HalfCauchy": [-1.0],
    "HalfNormal": [-1.0],
    "InverseGamma": [0.0],
    "Kumaraswamy": [1.5],
    "LKJCholesky": [[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.5], [0.5, 0.5]]],
    "LogNormal": [0.0],
    "LogisticNormal": [[0.5, 0.5, 0.5]],
    "Multinomial": [[6.0, 0.0, 0.0], [-1.0, 3.0, 3.0], [5.0, 0.0]],
    "MultivariateNormal": [[0.0, 0.0], 0.0, [float("nan"), 0.0, 0.0]],
    "NegativeBinomial": [-1.0],
    "Normal": [float("nan"), [0.0, 0.0, 0.0]],
    "OneHotCategorical": [[1.0, 1.0, 0.0], [0.5, 0.5, 0.0]],
    "Pareto": [0.01],
    "Poisson": [-1.0, 2.5],
    "RelaxedOneHotCategorical": [[0.5, 0.6, 0.0]],
    "Uniform": [-5.0, 5.0],
    "Weibull": [0.0],
    "Wishart": [[[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]]],
}


class ContinuousBernoulliReference:
    """An exponential distribution cut off at 1, upwards or downwards."""

    def __init__(self, logits: Any) -> None:
        self.logits = logits
        size = np.where(np.abs(logits) < 1e-4, 1, np.abs(logits))
        self.cut = stats.truncexpon(size, scale=1 / size)

    def _below(self, values: Any) -> Any:
        return np.where(self.logits > 0, 1 - values, values)

    def logpdf(self, values: Any) -> Any:
        flat = (values - 0.5) * self.logits - self.logits**2 / 24
        return np.where(np.abs(self.logits) < 1e-4, flat, self.cut.logpdf(self._below(values)))

    def cdf(self, values: Any) -> Any:
        below = self._below(values)
        steep = np.where(self.logits > 0, self.cut.sf(below), self.cut.cdf(below))
        flat = values + self.logits * values * (values - 1) * (0.5 + self.logits * (2 * values - 1) / 12)
        return np.where(np.abs(self.logits) < 1e-4, flat, steep)


class KumaraswamyReference:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def logpdf(self, x: Any) -> Any:
        return np.log(self.a * self.b) + (self.a - 1) * np.log(x) + (self.b - 1) * np.log1p(-(x**self.a))

    def cdf(self, x: Any) -> Any:
        return 1 - (1 - x**self.a) ** self.b


def _arrays(distribution: Any) -> SimpleNamespace:
    """The parameters of a distribution, as arrays: attributes are looked up when they are used."""

    class Parameters(SimpleNamespace):
        def __getattr__(self, name: str) -> Any:
            return getattr(distribution, name).detach().numpy()

    return Parameters()


#: Of distributions of numbers the same one of SciPy, or one with its methods.
_REFERENCES: dict[str, Any] = {
    "Bernoulli": lambda p: stats.bernoulli(p.probs),
    "Beta": lambda p: stats.beta(p.concentration1, p.concentration0),
    "Binomial": lambda p: stats.binom(p.total_count, p.probs),
    "Cauchy": lambda p: stats.cauchy(p.loc, p.scale),
    "Chi2": lambda p: stats.chi2(p.df),
    "ContinuousBernoulli": lambda p: ContinuousBernoulliReference(p.logits),
    "Exponential": lambda p: stats.expon(scale=1 / p.rate),
    "FisherSnedecor": lambda p: stats.f(p.df1, p.df2),
    "Gamma": lambda p: stats.gamma(p.concentration, scale=1 / p.rate),
    "GeneralizedPareto": lambda p: stats.genpareto(p.concentration, p.loc, p.scale),
    "Geometric": lambda p: stats.geom(p.probs, loc=-1),
    "Gumbel": lambda p: stats.gumbel_r(p.loc, p.scale),
    "HalfCauchy": lambda p: stats.halfcauchy(scale=p.scale),
    "HalfNormal": lambda p: stats.halfnorm(scale=p.scale),
    "InverseGamma": lambda p: stats.invgamma(p.concentration, scale=p.rate),
    "Kumaraswamy": lambda p: KumaraswamyReference(p.concentration1, p.concentration0),
    "Laplace": lambda p: stats.laplace(p.loc, p.scale),
    "LogNormal": lambda p: stats.lognorm(p.scale, scale=np.exp(p.loc)),
    "LogitRelaxedBernoulli": lambda p: stats.logistic(p.logits / p.temperature, 1 / p.temperature),
    "NegativeBinomial": lambda p: stats.nbinom(p.total_count, 1 - p.probs),
    "Normal": lambda p: stats.norm(p.loc, p.scale),
    "Pareto": lambda p: stats.pareto(p.alpha, scale=p.scale),
    "Poisson": lambda p: stats.poisson(p.rate),
    "StudentT": lambda p: stats.t(p.df, p.loc, p.scale),
    "Uniform": lambda p: stats.uniform(p.low, p.high - p.low),
    "VonMises": lambda p: stats.vonmises(p.concentration, p.loc),
    "Weibull": lambda p: stats.weibull_min(p.concentration, scale=p.scale),
}


def reference(name: str, distribution: Any) -> Any:
    """SciPy's distribution with the parameters of one of numbers; None where there is none."""
    make = _REFERENCES.get(name)
    return None if make is None else make(_arrays(distribution))


DISCRETE = ("Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson")
OF_NUMBERS = [e for e in EXAMPLES if e.name in _REFERENCES]
CONTINUOUS = [e for e in OF_NUMBERS if e.name not in DISCRETE]
