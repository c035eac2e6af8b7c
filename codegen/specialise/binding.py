"""Specialise: a binding, which is a function or a method that users call, as statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from .argument_tests import returned_if
from .keyword_calls import KeywordForm

#: The receiver's Type, as attempts call it.
_TYPE = re.compile(r"\bt\b")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One overload's first path: the test, and the call when it holds."""

    condition: str
    call: str
    receiver: str = ""  # the tensor whose Type runs it, if that is not the binding's

    def statements(self) -> Iterator[str]:
        """The statements that return what it gives, if the test holds."""
        yield from returned_if(self.condition, self.call)


@dataclass(frozen=True, slots=True)
class Binding:
    """A function or a method."""

    name: str
    parameters: tuple[str, ...]  # "self", "dim=MISSING", "*", "**keywords"
    returns: str
    receiver: str  # the tensor whose Type runs it
    attempts: tuple[Attempt, ...]
    fallback: str
    doc: str
    guard: str = "not active"
    forms: tuple[KeywordForm, ...] = ()  # first paths of calls with keywords
    words: tuple[tuple[str, str, str], ...] = ()  # what may be given by another word, that, the default

    @property
    def signature(self) -> str:
        """The parameters as they are written."""
        return ", ".join(self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters that take one argument."""
        return tuple([p.partition("=")[0] for p in self.parameters if not p.startswith("*")])

    def receivers(self) -> Iterator[tuple[str, tuple[Attempt, ...]]]:
        """The attempts as they are written, by the tensor whose Type runs them."""
        for receiver, attempts in groupby(self.attempts, lambda a: a.receiver or self.receiver):
            yield receiver, _as_written(receiver, tuple(attempts))

    def statements(self) -> Iterator[str]:
        """The statements of the function: first paths, then the call that every other way ends in."""
        for name, word, default in self.words:
            yield f"if {word} is not MISSING:"
            yield f'    {name} = worded("{self.name}", "{name}", {name}, {default}, {word})'
        if self.attempts:
            yield from self._by_position()
        if self.forms:
            yield from self._by_keyword()
        yield f"return {self.fallback}"

    def _by_position(self) -> Iterator[str]:
        """The first paths of calls without keywords."""
        for receiver, attempts in self.receivers():
            yield f"if {self.guard}{_is_given(receiver)}:"
            if any(names_type(a) for a in attempts) and receiver:
                yield f"    t = {receiver}._type"
            for attempt in attempts:
                yield from (f"    {line}" for line in attempt.statements())

    def _by_keyword(self) -> Iterator[str]:
        """The first paths of calls with keywords."""
        a_tensor = "" if self.receiver == "self" else " and args and args[0].__class__ in plain"
        yield f"if keywords and not active{a_tensor}:"
        yield f"    t = {self.receiver}._type"
        yield "    given = (len(args), *keywords)"
        for form in self.forms:
            yield from (f"    {line}" for line in form.statements())


def names_type(attempt: Attempt) -> bool:
    """Whether it calls the receiver's Type by its name."""
    return _TYPE.search(f"{attempt.condition} {attempt.call}") is not None


def _as_written(receiver: str, attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    """The attempts without a name for the Type, if it is asked for once."""
    uses = [use for a in attempts for use in _TYPE.findall(f"{a.condition} {a.call}")]
    if len(uses) > 1 or not receiver:
        return attempts
    return tuple(replace(a, call=_TYPE.sub(f"{receiver}._type", a.call)) for a in attempts)


def _is_given(receiver: str) -> str:
    """The rest of a test: that the receiver is a tensor."""
    if receiver in ("", "self"):
        return ""
    among = receiver.removeprefix("args[").removesuffix("]") if receiver.startswith("args[") else ""
    given = f" and len(args) > {among}" if among and among != "0" else " and args" if among else ""
    return f"{given} and {receiver}.__class__ in plain"
