"""Tests that ``-k NAME`` and ``-m MARK`` leave out are not made, which takes longest.

An author of an operator waits for ``pytest tests/operators -k sin``, which runs some dozen of 40,000 tests.
Of all tests a third compares with torch.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet

_WORD = re.compile(r"(?!(and|or|not)$)\w[\w.]*")
_MARK = re.compile(r"(not )?(?!not$)(\w+)")


def unasked(config: pytest.Config) -> str:
    """The mark whose tests are left out though nobody says so: torch is not installed; "" for none."""
    absent = importlib.util.find_spec("torch") is None and not config.getoption("markexpr")
    return "oracle" if absent else ""


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Leave out parameters with which a test is deselected.

    By ``-k``, where that is one word that only parameters may have; by ``-m``, where that is one mark: all
    but the first, so that one test is deselected in the place of many.
    """
    test = metafunc.definition
    marks = [mark for mark in test.own_markers if mark.name == "parametrize"]
    if not all(len(mark.args) == 2 and isinstance(mark.args[1], Collection) for mark in marks):
        return
    if _is_marked_out(metafunc):
        for mark in marks:
            _keep(test, mark, range(len(mark.args[1]))[:1])
    elif (kept := _named(metafunc, marks)) is not None:
        _keep(test, *kept)


def _keep(test: pytest.Item, mark: pytest.Mark, places: Sequence[int]) -> None:
    """Leave a mark these of its parameters."""
    names, values = mark.args
    ids = mark.kwargs.get("ids")
    if ids is not None and not callable(ids):
        texts = list(ids)
        ids = [texts[n] for n in places]
    given = [list(values)[n] for n in places]
    kept = pytest.mark.parametrize(names, given, **{**mark.kwargs, "ids": ids})
    test.own_markers[test.own_markers.index(mark)] = kept.mark


def _is_marked_out(metafunc: pytest.Metafunc) -> bool:
    """Whether ``-m`` deselects a test with whatever parameters."""
    left_out, test = unasked(metafunc.config), metafunc.definition
    asked = _MARK.fullmatch(f"not {left_out}" if left_out else metafunc.config.getoption("markexpr"))
    if asked is None:
        return False
    if asked[1]:
        return test.get_closest_marker(asked[2]) is not None
    made = [f for fixtures in test._fixtureinfo.name2fixturedefs.values() for f in fixtures]
    given = [mark.args[1] for mark in test.iter_markers("parametrize") if len(mark.args) > 1]
    values = [v for values in (*given, *(f.params or () for f in made)) for v in values]
    found = {mark.name for v in values if isinstance(v, ParameterSet) for mark in v.marks}
    return asked[2] not in found and test.get_closest_marker(asked[2]) is None


def _named(metafunc: pytest.Metafunc, marks: Sequence[pytest.Mark]) -> tuple[pytest.Mark, list[int]] | None:
    """The mark of whose parameters ``-k`` selects some, and their places; None where that is not known."""
    word = str(metafunc.config.getoption("keyword")).lower()
    if not marks or not _WORD.fullmatch(word) or any(word in name.lower() for name in _names(metafunc)):
        return None
    taken = {name for mark in marks for name in _arguments(mark)}
    values = [_texts(mark) for mark in marks]
    others = [_of_fixture(metafunc, name) for name in metafunc.fixturenames if name not in taken]
    if None in values or None in others:
        return None  # what else it is called by is not known yet
    if any(word in text.lower() for texts in others for text in texts or ()):
        return None  # all goes with that
    found = [[n for n, text in enumerate(texts or ()) if word in text.lower()] for texts in values]
    if sum(map(bool, found)) > 1:
        return None  # each of the one goes with all of the other
    place = max(range(len(marks)), key=lambda i: len(found[i]))
    return marks[place], found[place]


def _names(metafunc: pytest.Metafunc) -> list[str]:
    """What ``-k`` compares with, but for the parameters."""
    test = metafunc.definition
    return [test.nodeid, *[mark.name for mark in test.iter_markers()], *vars(metafunc.function)]


def _arguments(mark: pytest.Mark) -> list[str]:
    """The arguments that a mark gives."""
    names = mark.args[0]
    return [n.strip() for n in (names.split(",") if isinstance(names, str) else names)]


def _of_fixture(metafunc: pytest.Metafunc, name: str) -> list[str] | None:
    """What the parameters of a fixture are called, with their marks; None where that is not known."""
    made = metafunc.definition._fixtureinfo.name2fixturedefs.get(name)
    if made is None:
        return [] if name == "request" else None
    given = [p for fixture in made for p in fixture.params or ()]
    found = [_text(v) for p in given for v in getattr(p, "values", [p])]
    marks = [mark.name for p in given for mark in getattr(p, "marks", ())]
    unknown = None in found or any(f.ids for f in made) or any(getattr(p, "id", None) for p in given)
    return None if unknown else [*marks, *(text for text in found if text is not None)]


def _texts(mark: pytest.Mark) -> list[str] | None:
    """What the parameters of a mark are called; None where pytest makes names up."""
    ids = mark.kwargs.get("ids")
    if mark.kwargs.keys() - {"ids"} or not (ids is None or callable(ids)):
        return None
    several = len(_arguments(mark)) > 1
    found = []
    for value in mark.args[1]:
        if several and type(value) is not tuple:
            return None
        parts = [_text(part, ids) for part in (value if several else (value,))]
        if None in parts:
            return None
        found.append("-".join(part for part in parts if part is not None))
    return found


def _text(value: Any, ids: Callable[[Any], Any] | None = None) -> str | None:
    named = None if ids is None else ids(value)
    value = value if named is None else named
    if isinstance(value, str | bool | int | float):
        return None if len(str(value)) > 100 else str(value)  # pytest gives long ones numbers
    return getattr(value, "__name__", None) if inspect.isroutine(value) else None
