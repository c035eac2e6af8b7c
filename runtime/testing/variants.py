"""In-place and out variants against the functional operator; views against memory."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Operator
from tengen.codegen.model.schema import Argument

from ..core.operands import tensors_in
from . import declared
from .aspects import Aspect, Case, in_first_dtype, kernel
from .closeness import close
from .declared import REAL, aliases, flat, has_values, operators, run, variants
from .failure import Mismatch, Part, blamed


def signature(operator: Operator) -> tuple[Any, ...]:
    """What an operator and its in-place form have in common."""
    return operator.name.base, *((a.name, str(a.type)) for a in operator.schema.arguments)


@functools.cache
def functional() -> dict[tuple[Any, ...], str]:
    """The operators with samples that are not in place, by signature."""
    return {signature(o): n for n, o in operators().items() if not o.name.inplace}


@functools.cache
def _by_base(kind: str) -> dict[str, list[str]]:
    """The variants of a kind ("inplace", "out") that are derived, by the operator they are derived from."""
    found: dict[str, list[str]] = {}
    for name, v in variants().items():
        if declared.kind_of(v) == kind:
            found.setdefault(str(v.base), []).append(name)
    return found


@functools.cache
def _entries(tag: bool) -> dict[str, list[str]]:
    """In-place operators with entries, by their functional one: those that change shapes, or the others."""
    found: dict[str, list[str]] = {}
    for operator in declared.declared_operators().values():
        base = functional().get(signature(operator)) if operator.name.inplace else None
        if base is not None and ("inplace_view" in operator.tags) is tag:
            found.setdefault(base, []).append(str(operator.name))
    return found


def in_place_variants(name: str) -> list[str]:
    """The operators that write what this one returns into its first argument, derived or with entries."""
    return sorted({*_by_base("inplace").get(name, ()), *_entries(False).get(name, ())})


def out_variants(name: str) -> list[str]:
    """The variants that write what this operator returns into further arguments."""
    return _by_base("out").get(name, [])


def writes_list(variant: str) -> bool:
    """Whether an out variant takes a list of tensors, and returns nothing."""
    return variants()[variant].operator.schema.writes_list


def together(variant: str, outs: Sequence[Any]) -> Any:
    """The out arguments of a variant as the one value that a call gives for them."""
    return tuple(outs) if len(outs) != 1 or writes_list(variant) else outs[0]


def view_variants(name: str) -> list[str]:
    """The operators that change the shape of their argument to that of the view that this one returns."""
    return _entries(True).get(name, [])


def no_variants(of: Any) -> Any:
    """``missing`` of an aspect that is about these variants."""

    def missing(operator: Operator) -> str:
        if not declared.deterministic(operator):
            return "its results are random"
        return "" if of(str(operator.name)) else "it has no such variant"

    return missing


def cases_of(of: Any, first: bool = False) -> Any:
    """``cases`` of an aspect that is about these variants: of all samples, or the first."""

    def cases(name: str) -> list[Case]:
        found = list(in_first_dtype(name))
        return [Case(c.call, c.kind, v) for v in of(name) for c in (found[:1] if first else found)]

    return cases


# -- in place ----------------------------------------------------------------------------------


def check_in_place(case: Case) -> None:
    """What is written is the functional result; a result that does not fit is an error."""
    values = case.values
    target = values[0]
    if not isinstance(target, tengen.Tensor):
        return  # a sample that gives a number
    name, called = case.variant, (case.variant, case.name)
    expected = flat(run(case.name, case.values))[0]
    fits = expected.shape == target.shape and tengen.can_cast(expected.dtype, target.dtype)
    if not fits:
        refused(case, "in place", values, f"{name} writes a result that does not fit")
        return
    memory = target.data_ptr()
    with blamed(case, "in place", kernel(), f"{name} fails"):
        result = run(name, values)
    with blamed(case, "in place", kernel(), f"{name} does not write {case.name}'s result", called=called):
        if result is not target or target.data_ptr() != memory:
            raise Mismatch("the tensor that is returned is not the one that was given")
        if target._version != 1:
            raise Mismatch(f"{target._version} writes are counted")
        close(target.numpy(), expected.to(target.dtype).numpy(), 1e-12, name)


def refused(case: Case, aspect: str, values: list[Any], message: str) -> None:
    """The variant is an error for these values, and changes nothing."""
    before = values[0].detach().numpy().copy()
    try:
        run(case.variant, values)
    except RuntimeError:
        with blamed(case, aspect, kernel(), f"{case.variant} changes its argument before it fails"):
            np.testing.assert_array_equal(values[0].detach().numpy(), before)
        return
    with blamed(case, aspect, kernel(), message):
        raise Mismatch("there was no error")


def check_leaf(case: Case) -> None:
    """A leaf that requires gradients cannot be written to, save by what has no derivative."""
    values = case.values
    target = values[0]
    if isinstance(target, tengen.Tensor) and (target.is_floating_point() or target.is_complex()):
        target.requires_grad_()
        if declared.constant_in_place(variants()[case.variant]):
            with blamed(case, "leaf", kernel(), f"{case.variant} does not leave a leaf as one"):
                run(case.variant, values)
                if not (target.requires_grad and target.is_leaf and target._version == 1):
                    raise Mismatch("it has a history, or no gradient")
            return
        refused(case, "leaf", values, f"{case.variant} writes to a leaf that requires gradients")


# -- out ---------------------------------------------------------------------------------------


def check_out(case: Case) -> None:
    """What is written to the out arguments, which get its shape, is the functional result, named alike."""
    operator, call = case.operator, case.call
    result = run(case.name, case.values)
    expected = flat(result)
    outs = [tengen.empty((0,), dtype=e.dtype) for e in expected]
    given = [v for a, v in zip(call.arguments, case.values, strict=True) if not _option(operator, a)]
    called = (case.variant, case.name)
    with blamed(case, "out", kernel(), f"{case.variant} does not write {case.name}'s result", called=called):
        returned = run(case.variant, [*given, together(case.variant, outs)])
        if returned is None and writes_list(case.variant):
            returned = result.__class__(outs)
        if not isinstance(returned, type(result)):
            got, wanted = type(returned).__name__, type(result).__name__
            raise Mismatch("what is returned has not the functional result's names", got=got, expected=wanted)
        for out, back, e in zip(outs, flat(returned), expected, strict=True):
            if back is not out or out.shape != e.shape:
                raise Mismatch("what is returned is not what was given, with the result's shape")
            if has_values(operator):
                close(out.numpy(), e.numpy(), 1e-12, case.variant)


def _option(operator: Operator, argument: Argument) -> bool:
    return operator.factory is not None and argument.kwarg_only and argument.type.is_option


def no_out_gradients(operator: Operator) -> str:
    """Why out variants are not tried with gradients."""
    if str(operator.name) not in declared.derived().nodes:
        return "it has no derivative"
    return str(no_variants(out_variants)(operator))


def check_out_gradients(case: Case) -> None:
    """An out variant is an error for inputs that require gradients."""
    values = case.values
    tensors = [t for t in tensors_in(values) if t.is_floating_point()]
    if not tensors or REAL not in declared.working_dtypes(case.call):
        return
    expected = flat(run(case.name, values))
    if not all(e.is_floating_point() for e in expected):
        return
    outs = [tengen.empty((0,), dtype=e.dtype) for e in expected]
    tensors[0].requires_grad_()
    with blamed(case, "out gradients", kernel(), f"{case.variant} does not refuse gradients"):
        try:
            run(case.variant, [*values, together(case.variant, outs)])
        except RuntimeError as error:
            if "automatic differentiation" not in str(error):
                raise
        else:
            raise Mismatch("there was no error")


# -- views -------------------------------------------------------------------------------------


def no_views(operator: Operator) -> str:
    """Why an operator's results are not asked for the memory of its argument."""
    if "maybe_aliasing_or_mutating" in operator.tags:
        return "its results share memory at times"
    return "" if aliases(operator) else "it declares no views"


