"""record_function: a range of the user's own in a profile."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ...core.interception import active, observers
from .recorder import USER_SCOPE, Record, Recorder

_Function = TypeVar("_Function", bound=Callable[..., Any])


class record_function:  # the user's spelling
    """``with record_function("name"):`` is an event in the profiles that are active, named so.

    As ``@record_function("name")`` it makes an event of each call of a function. ``args``, a text,
    is shown with it. Without a profile it does next to nothing. TypeError for a name that is no str.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        for word, value in (("name", name), ("args", args)):
            if not isinstance(value, str) and (word == "name" or value is not None):
                raise TypeError(
                    f"record_function(): argument {word!r} must be str, but got {type(value).__name__}"
                )
        self.name = name
        self.args = args
        #: What was begun and not yet ended: a list for each time that this was entered.
        self._open: list[list[tuple[Recorder, Record]]] = []

    def __enter__(self) -> record_function:
        begun = []
        if active:
            inputs = () if self.args is None else (self.args,)
            for found in observers():
                if isinstance(found, Recorder) and found.on:
                    begun.append((found, found.begin(self.name, inputs, scope=USER_SCOPE)))
        self._open.append(begun)
        return self

    def __exit__(self, *error: object) -> None:
        if not self._open:
            raise RuntimeError(f"record_function({self.name!r}) was left, but it was not entered")
        for recorder, record in reversed(self._open.pop()):
            recorder.end(record)

    def __call__(self, function: _Function) -> _Function:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):  # one of its own: calls may overlap
                return function(*args, **kwargs)

        return recorded  # type: ignore[return-value]
