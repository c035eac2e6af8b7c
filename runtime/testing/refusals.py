"""Who is at fault where an operator fails: the sample, the dtypes that it claims, or its kernel."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import numpy as np

from ..core.operands import tensors_in
from ..core.promotion import common_dtype
from . import declared
from .failure import Failure, Part, failure, in_short
from .reference import no_reference, reference
from .samples import Call, Fixed

#: The folders of functions that declarations name, in tengen and in a library.
_PACKAGES = frozenset({"kernels", "composite", "formulas", "onnx"})
#: What NumPy raises for arguments that do not fit.
_OF_INPUT = (IndexError, ValueError, RuntimeError, np.linalg.LinAlgError)


def refusal(case: Any) -> Exception | None:
    """What a call raises; None where it gives a result."""
    try:
        declared.run(case.name, case.values)
    except Exception as error:
        return error
    return None


def at_fault(case: Any, aspect: str, error: Exception) -> Failure:
    """The Failure of a call that raises: of what the other samples, dtypes and computations say is wrong."""
    text = in_short(error)
    call, kind, name = case.call, case.kind, case.name
    kernel, sample = Part("kernel", declared.main_backend()), Part("sample", call.text)
    dtypes = Part("dtypes", kind.name)
    is_sample = call.text in {str(s.source.value) for s in case.operator.samples}
    given = sorted(given_dtypes(call) - {d.name for d in declared.dtypes_of(case.operator)})

    def found(part: Part, message: str, *doubtful: Part) -> Failure:
        made = failure(case, aspect, part, message, doubtful=doubtful)
        made.origin, made.raised = raised_at(error), text
        return made

    others = [c for c in declared.calls(name) if c is not call and c.text != call.text]
    if any(computes(name, call, k) for k in kinds_of(call) if k is not kind):
        if is_sample and any(computes(name, c, kind) for c in others):
            message = f"{name} does not take this sample in {kind.name}, for which it is: {text}"
            return found(sample, message, kernel)
        return found(
            dtypes, f"{name} does not compute in {kind.name}, which its dtypes claim: {text}", kernel
        )
    message = f"{name} does not take its own sample: {text}"
    if is_sample and given and refuses_dtypes(call, kind):
        of = f"this sample of {name} has tensors of {' and '.join(given)}, which its dtypes do not claim"
        return found(sample, of, dtypes) if others else found(dtypes, of, sample)
    if is_sample and sample_is_wrong(case, others, error):
        return found(sample, message, kernel)
    return found(kernel, f"{name} fails: {text}", *([sample] if is_sample and of_input(error) else []))


def sample_is_wrong(case: Any, others: list[Call], error: Exception) -> bool:
    """Whether something else than the kernel refuses a sample, too: the reference, or Meta.

    Without a reference also where the kernel takes others, and this is an error of bad input.
    """
    if not no_reference(case.operator):
        try:
            reference(case.call, case.kind)
        except Exception:
            return True
        return False
    from .without_data import needs_data, on_meta

    if not needs_data(case.operator):
        try:
            declared.run(case.name, on_meta(case.call, case.kind))
        except Exception:
            return True
    return of_input(error) and any(computes(case.name, c, k) for c in others for k in kinds_of(c))


def kinds_of(call: Call) -> list[Any]:
    """The dtypes that a call is for."""
    has = declared.dtypes_of(call.operator)
    return [k for k in has if call.takes(k)] or declared.working_dtypes(call)


def computes(name: str, call: Call, kind: Any) -> bool:
    """Whether an operator takes a call in a dtype."""
    return call.takes(kind) and declared.runs(name, lambda: call.tensors(kind))


def given_dtypes(call: Call) -> set[str]:
    """The dtypes of the tensors that a sample gives as they are, whatever dtype is tried."""
    flat = [w for v in call.values for w in (v if isinstance(v, list) else [v])]
    return {v.value.dtype.name for v in flat if isinstance(v, Fixed) and not v.follows}


def refuses_dtypes(call: Call, kind: Any) -> bool:
    """Whether the dtype that a call is computed in is none that the operator claims."""
    has = declared.dtypes_of(call.operator)
    return bool(has) and computed_in(call, call.tensors(kind), kind) not in has


def computed_in(call: Call, values: list[Any], kind: Any) -> Any:
    """The dtype that the declared promotion, or else the first tensor, chooses for the kernel."""
    if call.operator.promote is None:
        first = next(iter(tensors_in(values)), None)
        return kind if first is None else first.dtype
    return common_dtype(operands(call, values), call.operator.promote)


def operands(call: Call, values: list[Any]) -> list[Any]:
    """The values that take part in promotion."""
    taking_part = [v for a, v in zip(call.arguments, values, strict=True) if a.name in call.operator.promoted]
    return [t for v in taking_part for t in (v if isinstance(v, list) else [v]) if t is not None]


def raised_at(error: BaseException) -> tuple[str, int] | None:
    """The file and line of a function that a declaration names, where an exception came about by mistake."""
    found = _innermost(error)
    return None if found is None or _raises(found) else (str(Path(found[0]).resolve()), found[1])


def of_input(error: BaseException) -> bool:
    """Whether an exception is one that bad input is answered with: raised on purpose, or by NumPy."""
    found = _innermost(error)
    return isinstance(error, _OF_INPUT) or (found is not None and _raises(found))


def _innermost(error: BaseException) -> tuple[str, int] | None:
    """The place in such a function from which an exception came, directly or out of NumPy."""
    while error.__context__ is not None:  # what the generated code has made it of
        error = error.__context__
    found, trace = None, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if _PACKAGES & {p.name for p in Path(file).parents}:
            found = file, trace.tb_lineno
        trace = trace.tb_next
    return found


def _raises(place: tuple[str, int]) -> bool:
    return linecache.getline(*place).strip().startswith("raise")
