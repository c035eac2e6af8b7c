"""A variational autoencoder of points on a circle."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import initialise, report


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
        self.decoder = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 8))

    def forward(self, x, noise):
        mean, logvar = self.encoder(x).chunk(2, dim=-1)
        return self.decoder(mean + torch.exp(0.5 * logvar) * noise), mean, logvar


generator = np.random.default_rng(0)
angles = generator.uniform(0, 2 * np.pi, 128)
data = torch.tensor(np.stack([np.cos(angles * k) for k in range(1, 9)], 1))
model = initialise(VAE())
optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
losses = []
for _ in range(60):
    made, mean, logvar = model(data, torch.tensor(generator.standard_normal((128, 2))))
    loss = F.mse_loss(made, data, reduction="sum") / 128
    loss = loss - 0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean() * 0.1
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
report(losses=losses[::10])
