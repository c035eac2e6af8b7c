"""Shapes of products of vectors and matrices on the Meta device."""

from __future__ import annotations

import numpy as np

from .. import matmul
from .array import MetaArray

Number = bool | int | float | complex


def meta_mm(self: MetaArray, mat2: MetaArray) -> MetaArray:
    return MetaArray(matmul.mm_shape(self.shape, mat2.shape), self.dtype)


def meta_bmm(self: MetaArray, mat2: MetaArray) -> MetaArray:
    return MetaArray(matmul.bmm_shape(self.shape, mat2.shape), self.dtype)


def meta_batched_matmul(self: MetaArray, other: MetaArray) -> MetaArray:
    return MetaArray(matmul.batched_matmul_shape(self.shape, other.shape), self.dtype)


def meta_mv(self: MetaArray, vec: MetaArray) -> MetaArray:
    return MetaArray(matmul.mv_shape(self.shape, vec.shape), self.dtype)


def meta_dot(self: MetaArray, tensor: MetaArray) -> MetaArray:
    return MetaArray(matmul.dot_shape(self.shape, tensor.shape), self.dtype)


def meta_addmm(self: MetaArray, mat1: MetaArray, mat2: MetaArray, beta: Number, alpha: Number) -> MetaArray:
    return MetaArray(matmul.addmm_shape(self.shape, mat1.shape, mat2.shape), self.dtype)


def meta_addmv(self: MetaArray, mat: MetaArray, vec: MetaArray, beta: Number, alpha: Number) -> MetaArray:
    return MetaArray(matmul.addmv_shape(self.shape, mat.shape, vec.shape), self.dtype)


def meta_baddbmm(
    self: MetaArray, batch1: MetaArray, batch2: MetaArray, beta: Number, alpha: Number
) -> MetaArray:
    return MetaArray(matmul.baddbmm_shape(self.shape, batch1.shape, batch2.shape), self.dtype)


def meta_addbmm(
    self: MetaArray, batch1: MetaArray, batch2: MetaArray, beta: Number, alpha: Number
) -> MetaArray:
    return MetaArray(matmul.addbmm_shape(self.shape, batch1.shape, batch2.shape), self.dtype)


def meta_linear(input: MetaArray, weight: MetaArray, bias: MetaArray | None) -> MetaArray:
    shape = matmul.linear_shape(input.shape, weight.shape, None if bias is None else bias.shape)
    return MetaArray(shape, input.dtype)


def meta_linear_input_backward(grad_output: MetaArray, weight: MetaArray) -> MetaArray:
    return MetaArray(matmul.linear_input_shape(grad_output.shape, weight.shape), weight.dtype)


def meta_linear_weight_backward(grad_output: MetaArray, input: MetaArray) -> MetaArray:
    return MetaArray(matmul.linear_weight_shape(grad_output.shape, input.shape), input.dtype)


def meta_linalg_cross(self: MetaArray, other: MetaArray, dim: int) -> MetaArray:
    return MetaArray(matmul.cross_shape(self.shape, other.shape, dim), self.dtype)


def meta_trace(self: MetaArray) -> MetaArray:
    shape = matmul.trace_shape(self.shape)
    return MetaArray(shape, np.dtype(np.int64) if self.dtype.kind in "iu" else self.dtype)
