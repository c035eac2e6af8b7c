"""What ``gradcheck`` and ``gradgradcheck`` check."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ...core.memory_format import strided
from ...core.scalar_type import complex128, float64
from ...core.tensor_base import TensorBase
from ...core.user_stack import program_stacklevel
from .. import grad
from ..edge import gradient_edge
from ..node import UndefinedGrad
from ..saved_variable import alias
from . import GradcheckError
from .analytical_jacobian import (
    forward_jacobian,
    forward_product,
    replaced,
    reverse_jacobian,
    reverse_product,
    tangents_of,
)
from .numerical_jacobian import (
    Array,
    Aspect,
    Problem,
    as_tuple,
    derivatives_along,
    element_numbers,
    is_complex,
    like,
    numerical_jacobian,
    stored_everywhere,
    stored_numbers,
    strided_type,
    tensors,
    values_of,
)


@dataclass(frozen=True, slots=True)
class Options:
    """What to check, and how exactly: the keywords of ``gradcheck``."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    undefined: bool
    dtypes: bool
    batched: bool
    batched_forward: bool
    forward: bool
    backward: bool
    fast: bool
    masked: bool


def check_derivatives(function: Callable[..., Any], inputs: Any, options: Options) -> None:
    """Check all that the options ask for; GradcheckError for the first thing that is wrong."""
    given = as_tuple(inputs)
    wanted = _checked_inputs(given)
    results = tensors(function(*given))
    _check_results(results)
    kept = tuple([i for i, r in enumerate(results) if r._requires_grad])
    problem = Problem(function, given, results, wanted, kept)
    if not kept:
        _check_constant(problem, options)
        return
    compare = _compare_fast if options.fast else _compare_slow
    if options.backward:
        for part in _parts(problem.outputs):
            compare(problem, Aspect(False, part), options)
    if options.forward:
        parts = _parts(problem.variables)
        for part in parts:
            compare(problem, Aspect(True, part), options)
        if options.undefined:
            for part in parts:
                _check_undefined_tangents(problem, Aspect(True, part))
    if options.batched_forward:
        _check_batched_tangents(problem)
    if not options.backward:
        return
    if options.batched:
        _check_batched_gradients(problem)
    _check_zero_gradients(problem, options.masked)
    if options.undefined:
        _check_undefined_gradients(problem)


def _parts(involved: Sequence[Any]) -> tuple[str, ...]:
    """The parts of complex numbers that are looked at one after the other; one nameless part of real ones."""
    return ("imaginary", "real") if any([is_complex(t) for t in involved]) else ("",)


def _checked_inputs(inputs: tuple[Any, ...]) -> tuple[int, ...]:
    """The positions of the inputs that require gradients."""
    wanted = []
    for index, tensor in enumerate(inputs):
        if not isinstance(tensor, TensorBase) or not tensor._requires_grad:
            continue
        T = tensor._type
        if T.scalar_type not in (float64, complex128):
            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. "
                "This check will likely fail if all the inputs are not of double precision floating point or "
                "complex.",
                stacklevel=program_stacklevel(),
            )
        held, lib = stored_numbers(tensor)
        if any([s == 0 and n > 1 for s, n in zip(lib.strides(held), held.shape, strict=True)]):
            raise RuntimeError(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                ".contiguous on the input before passing it to gradcheck."
            )
        wanted.append(index)
    if not wanted:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have "
            "requires_grad=True."
        )
    return tuple(wanted)


def _check_results(results: tuple[Any, ...]) -> None:
    """ValueError for a sparse one: of what stands in its Jacobian there is no order."""
    if any([r.layout is not strided for r in results]):
        raise ValueError(
            "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the "
            "output of fn for gradcheck."
        )


# -- against differences -------------------------------------------------------------------


def _check_constant(problem: Problem, options: Options) -> None:
    """When no result requires gradients, none may depend on the inputs."""
    numbers = ("floating", "reduced", "complex")
    inexact = [i for i, r in enumerate(problem.results) if r._type.scalar_type.category in numbers]
    problem = replace(problem, kept=tuple(inexact))
    tolerance = options.nondet_tol if options.fast else 0.0
    vectors = _Vectors(problem)
    for part in _parts(problem.outputs):
        aspect = Aspect(False, part)
        for number, position in enumerate(problem.wanted):
            if options.fast:
                found = derivatives_along(problem, position, vectors.inputs[number], aspect, options.eps)
            else:
                found = numerical_jacobian(problem, position, aspect, options.eps)
            if any([d.size and np.max(np.abs(d)) > tolerance for d in found]):
                raise GradcheckError("Numerical gradient for function expected to be zero")


