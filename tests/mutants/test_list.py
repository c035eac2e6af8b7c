"""The list of mutants can be used: each has its one place, and changes it. ``dev.py mutants`` kills them."""

from __future__ import annotations

import ast
import functools
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from mutants import KINDS, PLACES, Mutant, mutants, source
from scratch import PROJECT
from yaml_files import yaml_of

ALL = mutants()


@pytest.mark.parametrize("mutant", ALL, ids=lambda m: m.name)
def test_a_mutant_changes_its_file_in_one_place(mutant: Mutant) -> None:
    text = source(mutant.file)
    changed = mutant.applied(text)
    assert changed != text
    assert _meaning(mutant.file, changed) != _unchanged(mutant.file)


@functools.cache
def _unchanged(file: str) -> object:
    return _meaning(file, source(file))


def _meaning(file: str, text: str) -> object:
    """What a text says, without its layout where that can be told."""
    if file.endswith(".py"):
        return ast.dump(ast.parse(text))
    return yaml_of(text) if file.endswith(".yaml") else text


@pytest.mark.parametrize("mutant", ALL, ids=lambda m: m.name)
def test_a_mutant_says_what_it_is(mutant: Mutant) -> None:
    assert mutant.kind in KINDS
    assert mutant.tests or mutant.operators
    files = [s.partition("::")[0] for s in mutant.selection if s.startswith("tests/")]
    assert files and all((PROJECT / f).exists() for f in files)


def test_names_are_unique() -> None:
    assert [name for name, n in Counter(m.name for m in ALL).items() if n > 1] == []


@pytest.mark.parametrize("place", PLACES)
def test_places_are_covered(place: str) -> None:
    assert sum(m.place == place for m in ALL) >= PLACES[place]


def test_no_change_is_listed_twice() -> None:
    changes = Counter((m.file, m.within, m.find, m.replace) for m in ALL)
    assert [change for change, n in changes.items() if n > 1] == []


ADDING = """
import sys
sys.path[:0] = [{folder!r}, {around!r}]
from pathlib import Path
from mutants import mutants
from run import Outcome, Summary
summary = Summary(Path({file!r}))
for mutant in mutants()[{first}::2][:40]:
    summary.add([Outcome(mutant.name, mutant.place, mutant.kind, "killed")])
"""


def test_what_two_runs_find_at_once_is_kept(tmp_path: Path) -> None:
    file, folder = tmp_path / "mutants.json", Path(__file__).parent
    places = {"folder": str(folder), "around": str(folder.parent / "helpers"), "file": str(file)}
    runs = [
        subprocess.Popen([sys.executable, "-c", ADDING.format(first=first, **places)]) for first in (0, 1)
    ]
    assert [run.wait() for run in runs] == [0, 0]
    assert {o["name"] for o in json.loads(file.read_text())} == {m.name for m in mutants()[:80]}
