"""Errors that name the function which was called, not the operators that it is made of."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: At the beginning of a text an operator that is no public name, or another function of ``tengen.sparse``:
#: ``_sum: ...``, or ``"_sum" not ...``.
_INTERNAL = re.compile(r'^(?:"(?:_|sparse\.)\w+"(?= )|(?:_|sparse\.)\w+(?=: ))')


def named(function: Callable[P, R]) -> Callable[P, R]:
    """The function of ``tengen.sparse``, by whose name its errors begin."""

    @functools.wraps(function)
    def called(*args: P.args, **keywords: P.kwargs) -> R:
        try:
            return function(*args, **keywords)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            text = str(error)
            found = _INTERNAL.match(text)
            if found is not None and len(error.args) == 1:
                name = f"sparse.{function.__name__}"
                shown = f'"{name}"' if text.startswith('"') else name
                error.args = (shown + text[found.end() :],)
            raise

    return called