def _compare_slow(problem: Problem, aspect: Aspect, options: Options) -> None:
    """Compare whole Jacobians."""
    moved = problem if options.masked else stored_everywhere(problem)
    numerical = [numerical_jacobian(moved, i, aspect, options.eps) for i in problem.wanted]
    if aspect.forward:
        forward = [forward_jacobian(problem, j, aspect, options.dtypes) for j in range(len(problem.wanted))]
    for i in range(len(problem.kept)):
        if not aspect.forward:
            reverse = reverse_jacobian(problem, i, aspect, options.nondet_tol, options.dtypes)
        for j in range(len(problem.wanted)):
            a, n = forward[j][i] if aspect.forward else reverse[j], numerical[j][i]
            if not _close(a, n, options.rtol, options.atol):
                raise GradcheckError(_mismatch(problem, i, j, aspect, a, n))


class _Vectors:
    """The random vectors of fast mode, not negative and of norm 1: always the same ones."""

    __slots__ = ("inputs", "outputs")

    def __init__(self, problem: Problem) -> None:
        random = np.random.default_rng(0)

        def vector(tensor: Any) -> Array:
            values: Array = np.asarray(random.random(tensor._array.shape))
            if not tensor._type.backend.is_strided:
                moving = np.zeros(values.size)
                moving[element_numbers(tensor)] = 1.0
                values *= np.reshape(moving, values.shape)
            if values.size:
                values /= np.linalg.norm(np.ravel(values))
            return values

        #: For each variable one for either part of its numbers, and for each output one.
        self.inputs = [[vector(x), vector(x)] for x in problem.variables]
        self.outputs = [vector(out) for out in problem.outputs]


def _compare_fast(problem: Problem, aspect: Aspect, options: Options) -> None:
    """Compare what the Jacobians do to random vectors: from the right, in reverse mode from both sides."""
    vectors = _Vectors(problem)
    moved = problem if options.masked else stored_everywhere(problem)
    numerical = [
        derivatives_along(moved, position, along, aspect, options.eps)
        for position, along in zip(problem.wanted, vectors.inputs, strict=True)
    ]
    if aspect.forward:
        forward = [
            forward_product(problem, j, along[0], aspect, options.dtypes)
            for j, along in enumerate(vectors.inputs)
        ]
    for i, v in enumerate(vectors.outputs):
        if not aspect.forward:
            reverse = reverse_product(problem, i, v, aspect, options.nondet_tol, options.dtypes)
        for j, along in enumerate(vectors.inputs):
            lines = aspect.lines(problem.variables[j])
            # An error of atol in each element of the Jacobian sums up to this.
            atol = options.atol * sum([float(np.sum(u)) for u, _ in zip(along, lines, strict=False)])
            if aspect.forward:
                a, n = forward[j][i], numerical[j][i]
            else:
                atol *= float(np.sum(v))
                a, n = _projected(reverse[j], along), np.asarray(numerical[j][i] @ np.ravel(v))
            if not _close(a, n, options.rtol, atol):
                text = _mismatch(problem, i, j, aspect, a, n)
                raise GradcheckError(text + _in_slow_mode(problem, i, j, aspect, options))


def _projected(gradient: Array, along: list[Array]) -> Array:
    """The product of a gradient with the vectors for the parts of its numbers."""
    real, imaginary = (np.ravel(u) for u in along)
    if np.iscomplexobj(gradient):
        return np.asarray(gradient.real @ real + 1j * (gradient.imag @ imaginary))
    return np.asarray(gradient @ real)


def _close(analytical: Array, numerical: Array, rtol: float, atol: float) -> bool:
    return np.allclose(analytical, numerical, rtol=rtol, atol=atol)


# -- what is said of a difference ------------------------------------------------------------


