"""Jacobians, Hessians and products with them on the ordinary graph: ``tengen.autograd.functional``.

Other than the transforms these take tensors or tuples of them, compute products with the graph of leaves
made from the inputs, and give results a history only with ``create_graph``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tengen.generated.functions import stack, zeros_like

from ..autograd import grad as autograd_grad
from ..autograd.grad_mode import enable_grad, is_grad_enabled, set_grad_enabled
from ..core.tensor_base import TensorBase
from .jacobian import columns_of, unit_vectors
from .jvp import jvp_of
from .vmap import several_at_once

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Any, ...]
_OUTPUTS = "outputs of the user-provided function"
_SINGLE_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a "
    "single element."
)
_REVERSE, _FORWARD = "reverse-mode", "forward-mode"


# -- the public functions --------------------------------------------------------------


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """What ``func`` returns at ``inputs``, and ``v`` multiplied with its Jacobian there, from the left.

    ``inputs``, what ``func`` returns and ``v`` are each a Tensor or a tuple of Tensors; ``v`` has the shapes
    of the outputs, and may be left out where that is a single element. The product has the shapes of the
    inputs. With ``create_graph`` both results can be differentiated, with ``strict`` an output that does
    not depend on an input is an error and not a zero.

    TypeError for what are no Tensors, RuntimeError for a ``v`` of another length or shape.
    """
    with enable_grad():
        ins = _Given(inputs, "inputs", "vjp")
        leaves = _leaves(ins.tensors, create_graph, True)
        outs = _Given(func(*leaves), _OUTPUTS, "vjp")
        if strict:
            _check_outputs(outs.tensors)
        if v is None:
            message = (
                "The vector v can only be None if the user-provided function returns a single Tensor with "
                "a single element."
            )
            _check_single(outs.tensors, message)
            vector: Sequence[Any] = (None,)
        else:
            vector = _vector(v, "vjp", outs, create_graph)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = _grads(outs.tensors, leaves, vector, create_graph)
        product = _filled(found, leaves, strict, create_graph, _OUTPUT_INDEPENDENT, _JACOBIAN_INDEPENDENT)
    return outs.like(_released(outs.tensors, create_graph)), ins.like(_released(product, create_graph))


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """What ``func`` returns at ``inputs``, and its Jacobian there multiplied with ``v``.

    As ``vjp``, but that ``v`` has the shapes of the inputs and the product those of the outputs. It is the
    derivative of ``u -> u J``, by two backward passes: ``tengen.func.jvp`` needs none.
    """
    with enable_grad():
        ins = _Given(inputs, "inputs", "jvp")
        leaves = _leaves(ins.tensors, create_graph, True)
        vector = _input_vector(v, "jvp", ins, leaves, create_graph)
        outs = _Given(func(*leaves), _OUTPUTS, "jvp")
        if strict:
            _check_outputs(outs.tensors)
        # The products are linear in these: their values do not matter.
        weights = tuple([zeros_like(out).requires_grad_() for out in outs.tensors])
        products = _grads(outs.tensors, leaves, weights, True)
        if strict:
            _check_depend(products, _GRADIENT_CONSTANT)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = _grads(products, weights, vector, create_graph)
        product = _filled(found, outs.tensors, strict, create_graph, _TRICK, _JACOBIAN_INDEPENDENT)
    return outs.like(_released(outs.tensors, create_graph)), outs.like(_released(product, create_graph))


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """What ``func`` returns at ``inputs``, and ``v`` multiplied with its Hessian there, from the left.

    ``func`` returns a Tensor of one element; ``v`` and the product have the shapes of the inputs. Else as
    ``vjp``.
    """
    with enable_grad():
        ins, leaves, vector, value, gradient = _gradient(func, inputs, v, "vhp", create_graph, strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = _grads(gradient, leaves, vector, create_graph)
        product = _filled(found, leaves, strict, create_graph, _JACOBIAN_ALWAYS, _HESSIAN_INDEPENDENT)
    return _released((value,), create_graph)[0], ins.like(_released(product, create_graph))


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """What ``func`` returns at ``inputs``, and its Hessian there multiplied with ``v``.

    As ``vhp``, by one backward pass more; the two are the same where the Hessian is symmetric.
    """
    with enable_grad():
        ins, leaves, vector, value, gradient = _gradient(func, inputs, v, "hvp", create_graph, strict)
        weights = tuple([zeros_like(t).requires_grad_() for t in leaves])
        products = _grads(gradient, leaves, weights, True)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        found = _grads(products, weights, vector, create_graph)
        product = _filled(found, leaves, strict, create_graph, _DOUBLE_TRICK, _HESSIAN_INDEPENDENT)
    return _released((value,), create_graph)[0], ins.like(_released(product, create_graph))


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = _REVERSE,
) -> Any:
    """The Jacobian of ``func`` at ``inputs``.

    ``inputs`` and what ``func`` returns are each a Tensor or a tuple of Tensors. For an output of shape
    ``o`` and an input of shape ``i`` there is a Tensor of shape ``(*o, *i)``; where there is a tuple of
    inputs, of outputs or of both, there is a tuple of them, of the outputs outermost. ``vectorize`` computes
    all rows at once, by ``vmap``; ``strategy="forward-mode"`` computes columns, and only at once.
    ``create_graph`` and ``strict`` as for ``vjp``.

    Raises AssertionError for another strategy; NotImplementedError for forward mode with ``create_graph``
    or without ``vectorize``; RuntimeError for ``strict`` with forward mode or ``vectorize``.
    """
    if strategy not in (_FORWARD, _REVERSE):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has '
            'more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use '
            '"reverse-mode".'
        )
    if strategy == _FORWARD:
        _check_forward(create_graph, strict, vectorize)
        return _forward_jacobian(func, inputs)
    with enable_grad():
        ins = _Given(inputs, "inputs", "jacobian")
        leaves = _leaves(ins.tensors, create_graph, True)
        outs = _Given(func(*leaves), _OUTPUTS, "jacobian")
        if strict:
            _check_outputs(outs.tensors)
        if vectorize:
            if strict:
                raise RuntimeError(
                    "tengen.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not "
                    "supported together. Please either set `strict=False` or `vectorize=False`."
                )
            found = _rows_at_once(outs.tensors, leaves, create_graph)
        else:
            found = [_rows(i, out, leaves, create_graph, strict) for i, out in enumerate(outs.tensors)]
        return outs.like([ins.like(_released(row, create_graph)) for row in found])


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = _REVERSE,
) -> Any:
    """The Hessian of ``func``, which returns a Tensor of one element, at ``inputs``.

    It is the Jacobian of the Jacobian: for a Tensor of shape ``i`` one of shape ``(*i, *i)``, for a tuple a
    tuple of tuples. ``outer_jacobian_strategy`` says how the outer one is computed:
    AssertionError for another word than "reverse-mode" and "forward-mode". Else as ``jacobian``.
    """
    ins = _Given(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in (_FORWARD, _REVERSE):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def value(*given: Any) -> Any:
        returned = func(*given)
        outs = _Given(returned, _OUTPUTS, "hessian")
        if strict:
            _check_outputs(outs.tensors)
        return _single_element(outs, "hessian").squeeze()

    def gradient(*given: Any) -> Tensors:
        if outer_jacobian_strategy == _FORWARD:
            for t in given:  # which requires_grad_ refuses to what is transformed
                t.requires_grad = True
        found: Tensors = jacobian(value, given, create_graph=True)
        if strict:
            _check_depend(found, _JACOBIAN_CONSTANT)
        return found

    found = jacobian(gradient, ins.tensors, create_graph, strict, vectorize, outer_jacobian_strategy)
    return ins.like([ins.like(row) for row in found])


# -- inputs, outputs, vectors ------------------------------------------------------------


class _Given:
    """A Tensor or a tuple of Tensors, as a tuple. TypeError for anything else."""

    def __init__(self, given: Any, name: str, function: str) -> None:
        self.is_tuple = isinstance(given, tuple)
        self.tensors: Tensors = given if self.is_tuple else (given,)
        for index, tensor in enumerate(self.tensors):
            if not isinstance(tensor, TensorBase):
                which = f"value at index {index}" if self.is_tuple else f"given {name}"
                raise TypeError(
                    f"The {name} given to {function} must be either a Tensor or a tuple of Tensors but the "
                    f"{which} has type {type(tensor)}."
                )

    def like(self, found: Sequence[Any]) -> Any:
        """As many results as there were Tensors, in the form that these came in."""
        return tuple(found) if self.is_tuple else found[0]


def _leaves(tensors: Tensors, create_graph: bool, requires_grad: bool) -> Tensors:
    """New handles on the tensors: what a function captures is not what it is given."""
    return tuple(
        [
            t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(requires_grad)
            for t in tensors
        ]
    )


def _vector(v: Any, function: str, like: _Given, create_graph: bool) -> Tensors:
    """The factor of a product, of the shapes of ``like``."""
    given = _leaves(_Given(v, "v", function).tensors, create_graph, False)
    if len(given) != len(like.tensors):
        if not like.is_tuple:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like.tensors)} but got {len(given)}."
        )
    for index, (here, there) in enumerate(zip(given, like.tensors, strict=True)):
        if here.shape != there.shape:
            which = f"Entry {index} in " if like.is_tuple else ""
            raise RuntimeError(f"{which}v has invalid size: should be {there.shape} but got {here.shape}.")
    return given


def _input_vector(v: Any, function: str, ins: _Given, leaves: Tensors, create_graph: bool) -> Sequence[Any]:
    """The factor of a product that has the shapes of the inputs."""
    if v is not None:
        return _vector(v, function, ins, create_graph)
    _check_single(leaves, _SINGLE_INPUT)
    return (None,)


def _check_single(tensors: Tensors, message: str) -> None:
    if len(tensors) != 1 or tensors[0].numel() != 1:
        raise RuntimeError(message)


def _single_element(outs: _Given, function: str) -> Any:
    if outs.is_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outs.tensors[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {function} should contain a single element"
        )
    return outs.tensors[0]


def _released(tensors: Sequence[Any], create_graph: bool) -> Tensors:
    return tuple(tensors) if create_graph else tuple([t.detach() for t in tensors])


# -- gradients -----------------------------------------------------------------------------


def _grads(
    outputs: Sequence[Any], inputs: Sequence[Any], vector: Sequence[Any], create_graph: bool
) -> Sequence[Any]:
    """The gradients of the outputs that have any; None for inputs that they do not depend on.

    There is a factor in ``vector`` for each output, or one None for all.
    """
    if len(vector) != len(outputs):
        vector = (None,) * len(outputs)
    pairs = [(o, g) for o, g in zip(outputs, vector, strict=True) if o is not None and o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    outs, factors = zip(*pairs, strict=True)
    found: Sequence[Any] = autograd_grad(outs, inputs, factors, create_graph=create_graph, allow_unused=True)
    return found


def _gradient(
    func: Callable[..., Any], inputs: Any, v: Any, function: str, create_graph: bool, strict: bool
) -> tuple[_Given, Tensors, Sequence[Any], Any, Sequence[Any]]:
    """The inputs, as given and as leaves, the vector, the function's value and its gradient."""
    ins = _Given(inputs, "inputs", function)
    leaves = _leaves(ins.tensors, create_graph, True)
    vector = _input_vector(v, function, ins, leaves, create_graph)
    outs = _Given(func(*leaves), _OUTPUTS, function)
    if strict:
        _check_outputs(outs.tensors)
    value = _single_element(outs, function)
    gradient = _grads(outs.tensors, leaves, (None,), True)
    if strict:
        _check_depend(gradient, _JACOBIAN_CONSTANT)
    return ins, leaves, vector, value, gradient


