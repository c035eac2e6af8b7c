"""zuko: conditional normalising flows of several kinds: densities, gradients, inverses, a few steps."""

import numpy as np
import torch
import zuko
from common import report

PACKAGES = {"zuko": "1.6.0"}
NEEDS = ("scipy",)
RUNS = "NSF, MAF, NICE, NAF, SOSPF, BPF, NCSF, GF, CNF: log_prob, gradients, inverse, samples, training"
SINCE = "0.1.0"

numbers = np.random.default_rng(1)
x = torch.from_numpy(numbers.standard_normal((16, 3)))
condition = torch.from_numpy(numbers.standard_normal((16, 2)))
flows = zuko.flows
KINDS = {
    "nsf": lambda: flows.NSF(3, 2, transforms=2, hidden_features=(16, 16)),
    "maf": lambda: flows.MAF(3, 2, transforms=2, hidden_features=(16, 16)),
    "coupling": lambda: flows.NICE(3, 2, transforms=2, hidden_features=(16,)),
    "neural": lambda: flows.NAF(3, 2, transforms=1, hidden_features=(16,), network={"hidden_features": (8,)}),
    "squares": lambda: flows.SOSPF(3, 2, transforms=2, hidden_features=(16,)),
    "bernstein": lambda: flows.BPF(3, 2, transforms=1, hidden_features=(16,)),
    "circular": lambda: flows.NCSF(3, 2, transforms=2, hidden_features=(16,)),
    "gaussianisation": lambda: flows.GF(3, 2, transforms=2, hidden_features=(16,)),
    "continuous": lambda: flows.CNF(3, 2, hidden_features=(16,)),
}


def filled(kind):
    flow, own = KINDS[kind](), np.random.default_rng(0)
    for p in flow.parameters():
        with torch.no_grad():
            p.copy_(torch.from_numpy(0.3 * own.standard_normal(tuple(p.shape))))
    return flow


found = {}
for kind in KINDS:
    flow, inputs = filled(kind), x.clone().requires_grad_()
    density = flow(condition).log_prob(inputs)
    density.mean().backward()
    transform = flow(condition).transform
    slopes = sum(p.grad.abs().sum() for p in flow.parameters() if p.grad is not None)
    found[kind] = [density.sum().item(), slopes.item(), inputs.grad.abs().sum().item()]
    found[f"{kind} and back"] = bool((transform.inv(transform(x)) - x).abs().max() < 1e-3)
    found[f"{kind} samples"] = bool(flow(condition[0]).sample((100,)).isfinite().all())

flow = filled("nsf")
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
for _ in range(20):
    loss = -flow(condition).log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
report(trained=loss.item(), **found)
