"""Tensordict: tensors by names with one batch size, modules that read and write them, ensembles, files."""

import tempfile
import warnings

import numpy as np
import torch
import torch.nn as nn
from common import initialise, report
from tensordict import LazyStackedTensorDict, TensorDict, TensorDictParams, tensorclass
from tensordict.nn import ProbabilisticTensorDictModule, TensorDictModule, TensorDictSequential

PACKAGES = {"tensordict": "0.15.3", "pyvers": "0.2.3"}
NEEDS = ("numpy", "cloudpickle", "packaging")
RUNS = (
    "nested, stacked, lazily stacked and memory-mapped; batch operations, `tensorclass`, modules, "
    "`vmap` over parameters"
)
LACKS = "several processes; `functorch.dim`"
SINCE = "0.1.0"

warnings.filterwarnings("ignore")
chosen = np.random.default_rng(3)


def drawn(*shape):
    """Numbers that do not depend on whose generator torch has."""
    return torch.tensor(chosen.standard_normal(shape))


def sums(data):
    """The sum of each leaf, in the order of the names."""
    leaves = data.flatten_keys(".")
    return [float(leaves[name].double().sum()) for name in sorted(leaves.keys())]


found = {}

# Shapes and names.
inner = {"y": drawn(4, 3, 2), "n": torch.arange(12).view(4, 3)}
data = TensorDict({"x": drawn(4, 3), "inner": inner}, [4, 3])
found["whole"] = sums(data)
found["indexed"] = sums(data[1]) + sums(data[:, 1:]) + sums(data[data["x"] > 0])
found["shaped"] = [*data.view(-1).shape, *data.permute(1, 0).shape, *data.unsqueeze(0).shape, data.numel()]
found["stacked"] = sums(torch.stack([data, data * 2], 1)[:, 1]) + sums(torch.cat([data, data], 0))
found["arithmetic"] = sums((data + 1) * data.exp().clamp(max=2.0))
found["applied"] = sums(data.apply(lambda t: t.double() ** 2))
found["parts"] = [sums(part) for part in (*data.split([1, 3], 0), data.unbind(1)[2])]
found["gathered"] = sums(data.gather(0, torch.tensor([[0, 1, 2], [3, 2, 1]]))) + sums(data.select("x"))
data["inner", "z"] = drawn(4, 3, 5)
data.set_("x", data["x"] + 1)
data[0] = data[1]
found["written"] = sums(data)
found["reduced"] = sums(data.sum(0)) + sums(data.double().mean(dim=1)) + [float(data["x"].std())]
found["names"] = len(data.exclude(("inner", "z")).keys(True, True))
lazy = LazyStackedTensorDict(data[0], data[1].clone().set("x", drawn(3)), stack_dim=0)
found["lazy"] = sums(lazy.contiguous()) + sums(lazy[1])
found["copied"] = sums(data.clone().zero_()) + sums(TensorDict(data.to_dict(), [4, 3]))

with tempfile.TemporaryDirectory() as folder:
    data.memmap(folder)
    mapped = TensorDict.load_memmap(folder)
    mapped["x"].add_(1)
    found["mapped"] = sums(mapped) + sums(TensorDict.load_memmap(folder))
    torch.save(data, f"{folder}/data.pt")
    found["saved"] = sums(torch.load(f"{folder}/data.pt", weights_only=False))


@tensorclass
class Example:
    """An image and its kind."""

    image: torch.Tensor
    kind: torch.Tensor


examples = Example(image=drawn(6, 2, 2), kind=torch.arange(6), batch_size=[6])
joined = torch.stack([examples[:3], examples[3:]])
found["tensorclass"] = [float(joined.image.sum()), float(joined[1].kind.sum()), *joined.batch_size]

# Modules.
body = TensorDictModule(initialise(nn.Linear(3, 4)), in_keys=["x"], out_keys=["hidden"])
heads = TensorDictModule(initialise(nn.Linear(4, 2), 1), in_keys=["hidden"], out_keys=[("out", "loc")])
scale = TensorDictModule(lambda loc: loc.exp() + 0.5, in_keys=[("out", "loc")], out_keys=[("out", "scale")])
chance = ProbabilisticTensorDictModule(
    in_keys={"loc": ("out", "loc"), "scale": ("out", "scale")},
    out_keys=["chosen"],
    distribution_class=torch.distributions.Normal,
    return_log_prob=True,
    default_interaction_type="deterministic",
)
model = TensorDictSequential(body, heads, scale, chance)
batch = TensorDict({"x": drawn(5, 3)}, [5])
given = model(batch.clone())
given["chosen"].sum().backward()
found["modules"] = sums(given.detach().select("hidden", "out", "chosen"))
found["gradients"] = [float(p.grad.sum()) for p in model.parameters()]
found["some"] = sums(model.select_subsequence(out_keys=["hidden"])(batch.clone()).detach())

# Parameters as data: other ones for a call, and an ensemble.
network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
many = [TensorDict.from_module(initialise(nn.Sequential(*network), seed)).data.clone() for seed in range(3)]
ensemble = torch.stack(many)
x = drawn(5, 3)


def call(parameters, x):
    """What the network gives with other parameters."""
    with parameters.to_module(network):
        return network(x)


found["functional"] = call(many[1], x).detach()
found["ensemble"] = torch.vmap(call, (0, None))(ensemble, x).detach()
found["of_examples"] = sums(torch.vmap(torch.func.grad(lambda p, x: call(p, x).sum()), (None, 0))(many[0], x))
parameters = TensorDictParams(ensemble.clone())
optimiser = torch.optim.SGD(parameters.parameters(), lr=0.1)
losses = []
for _ in range(4):
    optimiser.zero_grad()
    loss = (torch.vmap(call, (0, None))(parameters, x) - x.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()
    optimiser.step()
    losses.append(float(loss))
found["learnt"] = losses
report(**found)