def _mismatch(problem: Problem, i: int, j: int, aspect: Aspect, analytical: Array, numerical: Array) -> str:
    """The message for output ``i`` and variable ``j``."""
    involved = problem.variables[j] if aspect.forward else problem.outputs[i]
    said = ""
    if is_complex(involved):
        what = "inputs" if aspect.forward else "outputs"
        said = f"While considering the {aspect.part} part of complex {what} only, "
    mode = "computed with forward mode " if aspect.forward else ""
    return (
        f"{said}Jacobian {mode}mismatch for output {i} with respect to input {j},\n"
        f"numerical:{_shown(problem, i, j, aspect, numerical)}\n"
        f"analytical:{_shown(problem, i, j, aspect, analytical)}\n"
    )


def _shown(problem: Problem, i: int, j: int, aspect: Aspect, values: Array) -> str:
    """Derivatives as a Tensor of the dtype they have; a single one as a number."""
    if not values.ndim:
        return str(values.item())
    output, variable = problem.outputs[i], problem.variables[j]
    if aspect.forward or not is_complex(output):
        owner = output if aspect.forward or not is_complex(variable) else variable
        return str(like(owner, values))
    if is_complex(variable):
        return str(like(variable, values))
    T = output._type.real_type
    return str(T.wrap(T.backend.lib.from_numpy(values.astype(T.dtype))))


def _in_slow_mode(problem: Problem, i: int, j: int, aspect: Aspect, options: Options) -> str:
    """The whole Jacobians of output ``i`` and variable ``j``, where fast mode found a difference."""
    moved = problem if options.masked else stored_everywhere(problem)
    numerical = numerical_jacobian(moved, problem.wanted[j], aspect, options.eps)[i]
    if aspect.forward:
        analytical = forward_jacobian(problem, j, aspect, False)[i]
    else:
        analytical = reverse_jacobian(problem, i, aspect, np.inf, False)[j]
    largest = np.max(np.abs(numerical - analytical), initial=0.0)
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode, "
        "along random vectors. Below, the numerical and analytical jacobians are recomputed in slow mode:\n\n"
        f"Numerical:\n {_shown(problem, i, j, aspect, numerical)}\n"
        f"Analytical:\n{_shown(problem, i, j, aspect, analytical)}\n\n"
        f"The max per-element difference (slow mode) is: {largest}.\n"
    )
    if _close(analytical, numerical, options.rtol, options.atol):
        text += (
            "Fast gradcheck failed but element-wise differences are small. This means that the test might've "
            "passed in slow_mode! If these derivatives are right, call gradcheck/gradgradcheck with "
            "`fast_mode=False`."
        )
    return text


# -- zero and undefined gradients ------------------------------------------------------------


def _zeros_like(tensor: Any) -> Any:
    """Strided zeros in the shape and the dtype of a tensor."""
    T = strided_type(tensor._type)
    return T.wrap(T.backend.lib.zeros(tensor._array.shape, T.dtype))


def _check_zero_gradients(problem: Problem, masked: bool) -> None:
    """The gradients are zero where those of the outputs are."""
    outputs, variables = problem.outputs, problem.variables
    found = grad(outputs, variables, [_zeros_like(out) for out in outputs], allow_unused=True)
    for variable, gradient in zip(variables, found, strict=True):
        if gradient is None:
            continue
        if gradient.layout is not strided:
            _check_layout(gradient, variable)
        values = values_of(gradient)
        if not (np.allclose(values, 0.0) if masked else np.all(values == 0)):
            raise GradcheckError("backward not multiplied by grad_output")
        if gradient._type.scalar_type is not variable._type.scalar_type:
            raise GradcheckError("grad is incorrect type")
        if gradient._array.shape != variable._array.shape:
            raise GradcheckError("grad is incorrect size")


def _check_layout(gradient: Any, variable: Any) -> None:
    """GradcheckError for a sparse gradient that does not store what its variable does."""
    if gradient.layout is not variable.layout:
        raise GradcheckError(f"grad is incorrect layout ({gradient.layout} is not {variable.layout})")
    kind = gradient.layout.name.removesuffix("_coo")
    for what in ("sparse_dim", "dense_dim"):
        found, expected = getattr(gradient, what)(), getattr(variable, what)()
        if found != expected:
            raise GradcheckError(
                f"grad is {kind} tensor, but has incorrect {what} {found}, expected {expected}"
            )


