"""What functions do to a MaskedTensor.

What an operator is declared to be says most of it: a pointwise one computes on the data, a view moves data
and mask. The rest has a function here, of the same name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tengen.generated import functions, internal_functions
from tengen.generated.tensor_methods import SPECIAL

from ..autograd import grad as gradients
from ..core.function_dispatch import NO_ARGUMENTS, at_level
from ..core.memory_format import contiguous_format, sparse_coo, sparse_csr, strided
from ..core.user_stack import program_stacklevel
from ..dispatch import calls
from ..dispatch.operator import Operator, operator as operator_named, overloads, table
from ..func.batching_rules import Pointwise, rule_of
from ..tensors.casts import TensorCasts
from ..tensors.tensor import Tensor
from . import normalizations, reductions
from .maskedtensor import (
    MaskedTensor,
    dense,
    is_masked_tensor,
    mapped,
    masked_among,
    same,
    same_mask,
    same_rows,
    with_mask,
    wrap,
)

_UNKNOWN = (
    "{} is not implemented for MaskedTensor. Where it is clear what it should do, compute with get_data() "
    "and get_mask()."
)
_MATCH = "Input masks must match. If you need support for this, please open an issue on Github."


def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a public function or method of Tensor with MaskedTensors among its arguments."""
    name = getattr(func, "__name__", "")
    known = _KNOWN.get(name)
    if known is not None:
        return known(func, *args, **kwargs)
    if name in vars(TensorCasts):
        return with_mask(_call(func, args, kwargs, _data), _mask(args[0]))
    if name in table().OVERLOADS:
        return _run_operator(name, func, args, kwargs)
    plain = SPECIAL.get(f"__{name[3:]}", "") if name in SPECIAL else ""
    if plain and _is_pointwise(overloads(plain, False)[0]):  # a number or tensor with a MaskedTensor behind
        return _pointwise(func, args, kwargs, False)
    result = _call(func, args, kwargs)
    # What asks for no elements, such as the shape.
    return _unknown(name) if _lost(result) else result


def _lost(result: Any) -> bool:
    """Whether among results there is a tensor that should have a mask."""
    if isinstance(result, (list, tuple)):
        return any([_lost(each) for each in result])
    return isinstance(result, Tensor) and not is_masked_tensor(result)


def _call(func: Any, args: Any, kwargs: dict[str, Any], part: Any = None) -> Any:
    """A call of a plain function, with the data or another part of MaskedTensors in their places."""
    with at_level(NO_ARGUMENTS):
        if part is None:
            return func(*args, **kwargs)
        given = [mapped(value, part) for value in args]
        return func(*given, **{k: mapped(v, part) for k, v in kwargs.items()})


def _data(value: MaskedTensor) -> Tensor:
    return value._masked_data


def _mask(value: MaskedTensor) -> Tensor:
    return value._masked_mask


def _unknown(name: str) -> Any:
    warnings.warn(_UNKNOWN.format(name), UserWarning, stacklevel=program_stacklevel())
    return NotImplemented


# -- by what an operator is ---------------------------------------------------------------


def _run_operator(name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    out = kwargs.get("out") is not None
    with at_level(NO_ARGUMENTS):
        found = calls.chosen_overload(name, args, kwargs)
    operator = overloads(name, out)[0] if found is None else found[0]
    if _is_pointwise(operator) and not out:
        return _pointwise(func, args, kwargs, operator.kind == "inplace")
    if operator.kind == "view":
        return _moved(func, args, kwargs)
    if operator.decomposes and found is not None and not out:
        result = operator.proceed(*found[1])  # it calls others, which come here
        return _unknown(name) if _lost(result) else result
    return _unknown(name)


def _is_pointwise(operator: Operator) -> bool:
    base = operator_named(operator.base or "") if operator.kind == "inplace" else operator
    return type(rule_of(base)) is Pointwise


def _pointwise(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], in_place: bool) -> Any:
    """The function of the data. ValueError where masks or sparse indices are not alike."""
    masked = masked_among((*args, *kwargs.values()))
    first = masked[0]
    if not all([same_mask(_mask(first), _mask(other)) for other in masked[1:]]):
        raise ValueError(_MATCH)
    if in_place and args[0] is not first:
        raise TypeError(f"{func.__name__}: a plain tensor cannot be written to by a MaskedTensor")
    layout = _data(first).layout
    if layout is strided:
        result = _call(func, args, kwargs, _data)
        if in_place:
            return args[0]
        return wrap(result, _mask(first).expand(result.shape))
    values = _call(func, args, kwargs, lambda value: _values_like(first, value))
    result = _stored_as(_data(first), values)
    if in_place:
        args[0]._masked_data = result
        return args[0]
    return wrap(result, _mask(first))


