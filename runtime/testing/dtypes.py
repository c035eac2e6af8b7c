"""The dtypes that an operator claims, and those that it does not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Operator

from ..core.error_notes import public_name
from ..core.operands import tensors_in
from ..core.promotion import common_dtype
from . import declared
from .aspects import Aspect, Case, kernel
from .closeness import close, differing, tolerance
from .declared import COMPLEX, REAL, calls, determined, flat, run
from .failure import Mismatch, Part, blamed
from .reference import no_reference, reference
from .refusals import computed_in, operands
from .samples import Buffer, Call, Random
from .variants import in_place_variants, out_variants


def untyped(operator: Operator) -> str:
    """Why an operator claims no dtypes."""
    if not operator.dtypes:
        return "it claims no dtypes"
    return "it has no inputs" if operator.factory is not None else ""


def claimed(name: str) -> Iterator[Case]:
    """The calls of an operator in every dtype that it claims."""
    has = declared.dtypes_of(declared.operators()[name])
    for call in calls(name):
        yield from (Case(call, kind) for kind in filter(call.takes, has))


def check_claim(case: Case) -> None:
    """A claimed dtype gives the values of the widest one, in the dtype that the declaration says."""
    operator, kind, name = case.operator, case.kind, case.name
    values = case.values
    result = run(name, values)
    expected = result_dtype(case.call, values)
    dtypes = [t.dtype for t in flat(result)]
    arrays = [t.numpy().dtype for t in flat(result)]
    with blamed(case, "dtypes", kernel(), f"the kernel of {name} gives another dtype than is declared"):
        if arrays != [d.array_dtype for d in dtypes]:
            raise Mismatch(f"{case}: {arrays} called {dtypes}", got=str(arrays), expected=str(dtypes))
        if expected is not None and not set(dtypes) <= {expected}:
            raise Mismatch(f"{case}: {dtypes} is not {expected}", got=str(dtypes), expected=str(expected))
    wide = COMPLEX if kind.is_complex else REAL
    inexact = kind.is_inexact
    if inexact and kind is not wide and wide in declared.dtypes_of(operator) and comparable(operator):
        wider = run(name, [widened(v, kind, wide) for v in values])
        message = f"the kernel of {name} is wrong in {kind.name}"
        with blamed(case, "dtypes", kernel(), message, called=(kind.name, wide.name)):
            compare_widths(case, result, wider)


#: What a Scalar is replaced by: numbers of each kind, some beyond what narrow integers hold.
NUMBERS = (True, 2, -1, 100, 300, 2.5, 1.5 - 2j)


def no_scalars(operator: Operator) -> str:
    """Why no numbers among the arguments are varied."""
    scalars = any(a.type.required.is_scalar for a in operator.schema.arguments)
    return untyped(operator) if scalars else "it has no Scalar arguments"


def check_scalars(case: Case) -> None:
    """Whatever numbers there are among the arguments, a result's array is of the result's dtype."""
    scalars = [i for i, a in enumerate(case.call.arguments) if a.type.required.is_scalar]
    outs = out_variants(case.name) if len(case.operator.schema.returns) == 1 else []
    for name in (case.name, *in_place_variants(case.name), *outs):
        for i, number in product(scalars, NUMBERS):
            values = case.values
            values[i] = number
            if name in outs:
                values.append(tengen.empty((0,), dtype=case.kind))
            try:
                result = run(name, values)
            except (RuntimeError, NotImplementedError, OverflowError):
                continue  # not every dtype takes every number
            for t in flat(result):
                found, wanted = t.numpy().dtype, t.dtype.array_dtype
                with blamed(case, "scalars", kernel(), f"the kernel of {case.name} gives another dtype"):
                    if found != wanted:
                        raise Mismatch(f"{name} with {number}: an array of {found} is called {t.dtype}")


def comparable(operator: Operator) -> bool:
    """Whether the same arguments give the same values."""
    return declared.deterministic(operator) and declared.has_values(operator)


def compare_widths(case: Case, found: Any, wider: Any) -> None:
    """Floating results agree with the same computed with more digits."""
    if case.kind.category == "reduced" and rounds_once(case.operator):
        compare_rounded(case, found, wider)
        return
    allowed = 10 * tolerance(case.operator, case.kind)
    pairs = zip(determined(case.operator, found), determined(case.operator, wider), strict=True)
    for t, e in pairs:
        if t.dtype.is_inexact:
            t = t.detach().to(COMPLEX if e.is_complex() else REAL)
            close(t.numpy(), e.detach().numpy(), allowed, str(case))


def rounds_once(operator: Operator) -> bool:
    """Whether a reduced dtype is computed in a wider one: as is declared, or by a reduction's kernel."""
    return operator.opmath or "reduction" in operator.tags


