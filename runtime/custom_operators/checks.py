"""The tests of ``opcheck``: whether an operator that a program defines does what was registered for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tengen.generated.backends import BACKENDS

from ..autograd import grad
from ..core.device import device
from ..tensors.tensor import Tensor
from ..utils.pytree import tree_leaves, tree_map
from . import keys
from .definition import CustomOpDef
from .operator import CustomOperator
from .overloads import OpOverload, OpOverloadPacket, bind

_Keywords = Mapping[str, Any]


class OpCheckError(Exception):
    """A test of ``opcheck`` failed."""

    __module__ = "tengen.library"


def check(
    op: OpOverload | OpOverloadPacket | CustomOpDef,
    args: tuple[Any, ...],
    kwargs: _Keywords,
    test_utils: str | Sequence[str],
    raise_exception: bool,
    atol: float | None,
    rtol: float | None,
) -> dict[str, Any]:
    """``tengen.library.opcheck``, which says what this does and raises."""
    if (rtol is None) is not (atol is None):
        raise ValueError("opcheck(op, ...): if you specify one of rtol/atol, you must specify both")
    overload = _overload(op)
    if test_utils == "ALL":
        test_utils = tuple(_TESTS)
    chosen = (test_utils,) if isinstance(test_utils, str) else test_utils
    if not isinstance(chosen, (tuple, list)) or not set(chosen) <= _TESTS.keys():
        raise ValueError(
            f"opcheck(op, ..., test_utils={chosen}), expected test_utils to be subset of {tuple(_TESTS)} "
            "but it was not"
        )
    results: dict[str, Any] = {}
    for name in chosen:
        case = _Case(overload, args, kwargs, rtol, atol)
        try:
            _TESTS[name](case)
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results


def _overload(op: Any) -> OpOverload:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        names = op.overloads()
        if len(names) != 1:
            raise RuntimeError(
                f"opcheck can only test operators without overloads. Got the following overloads for {op}: "
                f"{names}"
            )
        return getattr(op, names[0])  # type: ignore[no-any-return]
    if not isinstance(op, OpOverload):
        raise ValueError(
            "opcheck(op, ...): op must be instance of OpOverload, e.g. tengen.ops.mylib.sin.default, got "
            f"{type(op)}"
        )
    return op


class _Case:
    """An operator and arguments, which each test is given copies of."""

    def __init__(
        self,
        overload: OpOverload,
        args: tuple[Any, ...],
        kwargs: _Keywords,
        rtol: float | None,
        atol: float | None,
    ) -> None:
        self.overload = overload
        self.given = tuple(args), dict(kwargs)
        self.rtol, self.atol = rtol, atol

    @property
    def operator(self) -> CustomOperator:
        return self.overload._operator

    def copies(
        self, change: Callable[[Tensor], Tensor] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other tensors in place of theirs, by default leaves with the same elements."""
        found = tree_map(lambda v: (change or _copy)(v) if isinstance(v, Tensor) else v, self.given)
        return found  # type: ignore[no-any-return]

    def has_data(self) -> bool:
        """Whether the arguments have elements to look at."""
        return all([BACKENDS[t._type.backend.name]["data"] for t in tensors_of(self.given)])

    def close(self, found: Any, expected: Any, what: str) -> None:
        """Raise AssertionError where two results differ."""
        from ..testing import assert_close

        try:
            assert_close(found, expected, rtol=self.rtol, atol=self.atol, equal_nan=True)
        except AssertionError as error:
            raise AssertionError(f"{what}\n{error}") from error


def tensors_of(values: Any) -> list[Any]:
    """The tensors in nested containers."""
    return [v for v in tree_leaves(values) if isinstance(v, Tensor)]


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


# -- the schema -----------------------------------------------------------------------------


def _test_schema(case: _Case) -> None:
    if not case.has_data():
        return
    args, kwargs = case.copies()
    bound = bind(case.operator, args, kwargs)
    before = [[t.detach().clone() for t in tensors_of(a)] for a in bound]
    result = case.overload(*args, **kwargs)
    returns = case.operator.signature.returns
    results = list(result) if case.operator.signature.is_tuple else [result] if returns else []
    arguments = case.operator.signature.arguments
    for argument, value, old in zip(arguments, bound, before, strict=True):
        changed = any([not _same(t, o) for t, o in zip(tensors_of(value), old, strict=True)])
        if changed and not argument.is_write:
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")
        for returned, out in zip(returns, results, strict=True):
            shared = {_memory(t) for t in tensors_of(value)} & {_memory(t) for t in tensors_of(out)}
            known = argument.alias_info and returned.alias_info
            if shared and not (known and known.before_set & argument.alias_info.before_set):  # type: ignore[union-attr]
                raise RuntimeError(
                    f"Argument {argument.name} is not defined to alias output but was aliasing"
                )
    for i, one in enumerate(results):
        for j in range(i):
            if {_memory(t) for t in tensors_of(one)} & {_memory(t) for t in tensors_of(results[j])}:
                raise RuntimeError(f"Outputs {j} and {i} alias unexpectedly")


