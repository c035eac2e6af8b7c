"""A GAN whose generator learns a normal distribution."""

import numpy as np
import torch
import torch.nn as nn
from common import initialise, report

chosen = np.random.default_rng(0)
make = initialise(nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)))
judge = initialise(nn.Sequential(nn.Linear(1, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)), 1)
of_make = torch.optim.Adam(make.parameters(), lr=5e-3, betas=(0.5, 0.999))
of_judge = torch.optim.Adam(judge.parameters(), lr=5e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
for _ in range(60):
    real = torch.tensor(3 + 0.5 * chosen.standard_normal((64, 1)))
    made = make(torch.tensor(chosen.standard_normal((64, 4))))
    of_judge.zero_grad()
    loss_of_judge = criterion(judge(real), ones) + criterion(judge(made.detach()), zeros)
    loss_of_judge.backward()
    of_judge.step()
    of_make.zero_grad()
    loss = criterion(judge(made), ones)
    loss.backward()
    of_make.step()
report(losses=[loss_of_judge.item(), loss.item()], mean=made.mean().item(), spread=made.std().item())
