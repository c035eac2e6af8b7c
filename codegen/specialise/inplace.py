"""Specialise: in-place variants that write as they compute.

The general form, in TypeDefault, computes the functional operator and copies its result. Where nothing is
recorded, no conversion is needed and the kernel is an expression of ufuncs, the last of these writes
into ``self`` at once; any other result of a pointwise kernel is copied without ceremony. Whatever
does not fit, or fails, is left to the general form, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ...ir.expressions import (
    Conditional,
    Constant,
    Expr,
    Logical,
    Name,
    all_of,
    dotted,
)
from ...ir.reader import filled
from ..derive.ufuncs import Ufuncs, writing
from ..model.annotations import parameter_name
from ..model.derived import Variant
from ..model.methods import StoreMethod, WriteMethod
from ..model.operators import Formula, Operator, Primitive, ScalarType
from .headers import parameters
from .recording import super_call
from .type_methods import FLAT, Specialiser


class InplaceWriter:
    """Makes the in-place methods of one backend's recording classes."""

    def __init__(
        self, specialiser: Specialiser, primitives: Mapping[str, Primitive], variants: Iterable[Variant]
    ) -> None:
        """Of ``variants`` those that may have such a method are looked at."""
        self.specialiser = specialiser
        self.ufuncs = Ufuncs(primitives)
        self.by_name = {str(v.name): v.operator for v in specialiser.derived.variants}
        written = [v for v in variants if v.kind == "inplace" and v.exposed]
        self.variants = [v for v in written if specialiser.is_flat(v.operator)]

    def methods(self, scalar: ScalarType) -> dict[str, StoreMethod]:
        """The methods of the class of a scalar type; those that only have the general form are left out."""
        if scalar.category != FLAT:
            return {}
        return {m.name: m for v in self.variants if (m := self._method(v, scalar)) is not None}

    def _method(self, variant: Variant, scalar: ScalarType) -> StoreMethod | None:
        base = self.by_name[str(variant.base)]
        # An operator that is declared in place may give what is written in another form: one number for all.
        kernel = self.specialiser.kernel(variant.operator) or self.specialiser.kernel(base)
        if kernel is None or not self.specialiser.supports(base, scalar):
            return None
        if (kernel.function is not None and "pointwise" not in base.tags) or "none" in base.overlap.values():
            return None
        condition = _conditions(variant.operator)
        if condition is None:
            return None
        same = kernel.function is None and base.result_kind == "same"
        written = written_into_self(kernel.formula.tree, self.ufuncs) if same else None
        if written is not None:
            kernel = replace(kernel, formula=Formula(kernel.formula.source, written))
        form = self.specialiser.native_form(base, self.specialiser.kernel(base) or kernel)
        locals_, call = self.specialiser.computation(base, kernel)
        if form is not None:
            out = Constant(...) if written is None else dotted("self._array")
            call = form.otherwise(form.plain(out), call)
        made = StoreMethod if written is None else WriteMethod
        return made(
            name=variant.name.method,
            operator=str(variant.name),
            parameters=parameters(variant.operator),
            returns="Tensor",
            call=call,
            locals=tuple(locals_),
            condition=all_of(condition) if condition else None,
            sharing=tuple(_sharing(variant.operator)),
            general=super_call(variant.name.method, variant.operator),
        )


def written_into_self(expr: Expr, ufuncs: Ufuncs) -> Expr | None:
    """The expression with its last operation writing into ``self``; None where that cannot be."""
    if isinstance(expr, Conditional):
        then, otherwise = written_into_self(expr.then, ufuncs), written_into_self(expr.otherwise, ufuncs)
        return None if then is None or otherwise is None else Conditional(expr.condition, then, otherwise)
    found = ufuncs.last(expr)
    if found is None or not found[0].out:
        return None
    primitive, operands = found
    return writing(primitive, expr, operands, Name("self"))


def _sharing(operator: Operator) -> Iterator[tuple[str, Expr]]:
    """The operands that may not share a part of the memory written, with the test that they share it."""
    for a in operator.schema.arguments[1:]:
        if a.is_tensor and a.name not in operator.overlap:
            name = parameter_name(a.name)
            there = "x is not None and " if a.type.is_optional else ""
            near = "T.backend.lib.may_share_memory(self._array, x._array)"
            yield name, filled(f"{there}x._storage is storage_ and x is not self and {near}", x=Name(name))


def _conditions(operator: Operator) -> list[Expr] | None:
    """The tests that no argument needs a conversion or a gradient; None where that is more than tests."""
    tests: list[Expr] = []
    for a in operator.schema.arguments[1:]:
        name = parameter_name(a.name)
        agree = a.name in operator.promoted or a.name in operator.same_dtype
        match str(a.type):
            case "Tensor" | "Tensor?":
                same = "x._type is T and " if agree else ""
                test = f"{same}not (x._requires_grad and grad_mode.enabled)"
            case "Scalar" | "Scalar?" if agree:
                test = "x.__class__ in T.weak"
            case "Scalar" | "Scalar?" | "int" | "float" | "bool" | "int?" | "float?" | "str" | "str?":
                continue
            case _:
                return None
        found = filled(f"x is None or {test}" if a.type.is_optional else test, x=Name(name))
        tests += found.operands if isinstance(found, Logical) and found.symbol == "and" else [found]
    return tests
