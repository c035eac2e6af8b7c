"""Mixed precision: a network in bfloat16 under autocast, and a GradScaler that meets an overflow."""

import numpy as np
import torch
import torch.nn as nn
from common import initialise, report

#: bfloat16 is rounded to a part in 256 at each layer, in another direction where another order of summation
#: ends beside a tie; the steps of training follow that.
TOLERANCE = 0.015625

torch.set_default_dtype(torch.float32)
chosen = np.random.default_rng(0)
x = torch.tensor(chosen.standard_normal((256, 16)), dtype=torch.float32)
y = torch.sin(x @ torch.tensor(chosen.standard_normal((16, 4)) / 4, dtype=torch.float32))

model = initialise(nn.Sequential(nn.Linear(16, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 4)))
optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**8, growth_interval=10)
losses, scales, skipped = [], [], []
for step in range(40):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x)
        loss = nn.functional.mse_loss(out, y)
    before = model[0].weight.clone()
    optimiser.zero_grad()
    scaler.scale(loss * (1e38 if step == 25 else 1)).backward()  # one gradient that overflows
    scaler.unscale_(optimiser)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimiser)
    scaler.update()
    losses.append(loss.item())
    scales.append(scaler.get_scale())
    if torch.equal(before, model[0].weight):
        skipped.append(step)

dtypes = [str(t.dtype).rpartition(".")[2] for t in (out, loss, model[0].weight, model[0].weight.grad)]
assert dtypes == ["bfloat16", "float32", "float32", "float32"], dtypes
report(losses=losses[::4], scales=scales, skipped=skipped)