def compare_rounded(case: Case, found: Any, wider: Any) -> None:
    """Results of a reduced dtype are what float32 gives, rounded once.

    Beside half of the last digit, what float32 may be off by is allowed: each of the terms of a sum is
    rounded with a partial sum of them, and a few more operations go before and after, hence the factor of 8.
    """
    unit, least = (
        tengen.finfo(case.kind).eps / 2,
        tengen.finfo(case.kind).smallest_normal * tengen.finfo(case.kind).eps,
    )
    inputs = [t.detach().to(REAL).abs() for t in tensors_in(case.values) if t.dtype is case.kind]
    inputs = [t.nan_to_num(0.0, 1.0, 1.0) for t in inputs if t.numel()]
    largest = max([float(t.max()) for t in inputs], default=0.0)
    terms = 1 if "pointwise" in case.operator.tags else max([t.numel() for t in inputs], default=1)
    for t, e in zip(determined(case.operator, found), determined(case.operator, wider), strict=True):
        if t.dtype is case.kind:
            a, b = t.detach().to(REAL).numpy(), e.detach().to(REAL).numpy()
            single = 8 * terms * np.finfo(np.float32).eps * (np.abs(b) + terms * largest)
            equal = (a == b) | (np.isnan(a) & np.isnan(b))
            with np.errstate(invalid="ignore"):
                wrong = ~equal & ~(np.abs(a - b) <= unit * np.abs(b) + least + single)
            if wrong.any():
                raise differing(a, b, wrong, str(case))


def result_dtype(call: Call, values: list[Any]) -> Any:
    """What the declared promotion makes of the arguments; None where the kernel decides."""
    operator = call.operator
    kind = operator.result_kind
    if kind == "bool":
        return tengen.bool
    if operator.promote is None or kind != "same":
        return None
    return common_dtype(operands(call, values), operator.promote)


def widened(value: Any, kind: Any, wide: Any) -> Any:
    """An argument with the tensors of one dtype in a wider one."""
    if isinstance(value, tengen.Tensor):
        return value.to(wide) if value.dtype is kind else value
    if isinstance(value, list):
        return [widened(v, kind, wide) for v in value]
    return value


# -- what is not claimed ---------------------------------------------------------------------


def unclaimed(name: str) -> Iterator[Case]:
    """A call in every dtype that the operator neither claims nor promotes to one that it does."""
    has = declared.dtypes_of(declared.operators()[name])
    call = next((c for c in calls(name) if isinstance(first_tensor(c), Random)), None)
    if call is None or any(isinstance(v, Buffer) for v in call.values):
        return  # of a buffer the forward operator refuses it
    for scalar in declared.scalar_types():
        kind = tengen.core.scalar_type.named(scalar.dtype)
        if computed_in(call, call.tensors(kind), kind) not in has:
            yield Case(call, kind)


def check_refusal(case: Case) -> None:
    """A dtype that is not claimed is an error that names the operator."""
    name, kind = case.name, case.kind.name
    part, message = Part("dtypes", kind), f"{name} computes in {kind}, which its dtypes do not claim"
    try:
        run(name, case.values)
    except (NotImplementedError, RuntimeError, TypeError) as error:
        with blamed(case, "refused", part, f"the error of {name} for {kind} does not name it"):
            own = case.operator.name.base.strip("_").split("_")[0]
            if own not in str(error) and public_name(name) not in str(error):
                raise Mismatch(str(error)) from error
        return
    with blamed(case, "refused", part, message):
        raise Mismatch("there was no error")


def first_tensor(call: Call) -> Any:
    """The value of the argument whose dtype chooses the Type, where nothing promotes."""
    tensors = (v for a, v in zip(call.arguments, call.values, strict=True) if a.is_tensor_like)
    flat_values = (w for v in tensors for w in (v if isinstance(v, list) else [v]))
    return next((v for v in flat_values if v is not None), None)


# -- a dtype that is asked for ---------------------------------------------------------------


def no_option(operator: Operator) -> str:
    """Why an operator cannot be asked for a dtype."""
    last = operator.schema.kwarg_only[:1]
    optional = [a for a in last if a.name == "dtype" and a.type.is_optional_dtype]
    return "" if optional and not operator.name.inplace else "it has no option dtype"


def without_dtype(name: str) -> list[Case]:
    """The first call of an operator that leaves its dtype open."""
    found = [c for c in calls(name) if given_dtype(c) is None and c.takes(tengen.float32)]
    return [Case(c, tengen.float32) for c in found[:1]]


