"""Layers of torch.nn as networks have them: a convnet, an LSTM, a decoder with a cache, bags, half types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from libraries import Tensors

from .workload import Rival, Workload, data, integers


def _with_parameters(library: Tensors, module: Any) -> Any:
    """The module with parameters that are the same in every library."""
    with library.m.no_grad():
        for number, parameter in enumerate(module.parameters()):
            shape = tuple(parameter.shape)
            scale = float(max(shape[-1], 1)) ** -0.5 if len(shape) > 1 else 0.1
            parameter.copy_(library.tensor(data(*shape, seed=number, scale=scale)))
    return module


def _trained(make: Callable[[Any], Any], *shape: int) -> Callable[[Tensors], Rival]:
    """Forward and backward of a module on an input of that shape."""

    def rival(library: Tensors) -> Rival:
        module = _with_parameters(library, make(library.m.nn))
        x = library.tensor(data(*shape, seed=100))

        def run() -> Any:
            module.zero_grad()
            out = module(x)
            loss = ((out[0] if isinstance(out, tuple) else out) ** 2).mean()
            loss.backward()
            return [loss, *[p.grad for p in module.parameters()]]

        return run

    return rival


def _convnet(nn: Any) -> Any:
    """Two residual-sized blocks of 64 channels."""
    layers = []
    for channels in (3, 64):
        layers += [nn.Conv2d(channels, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()]
    return nn.Sequential(*layers, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 16 * 16, 10))


# -- a step of a decoder, which keeps keys and values -------------------------------------------------

WIDTH, HEADS, KEPT, TEXTS = 256, 8, 128, 4


def _decoder(library: Tensors) -> Rival:
    nn, F, size = library.m.nn, library.F, WIDTH // HEADS
    module = nn.ModuleDict(
        {
            "first": nn.LayerNorm(WIDTH),
            "attend": nn.Linear(WIDTH, 3 * WIDTH),
            "project": nn.Linear(WIDTH, WIDTH),
            "second": nn.LayerNorm(WIDTH),
            "grow": nn.Linear(WIDTH, 4 * WIDTH),
            "shrink": nn.Linear(4 * WIDTH, WIDTH),
        }
    )
    parts = _with_parameters(library, module)
    x = library.tensor(data(TEXTS, 1, WIDTH, seed=100))
    keys, values = (library.tensor(data(TEXTS, HEADS, KEPT, size, seed=s)) for s in (101, 102))

    def run() -> Any:
        with library.m.no_grad():
            joint = parts["attend"](parts["first"](x)).view(TEXTS, 1, 3, HEADS, size).permute(2, 0, 3, 1, 4)
            q, k, v = joint.unbind(0)
            k, v = library.m.cat((keys, k), 2), library.m.cat((values, v), 2)
            heads = F.scaled_dot_product_attention(q, k, v)
            y = x + parts["project"](heads.transpose(1, 2).reshape(TEXTS, 1, WIDTH))
            return y + parts["shrink"](F.gelu(parts["grow"](parts["second"](y))))

    return run


# -- bags of words --------------------------------------------------------------------------------------

WORDS, VECTOR, BAGS, LONG = 10_000, 64, 256, 16


def _bags(library: Tensors) -> Rival:
    module = _with_parameters(library, library.m.nn.EmbeddingBag(WORDS, VECTOR, mode="mean"))
    words = library.tensor(integers(WORDS, BAGS, LONG, seed=100))

    def run() -> Any:
        module.zero_grad()
        loss = (module(words) ** 2).sum()
        loss.backward()
        return [loss, module.weight.grad]

    return run


# -- rows of half types ----------------------------------------------------------------------------------


def _half(dtype: str, program: Callable[[Tensors, Any], Any]) -> Callable[[Tensors], Rival]:
    def rival(library: Tensors) -> Rival:
        x = library.tensor(data(512, 512, seed=100)).to(getattr(library.m, dtype))
        return lambda: program(library, x).float()

    return rival


HALF: dict[str, Callable[[Tensors, Any], Any]] = {
    "softmax": lambda n, x: x.softmax(1),
    "layer_norm": lambda n, x: n.F.layer_norm(x, (512,)),
    "gelu": lambda n, x: n.F.gelu(x),
    "sum(1)": lambda n, x: x.sum(1),
}
#: A result of 8 or 11 bits may be rounded to either side.
TOLERANCES = {"bfloat16": 2**-7, "float16": 2**-10}

LAYERS = (
    Workload(
        "convnet 64",
        "convnet, 64 channels at 32x32",
        _trained(_convnet, 8, 3, 32, 32),
        None,
        0.8,
        1.0,
        tolerance=1e-3,
    ),
    Workload(
        "lstm", "LSTM 64-128, 32 steps", _trained(lambda nn: nn.LSTM(64, 128), 32, 8, 64), None, 0.8, 1.0
    ),
    Workload("decoder", "decoder step with a cache", _decoder, None, 0.8, 1.0),
    Workload("embedding bag", "embedding bag", _bags, None, 0.8, 1.0),
    *(
        Workload(
            f"half: {name} {dtype}",
            "half types 512x512",
            _half(dtype, program),
            None,
            0.7,
            1.1,
            tolerance=tolerance,
        )
        for dtype, tolerance in TOLERANCES.items()
        for name, program in HALF.items()
    ),
)