def _same(tensor: Tensor, old: Tensor) -> bool:
    """Whether the elements are what they were; of a number that is none nothing else is asked."""
    if tensor.shape != old.shape:
        return False
    equal = tensor.detach().eq(old)
    if tensor.is_floating_point() or tensor.is_complex():
        equal = equal.logical_or(tensor.detach().isnan().logical_and(old.isnan()))
    return bool(equal.all())


def _memory(tensor: Any) -> tuple[str, int]:
    lib = tensor._type.backend.lib
    return tensor._type.backend.name, lib.data_ptr(lib.root(tensor._array))


# -- derivatives ----------------------------------------------------------------------------


def _test_autograd_registration(case: _Case) -> None:
    operator = case.operator
    if not case.has_data() or not any([t.requires_grad for t in tensors_of(case.given)]):
        return
    autograd = [key for key in operator.kernels if key.startswith(keys.AUTOGRAD)]
    if autograd or keys.IMPLICIT in operator.kernels:
        return
    args, kwargs = case.copies()
    given = {id(t) for t in tensors_of((args, kwargs))}
    bound = tuple(bind(operator, args, kwargs))
    # What the fallback would do to the results is none of the kernel's doing.
    result = operator.below(operator.backend(operator._tensors(bound), bound), bound)
    if any([t.requires_grad and id(t) not in given for t in tensors_of(result)]):
        raise AssertionError(
            f"{operator.name}: at least one output of this operator has requires_grad=True but the "
            "operator does not have an autograd kernel defined at an autograd key. This could mean that "
            "you have incorrectly registered an autograd kernel for a backend, which may lead to silently "
            "incorrect results. If your operator consists of regular operations, consider not using an "
            "operator at all or registering your operator as CompositeImplicitAutograd. If you have an "
            "autograd.Function registered for a backend, the correct location for it is the key Autograd."
        )


# -- tensors without data -------------------------------------------------------------------


def _test_faketensor(case: _Case) -> None:
    if not case.has_data():
        return
    args, kwargs = case.copies()
    expected = case.overload(*args, **kwargs)
    fake = device(BACKENDS[keys.without_data()]["device"])
    args, kwargs = case.copies(lambda t: t.detach().to(fake).requires_grad_(t.requires_grad))
    found = case.overload(*args, **kwargs)
    real, described = tree_leaves(expected), tree_leaves(found)
    if len(real) != len(described):
        raise RuntimeError(f"the fake function returned {len(described)} values, the operator {len(real)}")
    for number, (value, other) in enumerate(zip(real, described, strict=True)):
        if isinstance(value, Tensor) is not isinstance(other, Tensor):
            raise RuntimeError(
                f"result {number}: {type(value).__name__} of the operator, {type(other).__name__} of the "
                "fake function"
            )
        if isinstance(value, Tensor):
            _compare_described(number, value, other)


def _compare_described(number: int, value: Tensor, other: Tensor) -> None:
    pairs = {
        "shapes": (tuple(value.shape), tuple(other.shape)),
        "dtypes": (value.dtype, other.dtype),
        "strides": (tuple(value.stride()), tuple(other.stride())),
        "requires_grad": (value.requires_grad, other.requires_grad),
    }
    for what, (real, fake) in pairs.items():
        if real != fake and not (what == "strides" and value.numel() < 2):
            raise RuntimeError(
                f"{what} of result {number} differ: {real} of the operator, {fake} of the fake function"
            )


# -- recording ------------------------------------------------------------------------------


def _test_trace(case: _Case) -> None:
    from ..jit.trace import record

    if not case.has_data() or not tensors_of(case.given):
        return
    leaves = tensors_of(case.given)

    def run(*inputs: Tensor) -> tuple[Any, ...]:
        rest = iter(inputs)
        args, kwargs = case.copies(lambda t: next(rest).clone())
        result = case.overload(*args, **kwargs)
        return tuple([t for t in tensors_of((result, args, kwargs))])

    traced = record(run, tuple([_copy(t) for t in leaves]), {}, case.operator.name)
    whole = [node for node in traced.graph.nodes if node.operator is case.operator]
    if not whole and not case.operator.decomposes:
        raise AssertionError(f"{case.operator.name}: what was recorded does not call it")
    direct, direct_grads = _with_gradients(run, leaves)
    replayed, replayed_grads = _with_gradients(traced, leaves)
    case.close(replayed, direct, "Outputs of the operator are different where it was recorded.")
    case.close(replayed_grads, direct_grads, "Gradients of the operator are different where it was recorded.")


def _with_gradients(function: Callable[..., Any], leaves: Sequence[Tensor]) -> tuple[list[Any], list[Any]]:
    """The results, and the gradients of their sum, of copies of the leaves."""
    inputs = [_copy(t) for t in leaves]
    results = list(function(*inputs))
    recorded = [r for r in results if r.requires_grad]
    wanted = [t for t in inputs if t.requires_grad]
    if not recorded or not wanted:
        return [r.detach() for r in results], []
    total: Any = sum([r.abs().sum() for r in recorded])
    grads = grad(total, wanted, allow_unused=True)
    zeros = [w.detach() * 0 if g is None else g for g, w in zip(grads, wanted, strict=True)]
    return [r.detach() for r in results], zeros


_TESTS: Final[dict[str, Callable[[_Case], None]]] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
    "test_aot_dispatch_static": _test_trace,
    "test_aot_dispatch_dynamic": _test_trace,
}