def given_dtype(call: Call) -> Any:
    """The value of a call's option."""
    return next(v for a, v in zip(call.arguments, call.values, strict=True) if a.name == "dtype")


def check_option(case: Case) -> None:
    """With a dtype the result is in that, and the same to its digits."""
    place = [a.name for a in case.call.arguments].index("dtype")
    values = case.values
    usual = flat(run(case.name, values))
    for kind in (tengen.float32, tengen.float64):
        values[place] = kind
        results = flat(run(case.name, values))
        with blamed(case, "dtype", kernel(), f"{case.name} does not do as its option dtype says"):
            for result, plain in zip(results, usual, strict=True):
                if result.dtype is not kind:
                    raise Mismatch(f"{case}: not that dtype", got=str(result.dtype), expected=str(kind))
                if comparable(case.operator) and not plain.is_complex():
                    close(result.detach().to(REAL).numpy(), plain.detach().to(REAL).numpy(), 2e-4, str(case))


# -- integers --------------------------------------------------------------------------------


def no_integers(operator: Operator) -> str:
    """Why results for integers are not compared with those for the same floating numbers."""
    if untyped(operator) or not comparable(operator):
        return untyped(operator) or "its results are random"
    if "integer_division" in operator.tags:
        return "it divides integers without remainder"
    if "of_bits" in operator.tags:
        return "it reads bits"
    if declared.aliases(operator) or operator.is_composite:
        return "it computes nothing itself"
    return ""


def of_integers(name: str) -> Iterator[Case]:
    """The calls that integers can be given to: whose numbers are whole ones, or that have a reference."""
    for call in calls(name):
        random = any(isinstance(v, Random) for v in call.values)
        judged = whole(call) or not no_reference(call.operator)
        if judged and random and call.takes(tengen.int64) and call.takes(REAL):
            kinds = {computed_in(call, call.tensors(k), k) for k in (tengen.int64, REAL)}
            if kinds <= set(declared.dtypes_of(call.operator)):
                yield Case(call, tengen.int64)


def whole(call: Call) -> bool:
    """Whether all numbers of a call are whole."""
    return all(float(v).is_integer() for v in call.values if isinstance(v, float) and math.isfinite(v))


def check_integers(case: Case) -> None:
    """Integers have the results that the same numbers have as floating ones; or that the reference gives."""
    found = run(case.name, case.values)
    if not whole(case.call):
        message = f"the kernel of {case.name} gives other values for integers than its reference"
        with blamed(case, "integers", kernel(), message, called=("kernel", "reference")):
            compare_integers(case, found)
        return
    floats = [_floating(v, s) for v, s in zip(case.values, case.call.values, strict=True)]
    expected = run(case.name, floats)
    message = f"{case.name} gives other values for integers than for the same floating numbers"
    with blamed(case, "integers", kernel(), message, called=("integers", "floating")):
        for t, e in zip(determined(case.operator, found), determined(case.operator, expected), strict=True):
            if not e.is_complex():
                close(t.detach().to(REAL).numpy(), e.detach().to(REAL).numpy(), 2e-4, str(case))


def compare_integers(case: Case, found: Any) -> None:
    """What integers give against what the reference makes of them, which may be of another dtype."""
    expected = reference(case.call, case.kind)
    wanted = list(expected) if isinstance(expected, (tuple, list)) else [expected]
    allowed = 10 * tolerance(case.operator, tengen.float32)  # such as integers are promoted to
    for t, e in zip(flat(found), wanted, strict=True):
        if e is not None and not t.is_complex():
            close(t.detach().to(REAL).numpy(), np.asarray(e, np.float64), allowed, str(case))


def _floating(value: Any, declared_value: Any) -> Any:
    if isinstance(declared_value, list):
        return [_floating(v, d) for v, d in zip(value, declared_value, strict=True)]
    return value.to(REAL) if isinstance(declared_value, Random) else value


ASPECTS = (
    Aspect("dtypes", "every dtype that is claimed", check_claim, claimed, untyped),
    Aspect("scalars", "numbers of all kinds", check_scalars, claimed, no_scalars, after=("dtypes",)),
    Aspect("refused", "every dtype that is not", check_refusal, unclaimed, untyped),
    Aspect("dtype", "a dtype that is asked for", check_option, without_dtype, no_option),
    Aspect(
        "integers",
        "integers as floating numbers",
        check_integers,
        of_integers,
        no_integers,
        after=("value", "dtypes"),
    ),
)
