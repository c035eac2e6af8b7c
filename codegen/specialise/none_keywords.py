"""Specialise: keywords that are given as None, as they are when they are not given.

``norm(x, 2, dtype=None)`` and ``exp(x, out=None)`` are ``norm(x, 2)`` and ``exp(x)``, which take the first
path. The forms of keyword calls need not know of it: a binding that none of them served calls itself without
these.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.expressions import Constant, Expr, Name, Starred, Subscript, constant, dictionary, dotted
from ...ir.reader import filled
from ...ir.statements import Statement, call, return_if, tuple_of
from ..model.annotations import default
from ..model.operators import Operator

#: The position of what is given by keyword only, which no call reaches.
_NEVER = 99
#: What ``but_none`` takes where nothing else is said.
ONLY_OUT = (("out", _NEVER),)


def none_keywords(operators: Sequence[Operator], apart: bool, out: bool) -> tuple[tuple[str, int], ...]:
    """The keywords whose default is None, by the position in ``args`` at which they could stand.

    None of them tells overloads apart: where one has another default, or none and takes None, it is not here.
    ``apart`` says that ``self`` is not among ``args``.
    """
    found: dict[str, int] = {"out": _NEVER} if out else {}
    refused: set[str] = set()
    for o in operators:
        for i, a in enumerate(o.schema.arguments):
            text = default(a)
            if text == "None":
                at = _NEVER if a.kwarg_only else i - apart
                found[a.name] = min(at, found.get(a.name, at))
            elif text is not None or a.type.is_optional:
                refused.add(a.name)
    return tuple([(name, at) for name, at in found.items() if name not in refused])


def without_nones(
    name: str, parameters: Sequence[str], words: Sequence[str], optional: tuple[tuple[str, int], ...]
) -> Statement | None:
    """The statement that calls a binding again without what is None.

    None for one that takes no ``**keywords``, and for those that are private. ``words`` are parameters which
    stand for others.
    """
    if "**keywords" not in parameters or name.startswith("_"):
        return None
    named = [p.partition("=")[0] for p in parameters]
    star = next((i for i, p in enumerate(named) if p.startswith("*")), len(named))
    positional: list[Expr] = [Name(p) for p in named[:star] if p not in words]
    loose = named[star] == "*args"
    if not loose:  # those that have a parameter are no keywords
        optional = tuple([(n, at) for n, at in optional if at == _NEVER and n not in named])
    if not optional:
        return None
    keywords = {p: Name(p) for p in named[star + 1 :] if not p.startswith("*") and p not in words}
    args = tuple_of([*positional, *([Starred(Name("args"))] if loose else [])])
    given: list[Expr] = [args, Name("keywords")]
    if optional != ONLY_OUT:
        given += [constant(optional), *([filled("len(args)")] if loose else [])]
    is_less = filled("(fewer := x) is not None", x=call("but_none", *given))
    rest = dictionary(keywords, Name("fewer")) if keywords else Name("fewer")
    return return_if(
        (Name("keywords"), filled("not active"), is_less), call("again", _itself(name, named), args, rest)
    )


def _itself(name: str, named: Sequence[str]) -> Expr:
    """The function or the method of this name, where it is defined."""
    if named[0] == "self":
        return dotted(f"TensorMethods.{name}")
    taken = name in (*named, "T", "args", "keywords", "fewer")
    return Subscript(call("globals"), Constant(name)) if taken else Name(name)
