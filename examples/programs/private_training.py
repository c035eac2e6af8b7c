"""Opacus: gradients of single examples, clipped, in four ways that give the same steps."""

import warnings

import numpy as np
import torch
import torch.nn as nn
from common import initialise, report
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

PACKAGES = {"opacus": "1.6.0"}
NEEDS = ("numpy", "scipy", "opt_einsum")
RUNS = "`PrivacyEngine` in all four modes of gradients of examples: convolution, norms, linear layers"
LACKS = "several processes"
SINCE = "0.1.0"

warnings.filterwarnings("ignore")
chosen = np.random.default_rng(1)
x, y = torch.tensor(chosen.standard_normal((32, 1, 4, 4))), torch.tensor(chosen.integers(0, 3, 32))
found = {}
for mode in ("hooks", "functorch", "ghost", "ew"):
    layers = (nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    model = initialise(nn.Sequential(*layers))
    made = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        criterion=nn.CrossEntropyLoss(),
        data_loader=DataLoader(TensorDataset(x, y), batch_size=8),
        noise_multiplier=0.0,
        max_grad_norm=0.5,
        poisson_sampling=False,
        grad_sample_mode=mode,
    )
    model, optimiser, batches = made[0], made[1], made[-1]
    criterion = made[2] if mode == "ghost" else nn.CrossEntropyLoss()
    losses = []
    for _ in range(3):
        for some, kinds in batches:
            optimiser.zero_grad()
            loss = criterion(model(some), kinds)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    found[f"losses_{mode}"] = losses[::3]
    found[f"weights_{mode}"] = sum(p.detach().abs().sum() for p in model.parameters())
report(**found)
