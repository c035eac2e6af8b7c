"""A network made of the operators learns, and its pieces behave as a training loop expects."""

from __future__ import annotations

import gc
import weakref

import numpy as np

import tengen
from tengen import Tensor
from tengen.nn import functional as F


def stripes(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Noisy images of horizontal, vertical and diagonal stripes, and which of these each is."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, count)
    y, x = np.mgrid[:8, :8]
    patterns = np.stack([y % 4 < 2, x % 4 < 2, (x + y) % 4 < 2]).astype(np.float32)
    shifts = rng.integers(0, 4, count)
    images = np.stack([np.roll(patterns[k], (s, s), (0, 1)) for k, s in zip(labels, shifts, strict=True)])
    images = images + 0.3 * rng.standard_normal(images.shape)
    return tengen.from_numpy(images[:, None].astype(np.float32)), tengen.from_numpy(labels)


def parameters(seed: int) -> list[Tensor]:
    """Weights and biases of a convolution and a linear layer, and the norm's scale and shift."""
    tengen.manual_seed(seed)
    return [
        (tengen.randn(8, 1, 3, 3) / 3).requires_grad_(),
        tengen.ones(8, requires_grad=True),
        tengen.zeros(8, requires_grad=True),
        (tengen.randn(3, 8 * 4 * 4) / 8).requires_grad_(),
        tengen.zeros(3, requires_grad=True),
    ]


def logits(images: Tensor, p: list[Tensor], running: tuple[Tensor, Tensor], training: bool) -> Tensor:
    x = F.conv2d(images, p[0], padding="same")
    x = F.relu(F.batch_norm(x, *running, p[1], p[2], training))
    return F.linear(F.max_pool2d(x, 2).flatten(1), p[3], p[4])


def test_a_network_learns() -> None:
    images, labels = stripes(240, 0)
    p = parameters(0)
    running = tengen.zeros(8), tengen.ones(8)
    losses = []
    for step in range(40):
        batch = slice(step % 4 * 60, step % 4 * 60 + 60)
        loss = F.cross_entropy(logits(images[batch], p, running, True), labels[batch])
        loss.backward()
        losses.append(loss.item())
        with tengen.no_grad():
            for q in p:
                q -= 0.1 * q.grad
                q.grad = None
    assert losses[-1] < 0.1 * losses[0]
    test_images, test_labels = stripes(120, 1)
    with tengen.no_grad():
        guesses = logits(test_images, p, running, False).argmax(1)
    assert (guesses == test_labels).to(tengen.float32).mean().item() > 0.95


def test_statistics_may_move_between_forward_and_backward() -> None:
    """Batch normalisation does not keep the running statistics that it changes."""
    p, running = parameters(1), (tengen.zeros(8), tengen.ones(8))
    images, labels = stripes(10, 2)
    first = F.cross_entropy(logits(images, p, running, True), labels)
    second = F.cross_entropy(logits(images, p, running, True), labels)
    (first + second).backward()
    assert all(q.grad is not None for q in p)
    assert running[0]._version == running[1]._version > 0


def test_dropping_the_loss_frees_the_graph() -> None:
    p, running = parameters(1), (tengen.zeros(8), tengen.ones(8))
    images, labels = stripes(10, 2)
    gc.collect()
    gc.disable()
    try:
        out = logits(images, p, running, True)
        loss = F.cross_entropy(out, labels)
        alive = weakref.ref(out)
        del out
        loss.backward()
        del loss
        assert alive() is None
    finally:
        gc.enable()


def test_a_bias_may_change_between_forward_and_backward() -> None:
    """A convolution's gradients do not depend on its bias, so it is not kept."""
    x, w = tengen.randn(1, 2, 4, 4, requires_grad=True), tengen.randn(3, 2, 3, 3)
    bias = tengen.zeros(3, requires_grad=True)
    out = F.conv2d(x, w, bias).sum()
    with tengen.no_grad():
        bias += 1
    out.backward()
    assert bias.grad is not None and bias.grad.tolist() == [4.0] * 3
