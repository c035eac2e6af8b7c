"""Trains a small convolutional network on scikit-learn's handwritten digits.

    python examples/digits.py [--epochs N] [--device cuda] [--output FILE]

Prints the accuracy on digits it has not seen, and saves a picture of the loss curve and of some of
them with what it took them for. Needs scikit-learn, matplotlib and tqdm, each imported where it is
used; the digits come with scikit-learn, so nothing is downloaded.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import tengen
from tengen import Tensor, optim
from tengen.nn import functional as F

CLASSES = 10


class Network:
    """Two convolutions, pooling and two linear layers: (N, 1, 8, 8) to the logits of ten classes."""

    def __init__(self, device: str = "cpu") -> None:
        shapes = {
            "conv1": (16, 1, 3, 3),
            "conv2": (32, 16, 3, 3),
            "linear1": (64, 32 * 4 * 4),
            "linear2": (CLASSES, 64),
        }
        self.weights = {name: self._initial(shape, device) for name, shape in shapes.items()}
        self.biases = {
            name: tengen.zeros(shape[0], device=device, requires_grad=True) for name, shape in shapes.items()
        }

    @staticmethod
    def _initial(shape: tuple[int, ...], device: str) -> Tensor:
        """Normal with the variance that keeps a relu network's activations as large as its input."""
        fan_in = math.prod(shape[1:])
        return (tengen.randn(shape, device=device) * math.sqrt(2 / fan_in)).requires_grad_()

    def parameters(self) -> list[Tensor]:
        return [*self.weights.values(), *self.biases.values()]

    def __call__(self, images: Tensor, training: bool = False) -> Tensor:
        w, b = self.weights, self.biases
        x = F.relu(F.conv2d(images, w["conv1"], b["conv1"], padding=1))
        x = F.relu(F.conv2d(x, w["conv2"], b["conv2"], padding=1))
        x = F.max_pool2d(x, 2).flatten(1)
        x = F.dropout(F.relu(F.linear(x, w["linear1"], b["linear1"])), 0.3, training)
        return F.linear(x, w["linear2"], b["linear2"])


def digits(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Images and labels to learn from, and a fifth of all to test with."""
    from sklearn.datasets import load_digits

    data = load_digits()
    order = np.random.default_rng(seed).permutation(len(data.target))
    images = tengen.from_numpy((data.images[order, None] / 16.0).astype(np.float32))
    labels = tengen.from_numpy(data.target[order].astype(np.int64))
    held_out = len(order) // 5
    return images[held_out:], labels[held_out:], images[:held_out], labels[:held_out]


def batches(labels: Tensor, size: int) -> Iterator[Tensor]:
    """Indices of the samples, shuffled, ``size`` at a time."""
    count = len(labels)
    order = tengen.randperm(count, device=labels.device)
    for start in range(0, count, size):
        yield order[start : start + size]


def accuracy(network: Network, images: Tensor, labels: Tensor) -> tuple[float, Tensor]:
    """The share of images that are recognised, and the class given to each."""
    with tengen.no_grad():
        guesses = network(images).argmax(1)
    return (guesses == labels).to(tengen.float32).mean().item(), guesses


def epoch(network: Network, optimiser: optim.Optimizer, images: Tensor, labels: Tensor) -> list[float]:
    """Learn from each image once; the loss of every batch."""
    losses: list[float] = []
    for chosen in batches(labels, 64):
        loss = F.cross_entropy(network(images[chosen], training=True), labels[chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def train(network: Network, images: Tensor, labels: Tensor, epochs: int) -> list[float]:
    """The loss of every batch."""
    from tqdm import tqdm

    optimiser = optim.Adam(network.parameters())
    losses: list[float] = []
    progress = tqdm(range(epochs), desc="training", unit="epoch")
    for _ in progress:
        losses += epoch(network, optimiser, images, labels)
        progress.set_postfix(loss=f"{np.mean(losses[-20:]):.3f}")
    return losses


def picture(losses: list[float], images: Tensor, labels: Tensor, guesses: Tensor, path: str) -> None:
    """The loss curve, and digits with what they were taken for: mistakes first, in red."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 4.2), layout="constrained")
    panels: Any = figure.subfigures(1, 2, width_ratios=[1, 1.15])
    left, right = panels
    axes = left.subplots()
    axes.semilogy(losses, color="tab:blue", alpha=0.3, linewidth=0.8, label="each batch")
    smooth = np.convolve(losses, np.ones(20) / 20, mode="valid")
    axes.semilogy(np.arange(len(smooth)) + 19, smooth, color="tab:blue", label="mean of 20")
    axes.set(xlabel="batch", ylabel="cross entropy", title="Training loss")
    axes.legend()
    truth, given = labels.cpu().numpy(), guesses.cpu().numpy()
    first = np.argsort(truth == given, kind="stable")[:24]
    for axes, index in zip(right.subplots(3, 8).flat, first, strict=True):
        axes.imshow(images[int(index), 0].cpu().numpy(), cmap="gray_r")
        wrong = truth[index] != given[index]
        axes.set_title(
            f"{given[index]} (is {truth[index]})" if wrong else str(given[index]),
            color="tab:red" if wrong else "black",
            fontsize=9,
        )
        axes.axis("off")
    right.suptitle("Digits it had not seen, and its guesses")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a small convolutional network on handwritten digits.")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--device", default="cpu", help="where it is computed")
    parser.add_argument("--output", default="digits.png", help="where the picture goes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    tengen.manual_seed(options.seed)
    images, labels, test_images, test_labels = (t.to(options.device) for t in digits(options.seed))
    network = Network(options.device)
    began = time.perf_counter()
    losses = train(network, images, labels, options.epochs)
    score, guesses = accuracy(network, test_images, test_labels)
    print(f"trained on {len(labels)} digits in {time.perf_counter() - began:.1f} s")
    print(f"test accuracy: {score:.2%} of {len(test_labels)} digits")
    picture(losses, test_images, test_labels, guesses, options.output)
    print(f"picture: {options.output}")


if __name__ == "__main__":
    main()
