"""Operators that are contractions, over arrays of any library."""

from __future__ import annotations

from typing import Any

from ..contractions import Contraction, Matrices, Plan
from .common import Array, is_bool, is_complex, is_integral, number_of

Number = bool | int | float | complex


def contract(xp: Any, form: Contraction, *operands: Any) -> Array:
    """What ``form.numpy`` gives of NumPy's arrays, and its errors."""
    count = len(form.factors) + (form.added is not None)
    arrays, numbers = operands[:count], operands[count:]
    shapes = [None if a is None else tuple(a.shape) for a in arrays]
    shape = form.shapes(*shapes)
    first, second = [
        xp.conj(arrays[n]) if conjugated and is_complex(xp, arrays[n]) else arrays[n]
        for n, conjugated in zip(form.factors, form.conjugated, strict=True)
    ]
    plan = form.made(*shapes)
    product = _of_batches(xp, plan, first, second, shape) if plan.batch else _of_rows(xp, plan, first, second)
    added = None if form.added is None else arrays[form.added]
    return product if added is None else _sum(xp, added, product, *numbers)


def _of_rows(xp: Any, plan: Plan, first: Array, second: Array) -> Array:
    """The product of operands without batches."""
    if plan.first.dims == plan.second.dims == (1, 1) and not (plan.first.turned or plan.second.turned):
        return xp.matmul(first, second)
    product = xp.tensordot(first, second, axes=plan.axes)
    return product if plan.order is None else xp.permute_dims(product, tuple(plan.order))


def _of_batches(xp: Any, plan: Plan, first: Array, second: Array, shape: tuple[int, ...]) -> Array:
    """The products of batches of matrices."""
    product = xp.matmul(_matrices(xp, plan.first, first), _matrices(xp, plan.second, second))
    made = plan.made(shape)
    product = product if tuple(product.shape) == made else xp.reshape(product, made)
    return product if plan.order is None else xp.permute_dims(product, tuple(plan.order))


def _matrices(xp: Any, of: Matrices, operand: Array) -> Array:
    """An operand as batches of matrices."""
    if of.axes is not None:
        operand = xp.permute_dims(operand, tuple(of.axes))
    sizes = of.sizes(tuple(operand.shape))
    operand = operand if tuple(operand.shape) == sizes else xp.reshape(operand, sizes)
    return xp.matrix_transpose(operand) if of.turned else operand


def _sum(xp: Any, added: Array, product: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * added + alpha * product``; with a beta of 0 nothing of ``added`` counts, NaN neither."""
    if is_integral(xp, product) or is_bool(xp, product):
        alpha, beta = number_of(alpha, product.dtype, xp), number_of(beta, product.dtype, xp)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return product + (added if beta == 1 else added * beta)
