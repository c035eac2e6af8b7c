"""Bad input: the declared bad calls, and what is wrong for every operator."""

from __future__ import annotations

import builtins
from typing import Any

import tengen
from tengen.codegen.model.operators import Operator
from tengen.codegen.model.schema import Argument
from tengen.generated.operators import OVERLOADS

from .. import functional
from ..core.error_notes import public_name
from ..core.operands import tensors_in
from ..dispatch.calls import call as call_function
from . import declared
from .aspects import Aspect, Case, in_first_dtype, kernel
from .closeness import close
from .declared import REAL, bad_calls, run
from .failure import Mismatch, Part, blamed
from .samples import Call


def error_class(name: str) -> type[BaseException]:
    """The class that an ``errors`` sample names."""
    found = getattr(builtins, name, None) or getattr(tengen, name, None) or getattr(tengen.linalg, name)
    assert isinstance(found, type)
    return found


def bad_dtypes(bad: Call) -> list[Any]:
    """The dtypes that a bad call is for; float64, or what the operator has, where it does not say."""
    if bad.only is not None:
        return sorted(bad.only, key=str)
    has = declared.dtypes_of(bad.operator)
    return [REAL if not has or REAL in has else has[-1]]


def no_errors(operator: Operator) -> str:
    """Why there are no bad calls."""
    raises = any(s.raises is not None for s in operator.samples)
    return "" if raises else "it declares no errors"


def bad_cases(name: str) -> list[Case]:
    """The declared bad calls in their dtypes."""
    operator = declared.declared_operators()[name]
    return [Case(bad, kind) for bad, _ in bad_calls(operator) for kind in bad_dtypes(bad)]


def check_error(case: Case) -> None:
    """The bad call raises what is declared, with a text, and changes no argument."""
    raises = next(r for bad, r in bad_calls(case.operator) if bad.text == case.call.text)
    values = case.values
    before = [t.detach().clone() for t in tensors_in(values)]
    part = Part("sample", case.call.text)
    with blamed(case, "errors", part, f"{case.name} does not raise {raises}"):
        try:
            result = run(case.name, values)
        except error_class(raises) as error:
            if not str(error):
                raise Mismatch("the error has no text") from None
        else:
            raise Mismatch(f"it gives {' '.join(str(result).split())[:60]}")
    with blamed(case, "errors", part, f"{case.name} changes an argument before it fails"):
        for t, e in zip(tensors_in(values), before, strict=True):
            close(t.detach().numpy(), e.detach().numpy(), 0.0)


# -- of every function ---------------------------------------------------------------------------


def unbound(operator: Operator) -> str:
    """Why an operator is not called by its function's name."""
    name = str(operator.name)
    return "" if name in OVERLOADS.get(name.partition(".")[0], ()) else "users have no function for it"


def first_case(name: str) -> list[Case]:
    """The first sample of an operator, in one dtype."""
    return list(in_first_dtype(name))[:1]


def positional(sample: Call, values: list[Any]) -> tuple[Any, ...]:
    """The values that are given by position."""
    return tuple(v for v, a in zip(values, sample.arguments, strict=True) if not a.kwarg_only)


def required(sample: Call, values: list[Any]) -> dict[str, Any]:
    """The keywords that a call must have."""
    return {
        a.name: v for v, a in zip(values, sample.arguments, strict=True) if a.kwarg_only and a.default is None
    }


def refuses(case: Case, aspect: str, words: tuple[str, ...], given: tuple[Any, ...], **keywords: Any) -> None:
    """The function raises a TypeError whose text has these words."""
    with blamed(case, aspect, kernel(), f"{case.name} does not tell what is wrong with its arguments"):
        try:
            call_function(case.name.partition(".")[0], given, keywords)
        except TypeError as error:
            if not all(word in str(error) for word in words):
                raise Mismatch(f"the text is {error}") from None
        else:
            raise Mismatch("there was no TypeError")


def check_types(case: Case) -> None:
    """An object for a tensor, a tensor for a list, is a TypeError that names the function and what came."""
    values, function, told = case.values, case.name.partition(".")[0], public_name(case.name)
    for i, a in enumerate(case.call.arguments):
        if a.is_tensor and not a.kwarg_only:
            given = [*values[:i], object(), *values[i + 1 :]]
            keywords = required(case.call, given)
            refuses(case, "types", (told, "object"), positional(case.call, given), **keywords)
        elif a.is_tensor_list and not a.kwarg_only and function not in dir(functional):
            given = [*values[:i], tengen.ones(2, 2, 2), *values[i + 1 :]]
            keywords = required(case.call, given)
            refuses(case, "types", (told, "Tensor"), positional(case.call, given), **keywords)


def check_keywords(case: Case) -> None:
    """A keyword that no argument has is a TypeError that names it."""
    values = case.values
    keywords = {**required(case.call, values), "no_such_argument": 1}
    refuses(case, "keywords", ("no_such_argument",), positional(case.call, values), **keywords)


def alternatives(operator: Operator) -> list[Operator]:
    """The declared overloads of an operator's function."""
    found = (declared.declared_operators().get(n) for n in OVERLOADS[str(operator.name).partition(".")[0]])
    return [o for o in found if o is not None]


