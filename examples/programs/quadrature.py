"""Torchquad: an integral by grids and by chance, and its derivative by the bounds."""

import numpy as np
import torch
from common import report
from torchquad import VEGAS, Boole, GaussLegendre, MonteCarlo, Simpson, Trapezoid, set_log_level

PACKAGES = {"torchquad": "0.6.0"}
NEEDS = ("autoray", "loguru", "scipy", "tqdm")
RUNS = (
    "Trapezoid, Simpson, Boole, GaussLegendre, gradients by the domain; near the integral MonteCarlo, VEGAS"
)
SINCE = "0.1.0"

set_log_level("ERROR")
bounds = torch.tensor([[0.0, 1.0], [-1.0, 1.0]], requires_grad=True)
exactly = (1 - np.cos(1)) * (np.e - 1 / np.e)


def integral(method, points, **options):
    return method().integrate(
        lambda x: torch.sin(x[:, 0]) * torch.exp(x[:, 1]), dim=2, N=points, backend="torch", **options
    )


by_grid = [integral(m, 10201, integration_domain=bounds) for m in (Trapezoid, Simpson, Boole, GaussLegendre)]
by_grid[1].backward()
by_chance = [integral(m, 20000, integration_domain=bounds.detach(), seed=1) for m in (MonteCarlo, VEGAS)]
report(
    by_grid=[value.item() for value in by_grid],
    derivative=bounds.grad,
    near=[abs(value.item() / exactly - 1) < 0.03 for value in by_chance],
)
