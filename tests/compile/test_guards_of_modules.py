"""What a call depends on of modules: where it changes, the call gives what the function then gives.

Each row is a generator: it yields calls, and changes something between them.
"""

from __future__ import annotations

from typing import Any

import pytest
from compared import alike
from tables import Table, x

import tengen
from tengen import nn

TABLE = Table()
row, eager = TABLE.row, TABLE.eager


# -- modules


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))
        self.register_buffer("shift", tengen.ones(2))
        self.scale = 1.5
        self.sizes = [1.0, 2.0]

    def forward(self, t: Any) -> Any:
        h = self.rest(self.norm(self.first(t)))
        return h * self.scale * self.sizes[1] + self.shift


def net() -> Any:
    tengen.manual_seed(0)
    return Net().eval()


@row
def submodule() -> Any:
    model = net()
    yield model, x()
    model.first = nn.Linear(3, 4)
    yield (x(),)
    model.rest[0] = nn.Tanh()
    yield (x(),)
    model.rest.append(nn.Tanh())
    yield (x(),)
    del model.rest[0]
    yield (x(),)


@row
def parameter() -> Any:
    model = net()
    yield model, x()
    model.first.weight = nn.Parameter(tengen.ones(4, 3))
    yield (x(),)
    model.first.weight.data = tengen.full((4, 3), 0.25)
    yield (x(),)
    with tengen.no_grad():
        model.first.weight.mul_(2)
    yield (x(),)
    model.first.weight.requires_grad_(False)
    yield (x(),)
    model.first.bias = None
    yield (x(),)


@row
def buffer() -> Any:
    model = net()
    yield model, x()
    model.shift = tengen.full((2,), 3.0)
    yield (x(),)
    model.shift += 1
    yield (x(),)
    model.register_buffer("shift", tengen.zeros(1))
    yield (x(),)


@row
def attribute_of_a_net() -> Any:
    model = net()
    yield model, x()
    model.scale = 3.0
    yield (x(),)
    model.sizes[1] = 5.0
    yield (x(),)
    model.norm.eps = 0.5
    yield (x(),)


@row
def hooks() -> Any:
    model = net()
    yield model, x()
    handle = model.first.register_forward_hook(lambda m, args, out: out * 2)
    yield (x(),)
    handle.remove()
    yield (x(),)
    handle = model.rest[1].register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    yield (x(),)
    handle.remove()
    handle = nn.modules.module.register_module_forward_hook(lambda m, args, out: out + 1)
    yield (x(),)
    handle.remove()
    yield (x(),)


@row
def forward_is_patched() -> Any:
    model = net()
    yield model, x()
    model.first.forward = lambda t: t.new_ones(2, 4)
    yield (x(),)
    del model.first.forward
    yield (x(),)


@row
def forward_of_the_class() -> Any:
    model, before = net(), Net.forward
    yield model, x()
    Net.forward = lambda self, t: self.first(t)  # type: ignore[method-assign]
    yield (x(),)
    Net.forward = before  # type: ignore[method-assign]
    yield (x(),)


@row
def dtype_of_a_net() -> Any:
    model = net()
    yield model, x()
    model.double()
    yield (x().double(),)
    model.float()
    yield (x(),)


@row
def state_is_loaded() -> Any:
    model = net()
    yield model, x()
    model.load_state_dict({k: v + 1 for k, v in model.state_dict().items()})
    yield (x(),)


@row
def parametrization() -> Any:
    class Twice(nn.Module):
        def forward(self, t: Any) -> Any:
            return t * 2

    model = net()
    yield model, x()
    nn.utils.parametrize.register_parametrization(model.first, "weight", Twice())
    yield (x(),)


@row
def class_of_a_module() -> Any:
    class Other(Net):
        def forward(self, t: Any) -> Any:
            return self.first(t)

    model = net()
    yield model, x()
    model.__class__ = Other
    yield (x(),)


@row
def module_list() -> Any:
    class Many(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
            self.named = nn.ModuleDict({"a": nn.Tanh()})

        def forward(self, t: Any) -> Any:
            for part in self.parts:
                t = part(t)
            for part in self.named.values():
                t = part(t)
            return t

    model = Many()
    yield model, x()
    model.parts.append(nn.Linear(3, 3))
    yield (x(),)
    model.named["b"] = nn.ReLU()
    yield (x(),)


def test_training_mode() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).train()
    compiled = tengen.compile(model)
    for mode in (True, False, True, False):
        model.train(mode)
        for _ in range(4):
            alike(compiled, model, x())


@pytest.mark.parametrize("name", TABLE.rows)
def test_row(name: str) -> None:
    TABLE.check(name)
