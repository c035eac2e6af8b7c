"""Independent computations, over NumPy arrays, that the tests compare the operators with."""

import numpy as np


def moving_average(array, weight, dim):
    """The weighted sums, written as a product with the matrix of weights."""
    moved = np.moveaxis(np.atleast_1d(array), dim, 0)
    ages = np.subtract.outer(np.arange(len(moved)), np.arange(len(moved)))
    weights = np.where(ages >= 0, weight * (1.0 - weight) ** np.maximum(ages, 0), 0)
    return np.moveaxis(np.tensordot(weights, moved, 1), 0, dim).reshape(array.shape)


def bump(array, width):
    """The hill, piece by piece."""
    height = np.where(np.abs(array) < width, 1 - np.abs(array) / width, 0)
    return height * height * (3 - 2 * height)