def no_tensors(operator: Operator) -> str:
    """Why a call with numbers alone is not wrong."""
    if not unbound(operator) and any(a.is_tensor for a in operator.schema.positional):
        others = alternatives(operator)
        if any("numbers_as_tensors" in o.tags for o in others):
            return "it takes numbers alone"
        numbers = any(not any(a.is_tensor_like for a in o.schema.arguments) for o in others)
        return "another overload takes no tensors" if numbers else ""
    return unbound(operator) or "it takes no tensors"


def check_numbers(case: Case) -> None:
    """Numbers for all tensors are a TypeError that names the function, and what came."""
    values = [2 if a.is_tensor else v for a, v in zip(case.call.arguments, case.values, strict=True)]
    keywords = required(case.call, values)
    refuses(case, "numbers", (public_name(case.name), "int"), positional(case.call, values), **keywords)


_INTS = ("int", "int?", "int[]", "int[]?", "int[1]", "int[1]?", "int[2]", "int[3]")


def check_bools(case: Case) -> None:
    """True for an int, or a list of it for ints, is a TypeError, unless an overload takes a bool there."""
    values, others = case.values, alternatives(case.operator)
    for i, a in enumerate(case.call.arguments):
        if str(a.type).replace("SymInt", "int") not in _INTS or a.kwarg_only or values[i] is None:
            continue
        there = [o.schema.positional[i] for o in others if i < len(o.schema.positional)]
        if any(str(p.type).rstrip("?") not in ("str", "Tensor[]") and not _is_int(p) for p in there):
            continue
        given = [*values[:i], (True,) if "[" in str(a.type) else True, *values[i + 1 :]]
        words = (public_name(case.name), "bool")
        refuses(case, "bools", words, positional(case.call, given), **required(case.call, given))


def _is_int(argument: Argument) -> bool:
    return str(argument.type).replace("SymInt", "int") in _INTS


def check_sizes(case: Case) -> None:
    """Sizes beyond all memory, or negative ones, are a RuntimeError that names the operator."""
    for i, a in enumerate(case.call.arguments):
        if a.name == "size" and a.type.is_int_list:
            for size in ((2**62, 4), (2**40, 2**40), (-2, 3)):
                given = [*case.values[:i], size, *case.values[i + 1 :]]
                with blamed(case, "sizes", kernel(), f"{case.name} does not refuse the size {size}"):
                    named_error(case, given, RuntimeError)


def makes(operator: Operator) -> str:
    """Why an operator takes no size of what it makes."""
    return "" if operator.factory is not None else "it makes no tensor of a size"


def named_error(case: Case, values: list[Any], *kinds: type[Exception]) -> None:
    """An error of one of these kinds, whose text begins with the operator's name."""
    try:
        run(case.name, values)
    except kinds as error:
        if not str(error).startswith(case.name.partition(".")[0]):
            raise Mismatch(f"the text is {error}") from None
    else:
        raise Mismatch("there was no error")


#: What an operator raises for arguments that do not fit; anything else comes from what it is made of.
_OWN = (RuntimeError, IndexError, ValueError, TypeError)


def check_dims(case: Case) -> None:
    """A tensor without dimensions for any other is computed with, or is an error of a kind of PyTorch's."""
    values = case.values
    for i, a in enumerate(case.call.arguments):
        if a.is_tensor and isinstance(values[i], tengen.Tensor) and values[i].ndim:
            number = values[i].detach().reshape(-1)[:1].clone().reshape(())
            if values[i].numel():
                with blamed(case, "dims", kernel(), f"{case.name} fails where {a.name} has no dimensions"):
                    _own_error(case, [*values[:i], number, *values[i + 1 :]])


def for_derivatives(operator: Operator) -> str:
    """Why only formulas call an operator, with what fits."""
    function = str(operator.name).partition(".")[0]
    return "formulas call it" if function.startswith("_") or function.endswith("_backward") else ""


def _own_error(case: Case, values: list[Any]) -> None:
    try:
        run(case.name, values)
    except Exception as error:
        if type(error) not in (*_OWN, NotImplementedError, tengen.linalg.LinAlgError):
            raise Mismatch(f"{type(error).__name__}: {error}") from None
        if any(word in str(error) for word in _LEAKED):
            raise Mismatch(f"the text is {error}") from None


#: Parts of the texts of errors that Python and NumPy raise of a mistake of the kernel's own.
_LEAKED = ("tuple index", "list index", "axis ", "to unpack", "cannot unpack", "axes don't match", "NoneType",
           "too many indices for array", "0-d arrays", "cannot reshape array",
           "operands could not be broadcast")  # fmt: skip

ASPECTS = (
    Aspect("errors", "the declared errors", check_error, bad_cases, no_errors, sampled=False),
    Aspect("types", "arguments of wrong types", check_types, first_case, unbound),
    Aspect("keywords", "keywords that there are not", check_keywords, first_case, unbound, after=("types",)),
    Aspect("numbers", "numbers for all tensors", check_numbers, first_case, no_tensors, after=("types",)),
    Aspect("bools", "truth values for ints", check_bools, first_case, unbound, after=("types",)),
    Aspect("sizes", "sizes that cannot be", check_sizes, first_case, makes),
    Aspect("dims", "tensors without dimensions", check_dims, first_case, for_derivatives),
)
