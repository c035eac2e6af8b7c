"""pytorch_optimizer: a few steps of each of its optimizers on a small network."""

import warnings

import numpy as np
import torch
from common import initialise, report
from pytorch_optimizer import get_supported_optimizers, load_optimizer

PACKAGES = {"pytorch-optimizer": "4.1.0"}
NEEDS = ("numpy",)
RUNS = "all of its 128 optimizers that run on PyTorch with nothing but parameters"
LACKS = "DeMo, which asks for other processes"
SINCE = "0.1.0"
TOLERANCE = 0.0001  # some compute in float32 or bfloat16, whatever the parameters are

#: Their steps depend on random numbers.
RANDOM = ("adahessian", "gravity", "kron")
warnings.filterwarnings("ignore")
numbers = np.random.default_rng(0)
x, y = (torch.from_numpy(numbers.standard_normal((8, n))) for n in (4, 3))


def losses(name):
    net = initialise(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3)))
    optimizer = load_optimizer(name)(net.parameters())

    def closure():
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward(create_graph=name in RANDOM)
        return loss

    return [optimizer.step(closure).item() for _ in range(4)]


found = {}
for name in get_supported_optimizers():
    try:
        value = losses(name)
        found[name] = np.isfinite(value).tolist() if name in RANDOM else value
    except Exception:  # what it asks for besides parameters
        found[f"{name} is refused"] = True
report(**found)
