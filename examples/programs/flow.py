"""A normalising flow of affine couplings."""

import math

import numpy as np
import torch
import torch.nn as nn
from common import initialise, report


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, x):
        a, b = x.unbind(-1)[:: -1 if self.flip else 1]
        scale, shift = self.net(a[:, None]).unbind(-1)
        moved = b * torch.tanh(scale).exp() + shift
        return torch.stack((moved, a) if self.flip else (a, moved), -1), torch.tanh(scale)


layers = initialise(nn.ModuleList([Coupling(i % 2) for i in range(4)]))
chosen = np.random.default_rng(0)
x = chosen.standard_normal((256, 2))
x[:, 1] = 0.3 * x[:, 1] + x[:, 0] ** 2 - 1
optimiser = torch.optim.Adam(layers.parameters(), lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 40)
losses = []
for _ in range(40):
    z, volume = torch.tensor(x), torch.zeros(256)
    for layer in layers:
        z, change = layer(z)
        volume = volume + change
    loss = (0.5 * z.pow(2).sum(-1) + math.log(2 * math.pi) - volume).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    schedule.step()
    losses.append(loss.item())
report(losses=losses[::8])
