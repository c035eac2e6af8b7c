"""Kernels of ``rms_scale``."""

import numpy as np


def rms_scale_forward(self, eps):
    """The scaled array, and what it was scaled by."""
    rms = np.sqrt(np.square(self).mean(-1, keepdims=True) + eps)
    return self / rms, rms


def rms_scale_backward(grad_output, self, eps, rms):
    """The gradient for ``self``."""
    along = (grad_output * self).mean(-1, keepdims=True)
    return (grad_output - self * along / np.square(rms)) / rms
