"""``register_kernel``, ``register_fake``, ``register_autograd`` ...: for operators by name, as OpOverload or
CustomOpDef.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..core.user_stack import program_stacklevel
from . import keys
from .definition import CustomOpDef, opdef_of
from .fake import fake_kernel
from .gradients import Formula
from .libraries import Library, defined, find, impl, library_for, parse_namespace, source_of_caller
from .operator import CustomOperator, Kernel, fallthrough_kernel
from .overloads import OpOverload

_Function = Callable[..., Any]
_Operator = str | OpOverload | CustomOpDef


def _resolved(op: Any, registration: str) -> str | CustomOpDef:
    """The CustomOpDef that is meant, or the name of an operator that has none."""
    if not isinstance(op, (str, OpOverload, CustomOpDef)):
        raise ValueError(f"{registration}({op}): got unexpected type for op: {type(op)}")
    found = opdef_of(op)
    if found is not None:
        return found  # type: ignore[no-any-return]
    return op.name() if isinstance(op, OpOverload) else str(op)


def register_kernel(
    op: _Operator,
    device_types: str | Sequence[str] | None,
    func: _Function | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register a function for kinds of devices, ``"cpu"``, or for all, None; without it as a decorator.

    Raises ValueError for what is no operator, RuntimeError for a kind of devices that no backend has.
    """
    found = _resolved(op, "register_kernel")
    if isinstance(found, CustomOpDef):
        return found.register_kernel(device_types, func)
    return impl(found, keys.EXPLICIT if device_types is None else device_types, func, lib=lib)


def register_fake(
    op: _Operator,
    func: _Function | None = None,
    /,
    *,
    lib: Library | None = None,
    allow_override: bool = True,
) -> Any:
    """Register what computes the results' shapes and dtypes, for tensors without data; also as a decorator.

    It is given the operator's arguments, and returns tensors as the operator does, of the device meta. Raises
    RuntimeError where there is one, unless ``allow_override``.
    """
    found = _resolved(op, "register_fake")
    if isinstance(found, CustomOpDef):
        return found.register_fake if func is None else found.register_fake(func)
    name = found

    def register(function: _Function) -> _Function:
        ns, opname = parse_namespace(name)
        key, source = keys.without_data(), source_of_caller()
        known = defined.get(name)
        before = None if known is None else known.newest(key)
        if before is not None and not allow_override:
            raise RuntimeError(
                f"register_fake(...): the operator {name} already has a fake impl registered at "
                f"{before.source}."
            )
        library_for(ns, lib).impl(opname, fake_kernel(function, name, source), key)
        return function

    return register if func is None else register(func)


def impl_abstract(qualname: _Operator, func: _Function | None = None, *, lib: Library | None = None) -> Any:
    """An older name of ``register_fake``: a FutureWarning says so."""
    warnings.warn(
        "`tengen.library.impl_abstract` was renamed to `tengen.library.register_fake`. Please use that "
        "instead; we will remove `tengen.library.impl_abstract` in a future version.",
        FutureWarning,
        stacklevel=program_stacklevel(),
    )
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: _Operator,
    backward: _Function,
    /,
    *,
    setup_context: _Function | None = None,
    lib: Library | None = None,
) -> None:
    """Register the derivative of an operator.

    ``backward(ctx, *grads)`` is given a gradient for each result, a list of them for a list, and returns one,
    or None, for each argument by position. ``setup_context(ctx, inputs, output)``, whose arguments are given
    by these names, saves what it needs: on ``ctx``, as in ``autograd.Function``. Where the operator has
    arguments by keyword alone, it is given them as ``keyword_only_inputs``, a dict. Raises RuntimeError for
    an operator that writes to an argument or returns a view of one; NotImplementedError for one with Tensors
    among the arguments by keyword alone; AttributeError where there is none of the name.
    """
    found = _resolved(op, "register_autograd")
    if isinstance(found, CustomOpDef):
        found.register_autograd(backward, setup_context=setup_context)
        return
    operator = find(found)
    signature = operator.signature
    if signature.out_variant:
        raise RuntimeError(
            "Cannot register autograd formula for operator tagged with tengen.Tag.out: "
            f"{operator.overload}. Out variants do not support autograd."
        )
    if not signature.is_functional:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {operator.overload} with schema "
            f"{signature}. Please create a functional operator and register an autograd formula for that."
        )
    if any([a.kwarg_only and a.holds_tensors for a in signature.arguments]):
        raise NotImplementedError(
            "register_autograd with kwarg-only Tensor args. In the original definition of the op, please "
            f"make your tensors not kwarg-only. Got: {signature}"
        )
    kernel = Formula(operator, backward, setup_context, source_of_caller()).kernel
    operator.add_kernel(kernel)
    if lib is not None:
        lib._registered.append(lambda: operator.remove_kernel(kernel))


