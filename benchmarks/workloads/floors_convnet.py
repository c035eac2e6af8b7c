"""The floor of training.py's convnet: channels before images, so that a convolution is one product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .floors_training import CrossEntropy, Linear, _floats, _like
from .workload import Rival


class Convolution:
    """3x3 with padding 1, then the greatest of each 2x2, the bias, relu; arrays are (channels, n, h, w).

    The bias and relu come last because they change no order; so they have a quarter of the elements.
    """

    def __init__(self, w: np.ndarray, n: int, side: int) -> None:
        outs, ins = w.shape[:2]
        self.padded = np.zeros((ins, n, side + 2, side + 2), "float32")
        self.columns = _floats(ins, 3, 3, n, side, side)
        self.pairs = self._windows(self.padded, side)
        self.inside = self.padded[:, :, 1:-1, 1:-1]
        self.of_padded = np.empty_like(self.padded)
        self.of_pairs = self._windows(self.of_padded, side)
        self.full, self.grad = (_floats(outs, n, side, side) for _ in range(2))
        corners = [(slice(i, None, 2), slice(j, None, 2)) for i in range(2) for j in range(2)]
        self.corners = [(self.full[:, :, a, b], self.grad[:, :, a, b]) for a, b in corners]
        self.out, self.of_out = (_floats(outs, n, side // 2, side // 2) for _ in range(2))
        self.chosen = np.empty(self.out.shape, bool)
        self.flat = self.columns.reshape(ins * 9, -1)

    def _windows(self, padded: np.ndarray, side: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Each part of the columns with the part of the images that it is of."""
        return [
            (self.columns[:, i, j], padded[:, :, i : i + side, j : j + side])
            for i in range(3)
            for j in range(3)
        ]

    def forward(self, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        np.copyto(self.inside, x)
        for column, window in self.pairs:
            np.copyto(column, window)
        np.dot(w.reshape(len(w), -1), self.flat, out=self.full.reshape(len(w), -1))
        (first, _), *others = self.corners
        np.copyto(self.out, first)
        for corner, _ in others:
            np.maximum(self.out, corner, out=self.out)
        np.copyto(self.of_out, self.out)  # the greatest, before the bias
        np.add(self.out, b[:, None, None, None], out=self.out)
        return np.maximum(self.out, 0, out=self.out)

    def backward(self, grad: np.ndarray, w: np.ndarray, of_w: np.ndarray, of_b: np.ndarray) -> None:
        """The gradients of weight and bias; ``grad`` is overwritten, ``self.grad`` that of the products."""
        np.multiply(grad, np.greater(self.out, 0, out=self.chosen), out=grad)
        np.add.reduce(grad.reshape(len(w), -1), 1, None, of_b)
        for corner, of_corner in self.corners:
            np.multiply(grad, np.equal(corner, self.of_out, out=self.chosen), out=of_corner)
        np.dot(self.grad.reshape(len(w), -1), self.flat.T, out=of_w.reshape(len(w), -1))

    def backward_input(self, w: np.ndarray) -> np.ndarray:
        """The gradient of the input, after ``backward``: a view of a buffer."""
        np.dot(w.reshape(len(w), -1).T, self.grad.reshape(len(w), -1), out=self.flat)
        self.of_padded.fill(0)
        for column, window in self.of_pairs:
            np.add(window, column, out=window)
        return self.of_padded[:, :, 1:-1, 1:-1]


def convnet(x: np.ndarray, labels: np.ndarray, parameters: Sequence[np.ndarray]) -> Rival:
    """The loss, and its gradient in all parameters."""
    w1, b1, w2, b2, w3, b3 = parameters
    grads = _like(parameters)
    n, side = len(x), x.shape[-1]
    images = x.transpose(1, 0, 2, 3).copy()
    first, second = Convolution(w1, n, side), Convolution(w2, n, side // 2)
    linear, loss = Linear(n, w3), CrossEntropy(labels, len(b3))
    features, grad1 = _floats(n, w3.shape[1]), np.empty_like(first.out)
    by_image = features.reshape(n, *second.out[:, 0].shape).transpose(1, 0, 2, 3)
    of_features = linear.grad.reshape(n, *second.out[:, 0].shape).transpose(1, 0, 2, 3)

    def run() -> Any:
        np.copyto(by_image, second.forward(first.forward(images, w1, b1), w2, b2))
        found = loss(linear.forward(features, w3, b3))
        linear.backward(loss.gradient, features, w3, grads[4], grads[5])
        second.backward(of_features, w2, grads[2], grads[3])
        np.copyto(grad1, second.backward_input(w2))
        first.backward(grad1, w1, grads[0], grads[1])
        return [found, *grads]

    return run
