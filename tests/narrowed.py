"""``-k NAME`` without the tests that it leaves out: these are not made, which takes longest.

An author of an operator waits for ``pytest tests/operators -k sin``, which runs some dozen of 40,000 tests.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

_WORD = re.compile(r"(?!(and|or|not)$)\w[\w.]*")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Leave out the parameters that ``-k`` would deselect, where it is one word that only they may have."""
    word, test = str(metafunc.config.getoption("keyword")).lower(), metafunc.definition
    if not _WORD.fullmatch(word) or any([word in name.lower() for name in _names(metafunc)]):
        return
    marks = [mark for mark in test.own_markers if mark.name == "parametrize"]
    taken = {name.strip() for mark in marks for name in str(mark.args[0]).split(",")}
    values = [_texts(mark) for mark in marks]
    if not marks or taken != set(metafunc.fixturenames) or None in values:
        return  # what else it is called by is not known yet
    found = [[n for n, text in enumerate(texts or ()) if word in text.lower()] for texts in values]
    if sum(map(bool, found)) < 2:  # else each of the one goes with all of the other
        place = max(range(len(marks)), key=lambda i: len(found[i]))
        names, given = marks[place].args
        kept = pytest.mark.parametrize(names, [list(given)[n] for n in found[place]]).mark
        test.own_markers[test.own_markers.index(marks[place])] = kept


def _names(metafunc: pytest.Metafunc) -> list[str]:
    """What ``-k`` compares with, but for the parameters."""
    test = metafunc.definition
    return [test.nodeid, *[mark.name for mark in test.iter_markers()], *vars(metafunc.function)]


def _texts(mark: pytest.Mark) -> list[str] | None:
    """What the parameters of a mark are called; None where pytest makes names up."""
    if len(mark.args) != 2 or mark.kwargs:
        return None
    found = [_text(value) for value in mark.args[1]]
    return None if None in found else [text for text in found if text is not None]


def _text(value: Any) -> str | None:
    if type(value) is tuple:
        parts = [_text(part) for part in value]
        return None if None in parts else "-".join(part for part in parts if part is not None)
    return str(value) if isinstance(value, str | bool | int | float) else None
