"""Calls from the bindings that are no first paths: which overload takes them, with which arguments.

A mode or an argument may take a call over before (``tengen.overrides``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.error_notes import note_operator
from ..core.function_dispatch import NO_ARGUMENTS, UNHANDLED, Overridden, at_level, dispatch_bound, state
from ..core.interception import active
from ..core.tensor_base import TensorBase
from ..core.user_stack import warn_once
from .arguments import (
    UNDECIDED,
    Mismatch,
    Rejected,
    bind_arguments,
    bind_positional,
    describe_call,
    shown,
)
from .binding_support import MISSING
from .operator import Operator, operator, overload_names, overloads, table


def call(
    function: str,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    public: Any = None,
    seen: tuple[Any, ...] | None = None,
    seen_keywords: dict[str, Any] | None = None,
) -> Any:
    """Call the first overload of ``function`` that takes these arguments.

    ``public`` is what the user called, a function or the name of a method, where arguments and modes may
    take the call over; ``seen`` its arguments, if the method's own differ. Raises TypeError, naming what
    came and what was expected, when no overload takes them.
    """
    if keywords:
        arguments, keywords = _without_missing(function, arguments, keywords)
    found = _unless_taken_over(function, arguments, keywords)
    if found is None:
        result, found = _taken_over(
            function, arguments, keywords, public, arguments if seen is None else seen, seen_keywords
        )
        if result is not UNHANDLED:
            return result
        if found is None:
            found = _deprecated_form(function, arguments, keywords, public.__class__ is str)
        if found is None:
            raise _no_overload(function, arguments, keywords)
    chosen, bound = found
    return chosen(*bound)


def call_operator(function: str, arguments: tuple[Any, ...], public: Any = None) -> Any:
    """As ``call``, for Python's operators: NotImplemented for operands that are not ours."""
    found = _unless_taken_over(function, arguments, {})
    if found is None:
        try:
            result, found = _taken_over(function, arguments, {}, public, arguments, None)
        except TypeError:
            if len(arguments) == 1:
                raise
            return NotImplemented
        if result is not UNHANDLED:
            return result
        if found is None:
            return NotImplemented
    chosen, bound = found
    return chosen(*bound)


def call_comparison(function: str, arguments: tuple[Any, ...], public: Any = None) -> Any:
    """As ``call_operator``, and elementwise with a NumPy array, which leaves comparisons to the tensor.

    Without that Python would ask whether the two are the same object.
    """
    found = call_operator(function, arguments, public)
    if found is NotImplemented and isinstance(arguments[1], np.ndarray):
        tensor, array = arguments
        return call_operator(function, (tensor, tensor.__array_wrap__(array)), public)
    return found


def make(
    function: str,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    public: Any,
    requires_grad: Any,
) -> Any:
    """As ``call``, for functions that make tensors: with ``requires_grad`` a leaf."""
    given = keywords
    if keywords and keywords.get("out") is not None:
        keywords = _without_options(function, keywords)
    if requires_grad is False or requires_grad is None:
        return call(function, arguments, keywords, public, seen_keywords=given)
    if requires_grad is not True:
        name = type(requires_grad).__name__
        raise TypeError(f"{function}(): argument 'requires_grad' must be bool, not {name}")
    arguments, keywords = _without_missing(function, arguments, keywords)
    result = dispatch_bound(public, arguments, {**given, "requires_grad": requires_grad})
    if result is UNHANDLED:
        result = call(function, arguments, keywords)
        result.requires_grad = True
    return result


