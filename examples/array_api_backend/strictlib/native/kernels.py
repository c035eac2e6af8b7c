"""Kernels that are more than an expression."""

from strictlib.strict import library

ones = library.ones


def total(self, dim, keepdim, dtype):
    self = self if dtype is None else library.cast(self, dtype)
    return library.xp.sum(self, axis=tuple(dim) if dim else None, keepdims=keepdim)