def _rows(index: int, output: Any, leaves: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobian of one output with respect to each input, row by row."""
    rows: list[list[Any]] = [[] for _ in leaves]
    for element in range(output.numel()):
        picked = output.reshape(-1)[element]
        found: Sequence[Any] = (None,) * len(leaves)
        if picked.requires_grad:
            found = autograd_grad(
                picked, leaves, retain_graph=True, create_graph=create_graph, allow_unused=True
            )
        for place, (row, leaf) in enumerate(zip(found, leaves, strict=True)):
            if strict and row is None:
                raise RuntimeError(
                    f"Output {index} of the user-provided function is independent of input {place}. This "
                    "is not allowed in strict mode."
                )
            if strict and create_graph and not row.requires_grad:
                raise RuntimeError(_JACOBIAN_INDEPENDENT.format(index))
            rows[place].append(zeros_like(leaf) if row is None else row)
    return tuple([stack(r, 0).view(output.shape + t.shape) for r, t in zip(rows, leaves, strict=True)])


def _rows_at_once(outputs: Tensors, leaves: Tensors, create_graph: bool) -> list[Tensors]:
    """For each output its Jacobian with respect to each input."""
    (basis,) = unit_vectors(outputs, None)

    def products(*vectors: Any) -> Tensors:
        found = _grads(outputs, leaves, vectors, create_graph)
        return tuple([zeros_like(t) if g is None else g for g, t in zip(found, leaves, strict=True)])

    stacked = several_at_once(products, *basis)
    result, start = [], 0
    for output in outputs:
        count = math.prod(output.shape)
        result.append(
            tuple(
                [
                    s.narrow(0, start, count).reshape(output.shape + t.shape)
                    for s, t in zip(stacked, leaves, strict=True)
                ]
            )
        )
        start += count
    return result


def _forward_jacobian(func: Callable[..., Any], inputs: Any) -> Any:
    """The Jacobian column by column, all at once."""
    ins = _Given(inputs, "inputs", "jacobian")
    (basis,) = unit_vectors(ins.tensors, None)
    outs: list[_Given] = []

    def values(*given: Any) -> Tensors:
        outs.append(_Given(func(*given), _OUTPUTS, "jacobian"))
        return outs[0].tensors

    def column(*tangents: Any) -> Any:
        return jvp_of(values, ins.tensors, tangents, None, False, False, transform=False)[1]

    columns = several_at_once(column, *basis)
    return outs[0].like([ins.like(columns_of(c, ins.tensors)) for c in columns])


def _check_forward(create_graph: bool, strict: bool, vectorize: bool) -> None:
    if create_graph:
        raise NotImplementedError(
            "tengen.autograd.functional.jacobian: `create_graph=True` and "
            '`strategy="forward-mode"` are not supported together (yet). Please either set '
            '`create_graph=False` or `strategy="reverse-mode"`.'
        )
    if strict:
        raise RuntimeError(
            'tengen.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not '
            'supported together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
            "`vectorize=True`."
        )


# -- strict mode ---------------------------------------------------------------------------

_OUTPUT_INDEPENDENT = (
    "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
_JACOBIAN_ALWAYS = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict "
    "mode."
)
_JACOBIAN_INDEPENDENT = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict "
    "mode when create_graph=True."
)
_HESSIAN_INDEPENDENT = (
    "The hessian of the user-provided function is independent of input {}. This is not allowed in strict "
    "mode when create_graph=True."
)
_TRICK = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the "
    "double backward trick to compute forward mode gradients. This is not allowed in strict mode."
)
_DOUBLE_TRICK = (
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not "
    "allowed in strict mode as it prevents from using the double backward trick to replace forward mode AD."
)
_GRADIENT_CONSTANT = (
    "The gradient with respect to input {} is independent of the inputs of the user-provided function. This "
    "is not allowed in strict mode."
)
_JACOBIAN_CONSTANT = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to "
    "input {} is independent of the input. This is not allowed in strict mode. You should ensure that your "
    "function is twice differentiable and that the jacobian depends on the inputs (this would be violated by "
    "a linear function for example)."
)


def _check_outputs(outputs: Sequence[Any]) -> None:
    for index, output in enumerate(outputs):
        if not output.requires_grad:
            raise RuntimeError(
                f"Output {index} of the user-provided function does not require gradients. The outputs must "
                "be computed in a differentiable manner from the input when running in strict mode."
            )


def _check_depend(grads: Sequence[Any], message: str) -> None:
    """RuntimeError for a gradient that is not there, or (``message``) that is constant."""
    for index, found in enumerate(grads):
        if found is None:
            raise RuntimeError(_OUTPUT_INDEPENDENT.format(index))
        if not found.requires_grad:
            raise RuntimeError(message.format(index))


def _filled(
    grads: Sequence[Any], likes: Sequence[Any], strict: bool, create_graph: bool, none: str, constant: str
) -> Tensors:
    """The gradients with zeros for those that are not there; in strict mode an error instead."""
    result = []
    for index, (found, like) in enumerate(zip(grads, likes, strict=True)):
        if strict and found is None:
            raise RuntimeError(none.format(index))
        if strict and create_graph and not found.requires_grad:
            raise RuntimeError(constant.format(index))
        result.append(zeros_like(like) if found is None else found)
    return tuple(result)
