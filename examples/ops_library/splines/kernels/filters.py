"""Kernels: arrays in, arrays out."""

import numpy as np


def moving_average(self, weight, dim):
    """``out[i] = (1 - weight) * out[i - 1] + weight * self[i]`` along ``dim``, with 0 before the first."""
    source = np.moveaxis(np.atleast_1d(self), dim, 0)
    out = np.empty_like(source)
    state = np.zeros(source.shape[1:], source.dtype)
    for i, values in enumerate(source):
        state = out[i] = (1 - weight) * state + weight * values
    return np.moveaxis(out, 0, dim).reshape(self.shape)


def moving_average_backward(grad_output, weight, dim):
    """The same from the last element to the first."""
    flipped = np.flip(np.atleast_1d(grad_output), dim)
    return np.flip(moving_average(flipped, weight, dim), dim).reshape(grad_output.shape)