def _values_like(first: MaskedTensor, value: MaskedTensor) -> Tensor:
    """The stored values of an operand, which must be those of the same elements."""
    a, b = _data(first), _data(value)
    matches = same(a.indices(), b.indices()) if a.layout is sparse_coo else same_rows(a, b)
    if not matches:
        raise ValueError(
            f"{a.layout} indices must match. If you need support for this, please open an issue on Github."
        )
    if a.shape != b.shape:
        raise ValueError("input1 and input2 must have the same size for binary functions.")
    return b.values()


def _stored_as(like: Tensor, values: Tensor) -> Tensor:
    """A sparse tensor with other values."""
    if like.layout is sparse_csr:
        from ..tensors.compressed_creation import sparse_csr_tensor

        return sparse_csr_tensor(like.crow_indices(), like.col_indices(), values, like.shape)
    from ..tensors.sparse_creation import sparse_coo_tensor

    return sparse_coo_tensor(like.indices(), values, like.shape, is_coalesced=True)


def _moved(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Data and mask, moved alike. They are copied: a MaskedTensor is no view of another."""
    return _paired(_call(func, args, kwargs, _data), _call(func, args, kwargs, _mask))


def _paired(data: Any, mask: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return type(data)([_paired(d, m) for d, m in zip(data, mask, strict=True)])
    return wrap(data.clone(), mask.clone())


# -- by name -----------------------------------------------------------------------------

#: What functions of these names do: they are given the function and its arguments.
_KNOWN: dict[str, Callable[..., Any]] = {}


def _knows(rule: Callable[..., Any]) -> Callable[..., Any]:
    _KNOWN[rule.__name__] = rule
    return rule


for _function in (
    functions.cat,
    functions.stack,
    internal_functions.col2im,
    internal_functions.im2col,
    functions.select_copy,
    Tensor.__getitem__,
):
    _KNOWN[_function.__name__] = lambda func, *args, **kwargs: _moved(func, args, kwargs)


@_knows
def where(func: Any, condition: Tensor, self: Any, other: Any) -> Any:
    """Data and mask of one or the other; plain tensors are masked nowhere. A MaskedTensor is no condition."""
    if is_masked_tensor(condition):
        raise ValueError("where: expected the condition to be a Tensor, but got a MaskedTensor")
    parts = [v if is_masked_tensor(v) else _unmasked(v, condition) for v in (self, other)]
    one, two = parts
    data = functions.where(condition, _data(one), _data(two))
    return wrap(data, functions.where(condition, _mask(one), _mask(two)))


def _unmasked(value: Any, like: Tensor) -> MaskedTensor:
    if not isinstance(value, Tensor):
        value = functions.full((), value, device=like.device)
    return wrap(value, functions.ones_like(value, dtype=bool))


@_knows
def contiguous(func: Any, self: MaskedTensor, memory_format: Any = contiguous_format) -> Any:
    """The tensor itself where its data is; else data and mask in the order of the indices."""
    if self.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    if _data(self).is_contiguous(memory_format=memory_format):
        return self
    return wrap(_data(self).contiguous(memory_format=memory_format), _mask(self).contiguous())


@_knows
def is_contiguous(func: Any, self: MaskedTensor, *args: Any, **kwargs: Any) -> bool:
    """Whether the data is; ValueError for sparse data."""
    if self.is_sparse:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    return _data(self).is_contiguous(*args, **kwargs)


@_knows
def to_dense(func: Any, self: MaskedTensor) -> Any:
    """Both strided: what is not stored is masked out."""
    return wrap(_data(self).to_dense(), _mask(self).to_dense()) if self.is_sparse else self


@_knows
def to_sparse(func: Any, self: MaskedTensor) -> Any:
    """The elements that count in coordinate format."""
    if self.is_sparse_coo():
        return self
    mask = dense(_mask(self)).to_sparse().coalesce()
    return wrap(dense(_data(self)).sparse_mask(mask), mask)


@_knows
def to_sparse_csr(func: Any, self: MaskedTensor) -> Any:
    """The elements that count in rows. ValueError for what is no matrix."""
    if _data(self).ndim != 2:
        raise ValueError(
            f"Only 2D tensors can be converted to the SparseCsr layout but got shape: {_data(self).size()}"
        )
    if self.is_sparse_csr():
        return self
    mask = dense(_mask(self)).to_sparse_csr()
    return wrap(dense(_data(self)).sparse_mask(mask), mask)


@_knows
def values(func: Any, self: MaskedTensor) -> Any:
    """The stored values and their mask."""
    return wrap(_call(func, (self,), {}, _data), _call(func, (self,), {}, _mask))


@_knows
def indices(func: Any, self: MaskedTensor) -> Any:
    """The stored indices, masked nowhere."""
    return _unmasked(_call(func, (self,), {}, _data), self)


@_knows
def clone(func: Any, self: MaskedTensor, **kwargs: Any) -> Any:
    """The data copied, with the same mask."""
    return wrap(_call(func, (self,), kwargs, _data), _mask(self))


@_knows
def ones_like(func: Any, self: MaskedTensor, **kwargs: Any) -> Any:
    """Ones, with the same mask."""
    return wrap(_call(func, (self,), kwargs, _data), _mask(self))


@_knows
def copy_(func: Any, self: Any, src: Any, non_blocking: bool = False) -> Any:
    """The data written over. ValueError where masks are not alike."""
    if is_masked_tensor(self) and is_masked_tensor(src) and not same_mask(_mask(self), _mask(src)):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    _call(func, (self, src), {}, _data)
    return self


@_knows
def softmax(func: Any, input: MaskedTensor, dim: int, *args: Any, dtype: Any = None, **rest: Any) -> Any:
    """Over the elements that count."""
    found = normalizations.softmax(_data(input), dim, dtype=dtype, mask=_mask(input))
    return wrap(found, _mask(input))


@_knows
def grad(func: Any, outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """Of ``autograd.grad``: the gradients of MaskedTensors have their masks."""
    found = _call(gradients, (outputs, inputs, *args), kwargs, _data)
    asked = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    return tuple(
        [
            with_mask(g, _mask(i)) if g is not None and is_masked_tensor(i) else g
            for g, i in zip(found, asked, strict=True)
        ]
    )


@_knows
def backward(func: Any, *args: Any, **kwargs: Any) -> Any:
    """That of the data."""
    return _call(func, args, kwargs, _data)


# -- reductions ---------------------------------------------------------------------------


def all_of(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor
) -> Tensor:
    """Whether all elements that ``mask`` leaves are True."""
    kept = input.masked_fill(~mask, True)
    return kept.all() if dim is None else kept.all(dim, keepdim)


def _reduction(name: str, reduce: Callable[..., Tensor]) -> Callable[..., Any]:
    """The rule of a reduction: over everything without more arguments, else over ``dim``."""

    def rule(func: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return _reduce_all(reduce, args[0])
        return _reduce_dim(name, reduce, *args, **kwargs)

    return rule


def _reduce_all(reduce: Callable[..., Tensor], self: MaskedTensor) -> MaskedTensor:
    data, mask = _data(self), _mask(self)
    if self.is_sparse:
        found = reduce(data.values(), mask=mask.values())
        if reduce in (reductions.argmin, reductions.argmax) and self.is_sparse_coo():
            found = _place(data, found)
        return wrap(found, mask.values().any())
    return wrap(reduce(data, mask=mask), mask.any())


def _place(data: Tensor, stored: Tensor) -> Tensor:
    """The place among all elements of one that is stored; of the default dtype, as in PyTorch."""
    place = functions.zeros(())
    for index, size in zip(data.indices()[:, int(stored)], data.shape, strict=True):
        place = place * size + index
    return place


def _reduce_dim(
    name: str,
    reduce: Callable[..., Tensor],
    self: MaskedTensor,
    dim: Any,
    keepdim: bool = False,
    dtype: Any = None,
) -> Any:
    if self.is_sparse:
        return _unknown(f"the sparse version of {name}")
    found = reduce(_data(self), dim=dim, keepdim=keepdim, dtype=dtype, mask=_mask(self))
    left = _mask(self)
    dims = [dim] if isinstance(dim, int) else dim
    for d in sorted([d % max(left.ndim, 1) for d in dims], reverse=True):
        left = left.any(d, keepdim=keepdim)
    return wrap(found, left)


for _reduce in (
    reductions.sum,
    reductions.mean,
    reductions.amin,
    reductions.amax,
    reductions.argmin,
    reductions.argmax,
    reductions.prod,
    reductions.norm,
    reductions.var,
    reductions.std,
):
    _KNOWN[_reduce.__name__] = _reduction(_reduce.__name__, _reduce)
_KNOWN[functions.all.__name__] = _reduction(functions.all.__name__, all_of)
