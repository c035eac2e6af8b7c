"""The names that ``dir`` shows of PyTorch's modules and of Tensor, kept in public.json.

``python tests/names/public_names.py`` asks torch anew and writes the file.
"""

from __future__ import annotations

import json
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

from recorded_names import AUTOGRAD, DISTRIBUTIONS

FILE = Path(__file__).resolve().with_name("public.json")

#: What users open: "" is the package itself.
PLACES = (
    "",
    "Tensor",
    "amp",
    "amp.autocast_mode",
    "amp.grad_scaler",
    *AUTOGRAD,
    "autograd.profiler_util",
    "autograd.variable",
    "accelerator",
    "backends",
    "backends.cpu",
    "backends.cuda",
    "backends.mha",
    "backends.mkl",
    "backends.mps",
    "backends.nnpack",
    "backends.openmp",
    "compiler",
    "cpu",
    "cpu.amp",
    "cuda",
    "cuda.amp",
    "distributed",
    *DISTRIBUTIONS,
    "fft",
    "func",
    "functional",
    "hub",
    "jit",
    "library",
    "linalg",
    "masked",
    "masked.maskedtensor",
    "mps",
    "nested",
    "nn",
    "nn.attention",
    "nn.attention.flex_attention",
    "nn.functional",
    "nn.init",
    "nn.modules",
    "nn.modules.activation",
    "nn.modules.adaptive",
    "nn.modules.batchnorm",
    "nn.modules.channelshuffle",
    "nn.modules.container",
    "nn.modules.conv",
    "nn.modules.distance",
    "nn.modules.dropout",
    "nn.modules.flatten",
    "nn.modules.fold",
    "nn.modules.instancenorm",
    "nn.modules.lazy",
    "nn.modules.linear",
    "nn.modules.loss",
    "nn.modules.module",
    "nn.modules.normalization",
    "nn.modules.padding",
    "nn.modules.pixelshuffle",
    "nn.modules.pooling",
    "nn.modules.rnn",
    "nn.modules.sparse",
    "nn.modules.transformer",
    "nn.modules.upsampling",
    "nn.grad",
    "nn.parallel",
    "nn.parallel.comm",
    "nn.parameter",
    "nn.utils",
    "nn.utils.clip_grad",
    "nn.utils.convert_parameters",
    "nn.utils.fusion",
    "nn.utils.init",
    "nn.utils.memory_format",
    "nn.utils.parametrizations",
    "nn.utils.parametrize",
    "nn.utils.prune",
    "nn.utils.rnn",
    "nn.utils.stateless",
    "onnx",
    "onnx.errors",
    "optim",
    "optim.adadelta",
    "optim.adagrad",
    "optim.adam",
    "optim.adamax",
    "optim.adamw",
    "optim.asgd",
    "optim.lbfgs",
    "optim.lr_scheduler",
    "optim.nadam",
    "optim.optimizer",
    "optim.radam",
    "optim.rmsprop",
    "optim.rprop",
    "optim.sgd",
    "optim.sparse_adam",
    "optim.swa_utils",
    "overrides",
    "profiler",
    "profiler.profiler",
    "quasirandom",
    "random",
    "serialization",
    "signal",
    "signal.windows",
    "sparse",
    "special",
    "testing",
    "utils",
    "utils.checkpoint",
    "utils.flop_counter",
    "utils.hooks",
    "utils.module_tracker",
    "utils.data",
    "utils.data.dataloader",
    "utils.data.dataset",
    "utils.data.distributed",
    "utils.data.sampler",
    "utils.dlpack",
    "utils.weak",
    "xpu",
)


def recorded() -> dict[str, set[str]]:
    """What is kept: by places, the names."""
    found: dict[str, list[str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return {place: set(" ".join(lines).split()) for place, lines in found.items()}


def at(package: Any, place: str) -> Any:
    """The module, or the class, of a package."""
    if place == "Tensor":
        return package.Tensor
    return import_module(f"{package.__name__}.{place}") if place else package


def public(names: Any) -> set[str]:
    """Those without an underscore in front."""
    return {name for name in names if not name.startswith("_")}


def of_torch() -> dict[str, set[str]]:
    """The names as torch has them. It must be installed."""
    import torch

    found = {place: public(dir(at(torch, place))) for place in PLACES}
    found[""] |= {place.split(".")[0] for place in PLACES if place}  # some are only there once imported
    return found


if __name__ == "__main__":
    lines = {place: textwrap.wrap(" ".join(sorted(names)), 100) for place, names in of_torch().items()}
    FILE.write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
