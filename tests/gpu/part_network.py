"""The network of examples/digits.py: a step of it on the GPU beside the CPU, and its training.

Where scikit-learn is not installed it learns patterns that are made here. ``epochs`` says for how long.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from worker import FAILED, Item

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits.py"
DEVICES = ("cpu", "cuda")


def items(options: Mapping[str, Any]) -> dict[str, Item]:
    return {
        "a step in float64 beside the CPU": a_step,
        "training": partial(training, options.get("epochs", 5)),
    }


@cache
def example() -> ModuleType:
    """The demo's module."""
    spec = importlib.util.spec_from_file_location("digits", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = sys.modules["digits"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def data() -> tuple[str, tuple[Any, ...]]:
    """What is learned, in words, and images and labels as the demo's ``digits`` gives them."""
    try:
        return "scikit-learn's digits", example().digits(0)
    except ImportError:
        return "ten patterns with noise", patterns(1797, 0)


def patterns(count: int, seed: int) -> tuple[Any, ...]:
    """As many images as there are digits: of each class one pattern, with noise as strong as itself."""
    import tengen

    source = np.random.default_rng(seed)
    labels = source.integers(0, 10, count)
    images = source.random((10, 1, 8, 8))[labels] + source.normal(0, 0.5, (count, 1, 8, 8))
    held_out = count // 5
    tensors = tengen.from_numpy(images.astype(np.float32)), tengen.from_numpy(labels)
    return (*(t[held_out:] for t in tensors), *(t[:held_out] for t in tensors))


def a_step() -> dict[str, Any]:
    """The loss of 64 images and its gradients are those of the CPU.

    A gradient is a sum over at most all images, all their places and all inputs of a layer, so that its
    error is below so many roundings of the greatest that is added up; the greatest gradient stands for it.
    """
    import tengen
    from tengen.nn import functional as F

    images, labels = data()[1][:2]
    found = {}
    for device in DEVICES:
        tengen.manual_seed(0)
        network = example().Network()  # of the same numbers on both
        parameters = [p.detach().double().to(device).requires_grad_() for p in network.parameters()]
        names = [*network.weights], [*network.biases]
        network.weights = dict(zip(names[0], parameters, strict=False))
        network.biases = dict(zip(names[1], parameters[len(names[0]) :], strict=True))
        loss = F.cross_entropy(network(images[:64].double().to(device)), labels[:64].to(device))
        gradients = tengen.autograd.grad(loss, parameters)
        found[device] = [t.detach().cpu().numpy() for t in (loss, *gradients)]
    errors = [float(np.max(np.abs(a - b)) / np.max(np.abs(a))) for a, b in zip(*found.values(), strict=True)]
    terms = 64 * 64 * max(math.prod(p.shape[1:]) for p in parameters)
    bound = terms * float(np.finfo(np.float64).eps)
    return {"outcome": "passed" if max(errors) < bound else FAILED, "error": max(errors), "bound": bound}


def training(epochs: int) -> dict[str, Any]:
    """Both learn as much of the same: their shares of what is recognised differ as samples do."""
    import tengen

    words, tensors = data()
    found: dict[str, Any] = {"data": words, "epochs": epochs}
    for device in DEVICES:
        tengen.manual_seed(0)
        images, labels, test_images, test_labels = (t.to(device) for t in tensors)
        network = example().Network(device)
        optimiser = tengen.optim.Adam(network.parameters())
        losses: list[float] = []
        seconds = []
        for _ in range(epochs):
            began = time.perf_counter()
            losses += example().epoch(network, optimiser, images, labels)  # each loss is waited for
            seconds.append(round(time.perf_counter() - began, 3))
        share, _ = example().accuracy(network, test_images, test_labels)
        found[device] = {"first": losses[0], "last": losses[-1], "share": share, "seconds": seconds}
    shares = [found[device]["share"] for device in DEVICES]
    mean = sum(shares) / 2
    deviation = math.sqrt(2 * mean * (1 - mean) / len(tensors[3]))
    # The first losses are those of the same numbers: float32, with a few thousand terms.
    same = abs(found["cpu"]["first"] - found["cuda"]["first"]) < 1e-3 * found["cpu"]["first"]
    guessing = 0.1 + 4 * math.sqrt(0.1 * 0.9 / len(tensors[3]))
    good = same and abs(shares[0] - shares[1]) <= 4 * deviation and min(shares) > guessing
    return {"outcome": "passed" if good else FAILED, **found}
