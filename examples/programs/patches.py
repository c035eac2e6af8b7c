"""Patches of images, mixed as einops says: rearranged, reduced, and an einsum with names."""

import numpy as np
import torch
import torch.nn as nn
from common import initialise, report
from einops import einsum, rearrange, reduce
from einops.layers.torch import Rearrange, Reduce

PACKAGES = {"einops": "0.8.2"}
RUNS = "functions and layers, in a mixer of patches that learns"
SINCE = "0.1.0"

chosen = np.random.default_rng(0)
images = torch.tensor(chosen.standard_normal((24, 3, 8, 8)))
kinds = torch.tensor(chosen.integers(0, 3, 24))


class Mix(nn.Module):
    def __init__(self, patches):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(patches, patches))

    def forward(self, x):
        return x + einsum(self.weight, torch.tanh(x), "to from, batch from width -> batch to width")


model = initialise(
    nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (c p q)", p=4, q=4),
        nn.Linear(48, 16),
        Mix(4),
        Reduce("b patches width -> b width", "mean"),
        nn.Linear(16, 3),
    )
)
optimiser = torch.optim.Adam(model.parameters(), lr=0.02)
losses = []
for _ in range(20):
    loss = nn.functional.cross_entropy(model(images), kinds)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
brightest = reduce(rearrange(images, "b c h w -> b h w c"), "b (h p) (w q) c -> b c", "max", p=2, q=2)
report(losses=losses[::4], brightest=brightest.sum())
