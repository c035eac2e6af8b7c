"""Factors of a matrix of which some elements are known; the gradients of the embeddings are sparse."""

import numpy as np
import torch
import torch.nn as nn
from common import initialise, report

chosen = np.random.default_rng(0)
full = chosen.standard_normal((30, 3)) @ chosen.standard_normal((3, 20))
rows, columns = (torch.tensor(side) for side in np.nonzero(chosen.random((30, 20)) < 0.5))
known = torch.tensor(full)[rows, columns]
factors = initialise(nn.ModuleList([nn.Embedding(30, 3, sparse=True), nn.Embedding(20, 3, sparse=True)]))
optimiser = torch.optim.SparseAdam(list(factors.parameters()), lr=0.05)
for step in range(60):
    part = torch.arange(step % 2, len(rows), 2)
    loss = ((factors[0](rows[part]) * factors[1](columns[part])).sum(1) - known[part]).pow(2).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
grad = factors[0].weight.grad
report(loss=loss.item(), sparse=float(grad.is_sparse), rows=grad.coalesce().indices().shape[1])
