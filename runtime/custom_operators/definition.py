"""``custom_op``: a function as an operator, and what can be registered for that."""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, overload

from ..core.operands import tensors_in
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel
from . import keys
from .fake import fake_kernel
from .gradients import Formula
from .inference import infer_schema
from .libraries import Library, defined, parse_namespace
from .operator import CustomOperator, Kernel
from .overloads import OpOverload
from .tags import Tag, as_tags

log = logging.getLogger(__name__)

_Function = Callable[..., Any]

#: What ``custom_op`` has made, by name; defining it anew takes the old one back.
_libraries: dict[str, Library] = {}


@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
) -> Callable[[_Function], CustomOpDef]: ...
@overload
def custom_op(
    name: str,
    fn: _Function,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
) -> CustomOpDef: ...
def custom_op(
    name: str,
    fn: _Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
) -> Callable[[_Function], CustomOpDef] | CustomOpDef:
    """A function as an operator, ``@custom_op("mylib::foo", mutates_args=())``.

    The function computes the results from tensors of any shape and dtype, by whatever means; nothing looks
    into it. Its annotations are its schema (see ``infer_schema``), unless ``schema`` is given.
    ``mutates_args`` names the arguments that it writes to, or is ``"unknown"``; nothing that it returns may
    share memory with an argument or another result. ``device_types`` are the kinds of devices whose tensors
    it takes, by default all but those without data. Raises ValueError where the schema cannot be inferred or
    says something else than ``mutates_args``, NotImplementedError for tensors that are given by keyword
    alone.
    """

    def define(function: _Function) -> CustomOpDef:
        chosen = as_tags(tags)
        text = infer_schema(function, mutates_args=mutates_args, tags=chosen) if schema is None else schema
        ns, opname = parse_namespace(name)
        made = CustomOpDef(ns, opname, text, function, chosen)
        if schema is not None:
            made._check_mutated(mutates_args, schema)
        made.register_kernel(device_types)(function)
        return made

    return define if fn is None else define(fn)


