"""Training that is interrupted: a checkpoint of model, optimiser and schedule, and the rest from there.

python checkpoint.py                    # both halves, through a file that is deleted
python checkpoint.py --save half.pt     # the first half
python checkpoint.py --load half.pt     # the second: PyTorch's file in tengen, and tengen's in PyTorch
"""

import argparse
import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
from common import initialise, report

STEPS = 20


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(8, 32), nn.Linear(32, 8)
        self.norm = nn.BatchNorm1d(32)
        self.again = nn.Linear(8, 32)
        self.again.weight = self.encode.weight  # shared: once in the file

    def forward(self, x):
        x = self.decode(nn.functional.silu(self.norm(self.encode(x)))) + x
        return self.decode(nn.functional.silu(self.norm(self.again(x))))


def make():
    """A model, its optimiser and its schedule, as they are at the start."""
    model = initialise(Network())
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2, amsgrad=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=2 * STEPS)
    return model, optimiser, schedule


def train(model, optimiser, schedule, steps):
    """The losses of steps, each on a batch of its own."""
    losses = []
    for step in steps:
        x = torch.tensor(np.random.default_rng(step).standard_normal((16, 8)))
        loss = nn.functional.mse_loss(model(x), x.flip(1).sin())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def save(path):
    """The first half, then the file."""
    parts = make()
    losses = train(*parts, range(STEPS))
    torch.save({"parts": [part.state_dict() for part in parts], "losses": losses}, path)


def load(path):
    """The file, then the second half: the losses of both."""
    saved, parts = torch.load(path, weights_only=True), make()
    for part, state in zip(parts, saved["parts"], strict=True):
        part.load_state_dict(state)
    return saved["losses"] + train(*parts, range(STEPS, 2 * STEPS))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--save")
    parser.add_argument("--load")
    asked = parser.parse_args()
    if asked.save:
        save(asked.save)
        return
    if asked.load:
        report(losses=load(asked.load))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "half.pt")
        save(path)
        report(losses=load(path), without_interruption=train(*make(), range(2 * STEPS)))


main()
