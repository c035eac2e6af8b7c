"""A hierarchical model in plain distributions: its posterior by gradients of samples, by a Laplace step."""

import numpy as np
import torch
from common import report
from torch.distributions import (
    Bernoulli,
    Gamma,
    HalfNormal,
    Independent,
    LogNormal,
    MultivariateNormal,
    Normal,
    TransformedDistribution,
    biject_to,
    kl_divergence,
    transforms,
)

numbers = np.random.default_rng(0)
groups = torch.from_numpy(numbers.integers(0, 4, 60))
x = torch.from_numpy(numbers.standard_normal(60))
seen = torch.from_numpy((numbers.uniform(size=60) < 0.5).astype(float))


def log_joint(scale, effects, slope):
    prior = HalfNormal(1.0).log_prob(scale) + Normal(0.0, scale).log_prob(effects).sum(-1)
    logits = effects[groups] + slope * x
    return prior + Normal(0.0, 2.0).log_prob(slope) + Bernoulli(logits=logits).log_prob(seen).sum(-1)


class Guide(torch.nn.Module):
    """A normal distribution of each number, before it is made positive where it must be."""

    def __init__(self):
        super().__init__()
        self.loc = torch.nn.Parameter(torch.zeros(6))
        self.rho = torch.nn.Parameter(torch.full((6,), -1.0))

    def forward(self):
        scale = biject_to(Normal.arg_constraints["scale"])(self.rho)
        return Independent(Normal(self.loc, scale), 1)


guide = Guide()
optimizer = torch.optim.Adam(guide.parameters(), lr=0.05)
positive = biject_to(HalfNormal.support)
losses = []
for _ in range(80):
    q = guide()
    z = q.base_dist.loc + q.base_dist.scale * torch.from_numpy(numbers.standard_normal(6))
    scale = positive(z[0])
    change = positive.log_abs_det_jacobian(z[0], scale)
    loss = q.log_prob(z) - log_joint(scale, z[1:5], z[5]) - change
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

mode = guide.loc.detach()
negative = torch.autograd.functional.hessian(lambda z: -log_joint(positive(z[0]), z[1:5], z[5]), mode)
laplace = MultivariateNormal(mode, precision_matrix=negative + torch.eye(6))
skewed = TransformedDistribution(
    Gamma(2.0, 1.0), [transforms.AffineTransform(1.0, 3.0), transforms.PowerTransform(0.5)]
)
report(
    losses=losses[::20],
    posterior=guide.loc.detach(),
    deviations=guide().stddev.detach(),
    laplace=laplace.entropy(),
    divergence=kl_divergence(Independent(Normal(mode, 1.0), 1), guide()),
    scale=LogNormal(mode[0], 0.5).mean,
    skewed=skewed.log_prob(torch.tensor([1.5, 2.0, 4.0])),
)
