"""gpytorch and linear_operator: exact regression, a variational process, kernels, solvers."""

import gpytorch
import linear_operator
import numpy as np
import torch
from common import report
from linear_operator.operators import (
    DiagLinearOperator,
    KroneckerProductLinearOperator,
    ToeplitzLinearOperator,
    to_linear_operator,
)

PACKAGES = {"gpytorch": "1.15.2", "linear_operator": "0.6.1", "jaxtyping": "0.3.11", "wadler-lindig": "0.1.8"}
NEEDS = ("mpmath", "scikit-learn", "scipy")
RUNS = "exact and variational processes, ten kernels, Cholesky, conjugate gradients, Kronecker, Toeplitz"
SINCE = "0.1.0"

x = torch.linspace(0, 1, 30)
y = torch.sin(6 * x) + 0.1 * torch.from_numpy(np.random.default_rng(0).standard_normal(30))
kernels = gpytorch.kernels
normal = gpytorch.distributions.MultivariateNormal
found = {}


class Exact(gpytorch.models.ExactGP):
    def __init__(self, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernels.ScaleKernel(kernels.RBFKernel())

    def forward(self, x):
        return normal(self.mean_module(x), self.covar_module(x))


class Variational(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        own = gpytorch.variational.CholeskyVariationalDistribution(len(points), mean_init_std=0.0)
        strategy = gpytorch.variational.VariationalStrategy
        super().__init__(strategy(self, points, own, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = kernels.ScaleKernel(kernels.MaternKernel(nu=2.5))

    def forward(self, x):
        return normal(self.mean_module(x), self.covar_module(x))


def trained(model, bound, target, lr, steps=30):
    """The last loss of a few steps."""
    optimizer = torch.optim.Adam([*model.parameters(), *bound.likelihood.parameters()], lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = -bound(model(x), target)
        loss.backward()
        optimizer.step()
    return loss.item()


likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = Exact(likelihood)
found["exact"] = trained(model, gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), y, 0.1)
found["lengthscale"] = model.covar_module.base_kernel.lengthscale.item()
model.eval()
likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    seen = likelihood(model(torch.linspace(0, 1.2, 7)))
    found["mean"], found["variance"] = seen.mean, seen.variance
    lower, upper = seen.confidence_region()
    found["region"] = upper - lower
    found["log_prob"] = seen.log_prob(torch.zeros(7)).item()
    samples = seen.rsample(torch.Size([3000]))
    found["samples"] = bool((samples.mean(0) - seen.mean).abs().max() < 0.05)

model = Variational(torch.linspace(0, 1, 8))
bound = gpytorch.mlls.VariationalELBO(gpytorch.likelihoods.GaussianLikelihood(), model, num_data=30)
found["variational"] = trained(model, bound, y, 0.05)
model.eval()
found["variational mean"] = model(x).mean.detach()

model = Variational(torch.linspace(0, 1, 6))
bound = gpytorch.mlls.VariationalELBO(gpytorch.likelihoods.BernoulliLikelihood(), model, num_data=30)
found["classes"] = trained(model, bound, (y > 0).double(), 0.05, steps=1)
found["classes by"] = sum(p.grad.abs().sum() for p in model.parameters() if p.grad is not None).item()

for kernel in (
    kernels.PeriodicKernel(),
    kernels.LinearKernel(),
    kernels.PolynomialKernel(2),
    kernels.RQKernel(),
    kernels.CosineKernel(),
    kernels.SpectralMixtureKernel(num_mixtures=2),
    kernels.PiecewisePolynomialKernel(),
    kernels.MaternKernel(nu=0.5),
    kernels.RBFKernel() * kernels.LinearKernel() + kernels.ConstantKernel(),
    kernels.GridInterpolationKernel(kernels.RBFKernel(), 20, num_dims=1, grid_bounds=[(0.0, 1.0)]),
):
    found[type(kernel).__name__] = kernel(x[:10, None]).to_dense().sum().item()

a = torch.from_numpy(np.random.default_rng(2).standard_normal((6, 6)))
definite = (a @ a.T + 6 * torch.eye(6)).requires_grad_()
operator = to_linear_operator(definite)
quadratic, logdet = operator.inv_quad_logdet(torch.ones(6, 1), logdet=True)
(quadratic + logdet).backward()
found["quadratic"], found["logdet"] = quadratic.item(), logdet.item()
found["gradient"] = definite.grad
product = KroneckerProductLinearOperator(
    to_linear_operator(definite.detach()), DiagLinearOperator(torch.arange(1.0, 4.0))
)
found["kronecker"] = product.solve(torch.ones(18, 1)).sum().item()
found["toeplitz"] = ToeplitzLinearOperator(torch.tensor([4.0, 1.0, 0.5, 0.25])) @ torch.arange(4.0)
with linear_operator.settings.max_cholesky_size(1), linear_operator.settings.cg_tolerance(1e-10):
    found["conjugate gradients"] = operator.solve(torch.ones(6, 1)).sum().item()
report(**found)
