"""A graph network that learns the communities of a random graph; messages are added up by ``index_add``."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import initialise, report

chosen = np.random.default_rng(0)
group = np.arange(40) % 2
linked = chosen.random((40, 40)) < np.where(group[:, None] == group, 0.4, 0.05)
source, target = (torch.tensor(side) for side in np.nonzero(np.triu(linked, 1) | np.triu(linked, 1).T))


class Layer(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.own, self.message = nn.Linear(before, after), nn.Linear(before, after)

    def forward(self, x):
        sums = torch.zeros(len(x), self.message.out_features).index_add(0, target, self.message(x)[source])
        counts = torch.zeros(len(x)).scatter_add(0, target, torch.ones(len(target)))
        return self.own(x) + sums / counts.clamp(min=1)[:, None]


model = initialise(nn.ModuleList([Layer(8, 16), Layer(16, 2)]))
x, labels = torch.tensor(chosen.standard_normal((40, 8))), torch.tensor(group)
optimiser = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
for _ in range(60):
    out = model[1](F.relu(model[0](x)))
    loss = F.cross_entropy(out[:20], labels[:20])
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
report(loss=loss.item(), right=(out.argmax(1) == labels).double().mean().item())