def _check_undefined_gradients(problem: Problem) -> None:
    """Backward works, and gives zeros or nothing, where no gradients of the outputs are there.

    First of all outputs, then of one after the other, while those of the others are zeros.
    """
    count = len(problem.kept)
    choices: list[Sequence[int]] = [range(count)]
    if count > 1:
        choices += [(i,) for i in range(count)]
    for undefined in choices:
        results = tensors(problem.function(*problem.inputs))
        outputs = [results[i] for i in problem.kept]
        outputs = [_undefined(out) if i in undefined else out for i, out in enumerate(outputs)]
        _check_undefined(problem, outputs)


def _undefined(tensor: Any) -> Any:
    """The tensor behind a Node that hands no gradient on."""
    T = tensor._type
    node = UndefinedGrad((gradient_edge(tensor),), tensor._array.shape, T)
    node.operator = "undefined_grad"
    out = T.wrap(tensor._array)
    out._edge, out._requires_grad = (node, 0), True
    return out


def _check_undefined(problem: Problem, outputs: list[Any]) -> None:
    try:
        found = grad(outputs, problem.variables, [_zeros_like(out) for out in outputs], allow_unused=True)
    except RuntimeError as error:
        _warn_of_undefined()
        raise GradcheckError(
            f"Expected backward function to handle undefined output grads, but got: {error}"
        ) from error
    if not all([g is None or bool(np.all(values_of(g) == 0)) for g in found]):
        _warn_of_undefined()
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined or zero."
        )


def _warn_of_undefined() -> None:
    warnings.warn(
        "Whether backward functions support undefined gradients is checked by default. A backward function "
        'that is never given any can be checked with "check_undefined_grad=False".',
        stacklevel=program_stacklevel(),
    )


def _check_undefined_tangents(problem: Problem, aspect: Aspect) -> None:
    """The tangents are the same whether that of an input is zero or not there."""
    from .. import forward_ad

    along = [vectors[0] for vectors in _Vectors(problem).inputs]
    tangents = [like(x, u * aspect.tangent(x)) for x, u in zip(problem.variables, along, strict=True)]
    plain = [alias(x, None) for x in problem.variables]
    with forward_ad.dual_level():
        for j, (x, tangent) in enumerate(zip(plain, tangents, strict=True)):
            duals = [forward_ad.make_dual(alias(p, None), t) for p, t in zip(plain, tangents, strict=True)]
            zero = [*duals[:j], forward_ad.make_dual(alias(x, None), _zeros_like(tangent)), *duals[j + 1 :]]
            missing = [*duals[:j], x, *duals[j + 1 :]]
            expected = tangents_of(problem, replaced(problem, zero))
            found = tangents_of(problem, replaced(problem, missing))
            for i, (a, b) in enumerate(zip(expected, found, strict=True)):
                if not np.allclose(a, b):
                    raise GradcheckError(
                        f"Mismatch in tangent values for output with index: {i} when input: {j} has an "
                        f"undefined tangent value. Got: {b} but expected: {a}"
                    )


# -- several at once -------------------------------------------------------------------------

_BATCHED = (
    "gradcheck or gradgradcheck failed while testing batched gradient computation: what vmap makes of the "
    "backward pass is not what several backward passes give. If an operation there does not work with vmap, "
    "call gradcheck/gradgradcheck with `check_batched_grad=False`."
)
_BATCHED_FORWARD = (
    "gradcheck failed while testing batched gradient computation with forward-mode AD. If an operation of "
    "the function does not work with vmap, call gradcheck with `check_batched_forward_grad=False`."
)


def _check_batched_gradients(problem: Problem) -> None:
    """Two gradients computed at once are those computed one after the other."""
    random = np.random.default_rng(0)
    variables = problem.variables
    for i, output in enumerate(problem.outputs):
        seeds = [_normal(output, random) for _ in range(2)]
        single = [
            grad(output, variables, like(output, s), retain_graph=True, allow_unused=True) for s in seeds
        ]
        try:
            found = grad(
                output,
                variables,
                like(output, np.stack(seeds)),
                retain_graph=True,
                allow_unused=True,
                is_grads_batched=True,
            )
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{_BATCHED}") from error
        for j, (expected, got) in enumerate(zip(zip(*single, strict=True), found, strict=True)):
            _compare_batched(
                i, j, _dense(variables[j], got), [_dense(variables[j], e) for e in expected], _BATCHED
            )


