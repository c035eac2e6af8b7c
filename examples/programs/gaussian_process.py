"""A Gaussian process, whose kernel LBFGS fits."""

import math

import numpy as np
import torch
from common import report

chosen = np.random.default_rng(0)
x = torch.tensor(np.sort(chosen.uniform(0, 5, 30)))
y = torch.sin(2 * x) + 0.1 * torch.tensor(chosen.standard_normal(30))
logs = torch.zeros(3, requires_grad=True)


def kernel(a, b):
    length, size, _ = logs.exp().unbind()
    return size * torch.exp(-0.5 * ((a[:, None] - b) / length) ** 2)


def factor():
    return torch.linalg.cholesky(kernel(x, x) + (logs[2].exp() + 1e-6) * torch.eye(30))


def closure():
    optimiser.zero_grad()
    lower = factor()
    weights = torch.cholesky_solve(y[:, None], lower)[:, 0]
    loss = 0.5 * y @ weights + lower.diagonal().log().sum() + 15 * math.log(2 * math.pi)
    loss.backward()
    return loss


optimiser = torch.optim.LBFGS([logs], max_iter=25, line_search_fn="strong_wolfe")
optimiser.step(closure)
with torch.no_grad():
    at = torch.linspace(0, 5, 5)
    mean = kernel(at, x) @ torch.cholesky_solve(y[:, None], factor())[:, 0]
report(loss=closure().item(), logs=logs.detach(), mean=mean)