def check_shared(case: Case) -> None:
    """A view has its base's memory, and a write to it counts as one to the base."""
    values = case.values
    base = tensors_in(values)[0]
    memory = base.untyped_storage().data_ptr()
    copy = f"{case.name} declares its result an alias, and copies"
    for view in flat(run(case.name, values)):
        with blamed(case, "views", Part("alias"), copy):
            if view.numel() and view.untyped_storage().data_ptr() != memory:
                raise Mismatch("the result has memory of its own")
        if view._base is not None and view.numel():
            version = base._version
            with tengen.no_grad():
                view.zero_()
            with blamed(case, "views", Part("alias"), f"a write to a view of {case.name} is not counted"):
                if base._version != version + 1:
                    raise Mismatch(f"the base's version is {base._version}, not {version + 1}")


def check_view_in_place(case: Case) -> None:
    """The tensor takes the shape, strides and place in memory that the view has."""
    view = flat(run(case.name, case.values))[0]
    values = case.values
    target = values[0]
    memory = target.untyped_storage().data_ptr()
    message, called = f"{case.variant} does not become {case.name}'s view", (case.variant, case.name)
    with blamed(case, "views in place", kernel(), message, called=called):
        result = run(case.variant, values)
        if result is not target or target.untyped_storage().data_ptr() != memory:
            raise Mismatch("the tensor that is returned is not the one that was given")
        layout, wanted = ((t.stride(), t.storage_offset()) for t in (target, view))
        if layout != wanted:
            raise Mismatch("another layout", got=str(layout), expected=str(wanted))
        close(target.numpy(), view.numpy(), 0.0, case.variant)


ASPECTS = (
    Aspect("views", "that views share memory", check_shared, in_first_dtype, no_views),
    Aspect(
        "in place",
        "in-place variants",
        check_in_place,
        cases_of(in_place_variants),
        no_variants(in_place_variants),
        in_place_variants,
        after=("value",),
    ),
    Aspect(
        "leaf",
        "in-place variants of leaves",
        check_leaf,
        cases_of(in_place_variants, first=True),
        no_variants(in_place_variants),
        in_place_variants,
        after=("in place",),
    ),
    Aspect(
        "out",
        "out variants",
        check_out,
        cases_of(out_variants),
        no_variants(out_variants),
        out_variants,
        after=("value",),
    ),
    Aspect(
        "out gradients",
        "out variants of what requires gradients",
        check_out_gradients,
        cases_of(out_variants, first=True),
        no_out_gradients,
        out_variants,
        after=("out",),
    ),
    Aspect(
        "views in place",
        "in-place variants of views",
        check_view_in_place,
        cases_of(view_variants),
        lambda o: "" if view_variants(str(o.name)) else "it has no such variant",
        view_variants,
        after=("views",),
    ),
)
