"""Errors that name the function which was called, not the operators that it is made of."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: An operator that is no public name, at the beginning of a text: ``_sum: ...``, or ``"_sum" not ...``.
_INTERNAL = re.compile(r'^(?:"_\w+"(?= )|_\w+(?=: ))')


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