def register_vmap(op: _Operator, func: _Function | None = None, /, *, lib: Library | None = None) -> Any:
    """Register how ``vmap`` runs an operator, ``rule(info, in_dims, *args, **kwargs)``; also as a decorator.

    ``in_dims`` has the batch dimension of each positional argument, or None; ``info`` has the
    ``batch_size`` and the ``randomness`` of the call. The rule returns the results and
    the batch dimension of each, or None. Raises NotImplementedError for tensors that are given by keyword
    alone, AttributeError where there is no operator of the name.
    """
    found = _resolved(op, "register_vmap")
    if isinstance(found, CustomOpDef):
        return found.register_vmap(func)
    operator = find(found)
    if any([a.kwarg_only and a.holds_tensors for a in operator.signature.arguments]):
        raise NotImplementedError(
            "register_vmap with kwarg-only Tensor args. In the original definition of the op, please make "
            f"your tensors not kwarg-only. Got: {operator.signature}"
        )

    def register(function: _Function) -> None:
        operator.vmap_rule = function
        operator.changed()
        if lib is not None:
            lib._registered.append(lambda: _drop_rule(operator, function))

    return register if func is None else register(func)


def _drop_rule(operator: CustomOperator, function: _Function) -> None:
    if operator.vmap_rule is function:
        operator.vmap_rule = None
        operator.changed()


def register_autocast(
    op: _Operator, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None
) -> None:
    """Have autocast cast the floating-point tensors of an operator to the dtype ``cast_inputs``.

    What the operator itself calls is not cast. Raises ValueError for a kind of devices without autocast,
    AttributeError where there is no operator of the name.
    """
    found = _resolved(op, "register_autocast")
    if isinstance(found, CustomOpDef):
        found.register_autocast(device_type, cast_inputs)
        return
    operator = find(found)
    operator.cast_under_autocast(device_type, cast_inputs)
    if lib is not None:
        lib._registered.append(operator.forget_autocast)


def register_torch_dispatch(
    op: _Operator, torch_dispatch_class: Any, func: _Function | None = None, /, *, lib: Library | None = None
) -> None:
    """NotImplementedError: tengen has no ``__torch_dispatch__``; ``__tengen_function__`` sees calls of
    operators.
    """
    _resolved(op, "register_torch_dispatch")
    raise NotImplementedError(
        f"register_torch_dispatch({op}): tengen has no __torch_dispatch__; a class or mode with "
        "__tengen_function__ sees the calls of an operator"
    )


class KernelFunction:
    """What runs for an operator and a dispatch key: ``get_kernel`` returns it."""

    __slots__ = ("_kernel", "_operator")
    __module__ = "tengen.library"

    def __init__(self, operator: CustomOperator, kernel: Kernel) -> None:
        self._operator, self._kernel = operator, kernel

    def call_boxed(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call it; ``keyset`` is what a function that was registered ``with_keyset`` is given."""
        if self._kernel.with_keyset:
            return self._kernel.function(keyset, *args, **kwargs)
        return self._kernel.function(*args, **kwargs)

    def __repr__(self) -> str:
        return (
            f"KernelFunction({self._operator.name}, {self._kernel.key}, registered at {self._kernel.source})"
        )


def get_kernel(op: str | OpOverload, dispatch_key: str) -> KernelFunction:
    """What runs for an operator that the program has defined and a dispatch key: a backend's name, or that
    behind ``"Autograd"``.

    It stays what it is when another function is registered, which may call it. Raises ValueError for what is
    no operator or key; RuntimeError where there is no operator of the name, or no function for the key, and
    for keys that stand for several.
    """
    if not isinstance(op, (str, OpOverload)):
        raise ValueError(f"get_kernel({op}): got unexpected type for op: {type(op)}")
    name = op.name() if isinstance(op, OpOverload) else op
    if not keys.is_key(dispatch_key):
        raise ValueError(f"Invalid dispatch key: {dispatch_key}")
    found = defined.get(name)
    if found is None:
        raise RuntimeError(f"operator {name} does not exist")
    if keys.is_alias(dispatch_key):
        raise RuntimeError("Alias keys do not have runtime kernel registrations.")
    backend = dispatch_key.removeprefix(keys.AUTOGRAD)
    kernel = found.autograd_kernel(backend) if backend != dispatch_key else None
    if kernel is None or kernel.function is fallthrough_kernel:
        kernel = found.kernel_for(backend)
    if kernel is None:
        raise RuntimeError(f"operator {name} has no kernel for {dispatch_key}")
    return KernelFunction(found, kernel)
