"""Kernels of ``rms_scale``."""

import numpy as np


def check_dimensions(self):
    """RuntimeError for what has no dimension to be scaled along."""
    if not self.ndim:
        raise RuntimeError("expected at least one dimension, but self has none")


def _mean_of_rows(array):
    """NaN for rows of nothing, of which NumPy's own mean warns."""
    return array.sum(-1, keepdims=True) / array.shape[-1]


def rms_scale_forward(self, eps):
    """The scaled array, and what it was scaled by. RuntimeError for a number, which has no last dimension."""
    check_dimensions(self)
    rms = np.sqrt(_mean_of_rows(np.square(self)) + eps)
    return self / rms, rms


def rms_scale_backward(grad_output, self, eps, rms):
    """The gradient for ``self``."""
    along = _mean_of_rows(grad_output * self)
    return (grad_output - self * along / np.square(rms)) / rms