class CustomOpDef:
    """An operator that ``custom_op`` has made: it is called, and more is registered for it."""

    __module__ = "tengen.library"

    def __init__(self, namespace: str, name: str, schema: str, fn: _Function, tags: tuple[Tag, ...]) -> None:
        self._namespace, self._name, self._init_fn = namespace, name, fn
        before = _libraries.pop(self._qualname, None)
        if before is not None:
            before._destroy()
        self._lib = Library(namespace, "FRAGMENT")
        own = tuple([t for t in tags if t is not Tag.pt2_compliant_tag])
        self._lib.define(name + schema, tags=(Tag.pt2_compliant_tag, *own))
        _libraries[self._qualname] = self._lib
        self._operator: CustomOperator = defined[self._qualname]
        self._opoverload: OpOverload = self._operator.overload
        #: The kinds of devices that there is a function for, None for all.
        self._kinds: set[str | None] = set()
        #: What is called in place of the function for a kind that is disabled.
        self._stand_ins: dict[str, Kernel] = {}
        self._abstract_fn: _Function | None = None
        self._check_keywords()
        operator = self._operator
        operator.definition = self
        operator.counts_writes = bool(operator.written)
        operator.check_result = _CHECKS.get(next((t for t in tags if t in _CHECKS), None), _check_fresh)
        if operator.signature.is_view and not operator.written:
            operator.check_result = None
        self._formula = Formula(operator)
        operator.add_kernel(self._formula.kernel)
        self._lib.impl(name, fake_kernel(self._fake, self._qualname), keys.without_data())

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the operator. RuntimeError where the arguments do not fit its schema."""
        return self._opoverload(*args, **kwargs)

    def _check_keywords(self) -> None:
        signature = self._operator.signature
        if not signature.out_variant and any([a.kwarg_only and a.holds_tensors for a in signature.arguments]):
            self._lib._destroy()
            raise NotImplementedError(
                "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. Got: "
                f"{str(signature).partition('::')[2]}"
            )

    def _check_mutated(self, mutates_args: str | Iterable[str], schema: str) -> None:
        expected = {a.name for a in self._operator.signature.arguments if a.is_write}
        if expected != set(mutates_args):
            self._lib._destroy()
            raise ValueError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. "
                f"The schema suggests that the op mutates {expected or '{}'} which is different from what "
                "was provided to us in `mutates_args`. Please make these consistent."
            )

    # -- kernels

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: _Function | None = None, /
    ) -> Any:
        """Register a function for kinds of devices, ``"cpu"``, or for all, None; also as a decorator.

        Raises ValueError for a kind of an operator that takes neither a tensor nor an argument ``device``.
        """
        kinds = (
            [device_types] if device_types is None or isinstance(device_types, str) else list(device_types)
        )
        arguments = self._operator.signature.arguments
        has_tensors = any([a.holds_tensors for a in arguments])
        has_device = any([a.type == "Device" and a.name == "device" for a in arguments])
        if device_types is not None and not has_tensors and not has_device:
            raise ValueError(
                "Functions without tensor inputs are required to have a `device: tengen.device` argument"
            )

        def register(function: _Function) -> _Function:
            for kind in kinds:
                key = keys.EXPLICIT if kind is None else keys.key_of_device(kind)
                self._kinds.add(kind)
                self._lib.impl(self._name, function, key)
                if kind in self._stand_ins:  # it stays disabled
                    stand_in = self._stand_ins[kind]
                    self._operator.remove_kernel(stand_in)
                    self._operator.add_kernel(stand_in)
            return function

        return register if fn is None else register(fn)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """A context in which the function for a kind of devices is called, or, disabled, the first one
        instead.
        """
        word = "enable" if enabled else "disable"
        before = device_type in self._stand_ins
        if device_type not in self._kinds:
            log.warning(
                "Attempted to %s kernel for %s but no kernel was registered for this device type.",
                word,
                device_type,
            )
        if before is not enabled:
            log.warning("Attempted to %s kernel for %s but it was already %sd.", word, device_type, word)
        self._disable(device_type, not enabled)
        try:
            yield
        finally:
            self._disable(device_type, before)

    def _disable(self, device_type: str, disabled: bool) -> None:
        if disabled and device_type not in self._stand_ins:
            key = keys.key_of_device(device_type)
            stand_in = self._stand_ins[device_type] = Kernel(self._init_fn, key, False, "")
            self._operator.add_kernel(stand_in)
        elif not disabled and device_type in self._stand_ins:
            self._operator.remove_kernel(self._stand_ins.pop(device_type))

    def register_fake(self, fn: _Function, /) -> _Function:
        """Register what computes the results' shapes and dtypes from tensors without data."""
        tag = next((t for t in self._operator.tags if t in (Tag.inplace, Tag.out)), None)
        if tag is not None:
            warnings.warn(
                f"The fake registration for {self} is unnecessary. Custom ops tagged with tengen.{tag} "
                "already get an autogenerated fake kernel. The provided fake impl will be used instead.",
                stacklevel=program_stacklevel(),
            )
        self._abstract_fn = fn
        return fn

    def _fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._abstract_fn is not None:
            return self._abstract_fn(*args, **kwargs)
        signature = self._operator.signature
        if signature.out_variant:
            outs = [kwargs[a.name] for a in signature.arguments if a.is_write]
            return outs[0] if len(outs) == 1 else tuple(outs)
        if Tag.inplace in self._operator.tags:
            return args[0]
        if signature.is_mutable and not signature.returns:
            return None
        raise RuntimeError(
            f"There was no fake impl registered for {self}. This is necessary for tensors without data. "
            f"Please use `{getattr(self._init_fn, '__name__', self._name)}.register_fake` to add an fake "
            "impl."
        )

    # -- derivatives and transforms

    def register_autograd(self, backward: _Function, /, *, setup_context: _Function | None = None) -> None:
        """Register the derivative: see ``tengen.library.register_autograd``.

        RuntimeError for an operator that writes to an argument.
        """
        signature = self._operator.signature
        if signature.out_variant:
            raise RuntimeError(
                f"Cannot register autograd formula for operator tagged with tengen.Tag.out: {self}. Out "
                "variants do not support autograd."
            )
        if not signature.is_functional:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {self} with schema "
                f"{signature}. Please create a functional operator and register an autograd formula for "
                "that."
            )
        self._formula.backward, self._formula.setup_context = backward, setup_context

    def register_vmap(self, func: _Function | None = None) -> Any:
        """Register the batching rule, also as a decorator: see ``tengen.library.register_vmap``."""

        def register(function: _Function) -> None:
            self._operator.vmap_rule = function
            self._operator.changed()

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Have autocast cast the floating-point tensors among the arguments to the dtype ``cast_inputs``.

        What the operator itself calls is not cast. ValueError for a kind of devices without autocast.
        """
        self._operator.cast_under_autocast(device_type, cast_inputs)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: _Function | None = None, /) -> None:
        """NotImplementedError: there is no ``__torch_dispatch__`` here; ``__tengen_function__`` sees the
        call.
        """
        raise NotImplementedError(
            f"{self}.register_torch_dispatch: tengen has no __torch_dispatch__; a class or mode with "
            "__tengen_function__ sees the calls of an operator"
        )


# -- what a function returns ------------------------------------------------------------------


def _check_fresh(operator: CustomOperator, arguments: Sequence[Any], result: Any, kernel: Kernel) -> None:
    """RuntimeError where a result shares memory with an argument or another result."""
    alone = operator.is_plain and isinstance(result, TensorBase) and result._storage is None
    if alone and not any([a is result or getattr(a, "_array", None) is result._array for a in arguments]):
        return  # it is no view, and has none
    seen = tensors_in(arguments)
    for out in tensors_in((result,)):
        if any([_shares(out, other) for other in seen]):
            raise RuntimeError(
                f"{_place(operator, kernel)}: The output of this custom operator (1) must not also be an "
                "input to this custom operator and (2) may not alias any inputs to this custom operator "
                "or other returns. The most common way to trigger this error is if we have y = "
                "custom_op(x) and y and x are the same Tensor. Please instead return a clone of the "
                "offending output tensor(s) (e.g. return x.clone()) or refactor the custom operator to "
                "not return y."
            )
        seen.append(out)


def _shares(out: Any, other: Any) -> Any:
    """Whether two tensors share memory as tengen knows it."""
    if out is other or out._array is other._array:
        return True
    storage = out._storage
    if storage is None or out._type.backend is not other._type.backend:
        return False
    # ``data`` has a version counter of its own.
    return storage is other._storage or out._type.backend.lib.may_share_memory(out._array, other._array)


def _check_inplace(operator: CustomOperator, arguments: Sequence[Any], result: Any, kernel: Kernel) -> None:
    if result is not arguments[0]:
        raise RuntimeError(
            f"{_place(operator, kernel)}: An operator tagged with tengen.Tag.inplace must return its first "
            "argument."
        )


def _check_out(operator: CustomOperator, arguments: Sequence[Any], result: Any, kernel: Kernel) -> None:
    wanted = [arguments[i] for i in operator.written]
    got = [result] if len(wanted) == 1 else list(result)
    if not all([a is b for a, b in zip(got, wanted, strict=True)]):
        raise RuntimeError(
            f"{_place(operator, kernel)}: An operator tagged with tengen.Tag.out must return its mutable "
            "keyword-only arguments."
        )


def _place(operator: CustomOperator, kernel: Kernel) -> str:
    name = operator.function.partition("::")[2]
    return f"{name} (with implementation in {inspect.getmodule(kernel.function)})"


_CHECKS: dict[Any, Any] = {Tag.inplace: _check_inplace, Tag.out: _check_out}


def opdef_of(op: Any) -> Any:
    """The CustomOpDef of an operator given as it, as an OpOverload, or by name; None where there is none."""
    if isinstance(op, CustomOpDef):
        return op
    if isinstance(op, OpOverload):
        op = op.name()
    found = defined.get(op)
    return None if found is None else found.definition