def _dense(variable: Any, gradient: Any) -> Array:
    """The numbers of a gradient; of one that is not there a zero, which broadcasts."""
    return np.zeros(variable._array.shape) if gradient is None else values_of(gradient)


def _normal(tensor: Any, random: np.random.Generator) -> Array:
    """Random numbers of a tensor's shape, complex where it is."""
    shape = tensor._array.shape
    real = np.asarray(random.standard_normal(shape))
    return real + 1j * random.standard_normal(shape) if is_complex(tensor) else real


def _check_batched_tangents(problem: Problem) -> None:
    """Two tangents computed at once are those computed one after the other."""
    from ...func.vmap import several_at_once

    random = np.random.default_rng(0)
    for j, variable in enumerate(problem.variables):
        jvp = _jvp(problem, j)
        along = [_normal(variable, random) for _ in range(2)]
        single = [[values_of(t) for t in jvp(like(variable, u))] for u in along]
        try:
            found = several_at_once(jvp, like(variable, np.stack(along)))
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\n{_BATCHED_FORWARD}"
            ) from error
        for i, (expected, got) in enumerate(zip(zip(*single, strict=True), found, strict=True)):
            _compare_batched(i, j, values_of(got), list(expected), _BATCHED_FORWARD)


def _jvp(problem: Problem, number: int) -> Callable[[Any], tuple[Any, ...]]:
    """The function from one variable's tangent to the results' tangents."""
    from .. import forward_ad

    def jvp(tangent: Any) -> tuple[Any, ...]:
        with forward_ad.dual_level():
            duals = [alias(x, None) for x in problem.variables]
            duals[number] = forward_ad.make_dual(duals[number], tangent)
            results = tensors(problem.function(*replaced(problem, duals)))
            unpacked = [forward_ad.unpack_dual(results[i]) for i in problem.kept]
            return tuple([_zeros_like(primal) if t is None else t for primal, t in unpacked])

    return jvp


def _compare_batched(i: int, j: int, found: Array, expected: list[Array], what: str) -> None:
    together = np.stack(expected)
    if not np.allclose(found, together):
        raise GradcheckError(
            f"For output {i} and input {j}:\n\n{what}\n\nGot:\n{found}\n\nExpected:\n{together}"
        )


# -- gradgradcheck ---------------------------------------------------------------------------


def gradient_function(
    function: Callable[..., Any], inputs: Any, grad_outputs: Any, strided: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function from inputs and the results' gradients to the inputs' gradients, and its inputs."""
    given = as_tuple(inputs)
    if grad_outputs is None:
        results = [r for r in tensors(function(*given)) if r._requires_grad]
        if not results:
            raise ValueError(
                "gradgradcheck expects at least one result of func to require gradient, but none of them has "
                "requires_grad=True."
            )
        random = np.random.default_rng(0)
        seeds: tuple[Any, ...] = tuple([_random_gradient(r, strided, random) for r in results])
    else:
        seeds = as_tuple(grad_outputs)
    count = len(given)
    recorded = [isinstance(t, TensorBase) and t._requires_grad for t in (*given, *seeds)]

    def gradients(*arguments: Any) -> tuple[Any, ...]:
        # Forward mode hands in tensors that require no gradients.
        leaves = [t.requires_grad_() if r else t for t, r in zip(arguments, recorded, strict=True)]
        outputs = [r for r in tensors(function(*leaves[:count])) if r._requires_grad]
        variables = [t for t, r in zip(leaves[:count], recorded, strict=False) if r]
        found = grad(outputs, variables, leaves[count:], create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradients, (*given, *seeds)


def _random_gradient(tensor: Any, strided: bool, random: np.random.Generator) -> Any:
    """A leaf like the tensor, of numbers between -1 and 1; if ``strided`` over every second of an array."""
    shape = tensor._array.shape
    room = (*shape[:-1], 2 * shape[-1]) if strided and prod(shape) > 1 else shape
    values = random.uniform(-1.0, 1.0, room)
    if is_complex(tensor):
        values = values + 1j * random.uniform(-1.0, 1.0, room)
    array = like(tensor, values)._array
    made = strided_type(tensor._type).wrap(array if room == shape else array[..., ::2])
    made._requires_grad = True
    return made
