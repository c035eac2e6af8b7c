"""Kernels of ``rms_scale``."""

import numpy as np


def check_dimensions(self):
    """RuntimeError for what has no dimension to be scaled along."""
    if not self.ndim:
        raise RuntimeError("expected at least one dimension, but self has none")


def rms_scale_forward(self, eps):
    """The scaled array, and what it was scaled by. RuntimeError for a number, which has no last dimension."""
    check_dimensions(self)
    rms = np.sqrt(np.square(self).mean(-1, keepdims=True) + eps)
    return self / rms, rms


def rms_scale_backward(grad_output, self, eps, rms):
    """The gradient for ``self``."""
    along = (grad_output * self).mean(-1, keepdims=True)
    return (grad_output - self * along / np.square(rms)) / rms