def _without_options(function: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords less what they say of the tensor to be made. RuntimeError where ``out`` is not so."""
    out = keywords["out"]
    options = table().TENSOR_OPTIONS
    parameters = {p.name: p for o in overloads(function, False) for p in o.parameters if p.name in options}
    parameters.pop("pin_memory", None)  # of no tensor can it be told
    for name, parameter in parameters.items():
        try:
            wanted = parameter.convert(keywords.get(name))
        except Mismatch:
            return keywords  # the overloads say what is wrong with it
        if wanted is not None and isinstance(out, TensorBase) and getattr(out, name) != wanted:
            raise RuntimeError(
                f"{function}: {name} {wanted} does not match {name} of out parameter ({getattr(out, name)})"
            )
    return {k: v for k, v in keywords.items() if k not in options}


def _without_missing(
    function: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call without what a binding says is missing, which keywords give by another word.

    What comes after that becomes keywords, by the names that the overloads then have in common.
    """
    count = next((i for i, value in enumerate(arguments) if value is MISSING), None)
    if count is None:
        return arguments, keywords
    parameters = operator(overload_names(function)[0]).parameters
    later = zip(parameters[count:], arguments[count:], strict=False)
    named = {shown(p): v for p, v in later if v is not MISSING and (p.required or v is not p.default)}
    return arguments[:count], {**named, **keywords}


def _unless_taken_over(
    function: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Operator, list[Any]] | None:
    """As ``chosen_overload``; None also where a mode or an argument may take the call over.

    Arguments that do are met where arguments are converted: looking for them before would cost every call.
    """
    if active and state.modes:
        return None
    try:
        return chosen_overload(function, arguments, keywords)
    except Overridden:
        return None


def _taken_over(
    function: str,
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    public: Any,
    seen: tuple[Any, ...],
    seen_keywords: dict[str, Any] | None,
) -> tuple[Any, tuple[Operator, list[Any]] | None]:
    """The result of whoever takes the call over; else UNHANDLED, and the overload to call."""
    if public is not None:
        result = dispatch_bound(public, seen, keywords if seen_keywords is None else seen_keywords)
        if result is not UNHANDLED:
            return result, None
    with at_level(NO_ARGUMENTS):
        return UNHANDLED, chosen_overload(function, arguments, keywords)


def chosen_overload(
    function: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Operator, list[Any]] | None:
    """The first overload that takes the arguments, and these converted."""
    candidates = overloads(function, keywords.get("out") is not None)
    if keywords:
        keywords = _without_no_out(function, keywords)
    if not keywords:
        for chosen in candidates:
            bound = bind_positional(chosen.parameters, arguments)
            if bound is UNDECIDED:
                break
            if bound is not None:
                return chosen, bound
    worded = [(o, plain_keywords(keywords, o.names)) for o in candidates]
    fitting = [(o, named) for o, named in worded if o.names.issuperset(named)]
    for chosen, named in fitting:
        try:
            return chosen, bind_arguments(chosen.parameters, arguments, named)
        except Rejected:
            continue
    for chosen, named in fitting:  # a number stands for a tensor only where no overload takes it as it is
        if chosen.numbers:
            try:
                bound = bind_arguments(chosen.parameters, arguments, named, numbers=True)
            except Rejected:
                continue
            if chosen.numbers == "alone" or any([isinstance(bound[i], TensorBase) for i in chosen.tensors]):
                return chosen, bound
    return None


def _deprecated_form(
    function: str, arguments: tuple[Any, ...], keywords: dict[str, Any], is_method: bool
) -> tuple[Operator, list[Any]] | None:
    """As ``chosen_overload``, for arguments in an order that is declared as deprecated; it warns once."""
    for order in table().DEPRECATED.get(function, ()):
        names = ["input" if name == "self" else name for name in order]
        if is_method:
            names.sort(key=lambda name: name != "input")
        if len(arguments) > len(names) or _given_twice(function, keywords, names[: len(arguments)]):
            continue
        named = dict(zip(names, arguments, strict=False))
        with at_level(NO_ARGUMENTS):
            found = chosen_overload(function, (), {**keywords, **named})
        if found is not None:
            _warn_of_deprecated(function, names, found[0])
            return found
    return None


def _given_twice(function: str, keywords: dict[str, Any], names: Sequence[str]) -> bool:
    """Whether a name is a keyword, too, with a value that is not the default, which bindings give."""
    defaults = {shown(p): p.default for p in operator(table().OVERLOADS[function][0]).parameters}
    return any([n in keywords and keywords[n] != defaults.get(n, MISSING) for n in names])


def _warn_of_deprecated(function: str, names: Sequence[str], chosen: Operator) -> None:
    warn_once(
        f"overload of {function}",
        f"This overload of {function} is deprecated:\n\t{function}({', '.join(names)})\n"
        f"Consider using the following signature instead:\n\t{chosen.schema}",
    )


def plain_keywords(keywords: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """The keywords in PyTorch's words; ``names`` mean what they say.

    A word for what is given already stays as it is, and is then no keyword of the operator.
    """
    if not table().NUMPY_NAMES.keys().isdisjoint(keywords):
        plain: dict[str, Any] = {}
        for k, v in keywords.items():
            name = k if k in names else table().NUMPY_NAMES.get(k, k)
            plain[k if name != k and (name in keywords or name in plain) else name] = v
        keywords = plain
    return keywords


def _without_no_out(function: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords less an ``out`` that is None, of a function that takes one."""
    if keywords.get("out", MISSING) is None and any([operator(n).out for n in overload_names(function)]):
        return {k: v for k, v in keywords.items() if k != "out"}
    return keywords


def _no_overload(function: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> TypeError:
    """The error of a call that no overload takes, with the reason of each."""
    rejected: list[tuple[Operator, Rejected]] = []
    keywords = _without_no_out(function, keywords)
    for chosen in overloads(function, keywords.get("out") is not None):
        try:
            bind_arguments(chosen.parameters, arguments, plain_keywords(keywords, chosen.names))
        except Rejected as reason:
            rejected.append((chosen, reason))
    error = describe_call(function, arguments, keywords, rejected)
    note_operator(error, function)
    return error
