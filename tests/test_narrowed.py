"""``-k NAME`` selects what it selects where nothing is left out beforehand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent

SOURCE = """
import pytest

@pytest.fixture(params=["sine", "tan"])
def fixture(request): return request.param

def test_alone(): pass
def test_sine(): pass
def test_of_fixtures(fixture): pass

@pytest.mark.parametrize("name", ["sin", "cos", "Sinc"])
def test_one(name): pass
@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("kind", ["float", "sinful"])
def test_two(name, kind): pass
@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("flag", [True, False])
def test_flags(name, flag): pass
@pytest.mark.parametrize(("variant", "name"), [("sin_", "sin"), ("cos_", "cos")])
def test_pairs(variant, name): pass
@pytest.mark.parametrize("name", [1, "sin"], ids=["sin", "one"])
def test_ids(name): pass
@pytest.mark.parametrize("name", [pytest.param("x", id="sin"), "sin"])
def test_params(name): pass
@pytest.mark.parametrize("name", [object(), "sin"])
def test_objects(name): pass
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_with_fixture(name, fixture): pass
@pytest.mark.parametrize("name", [])
def test_of_nothing(name): pass
@pytest.mark.sinister
@pytest.mark.parametrize("name", ["a", "b"])
def test_marked(name): pass
@pytest.mark.parametrize("kind", ["float", "sin"])
class TestClass:
    @pytest.mark.parametrize("name", ["sin", "cos"])
    def test_method(self, name, kind): pass
"""


def collected(folder: Path, expression: str) -> tuple[list[str], str]:
    """The names of the tests that an expression selects, and what the last line says."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "narrowed", "--collect-only", "-q", "-k", expression, "."],
        cwd=folder,
        env={"PYTHONPATH": str(TESTS), "PATH": ""},
        capture_output=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    return [line for line in lines if "::" in line], lines[-1]


@pytest.mark.parametrize("word", ["sin", "cos", "True", "float", "sinister", "test_two", "None", "sin_"])
def test_the_same_are_selected(word: str, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = sinister\n", encoding="utf-8")
    found, told = collected(tmp_path, word)
    expected, all_told = collected(tmp_path, f"{word} or {word}")  # an expression leaves nothing out
    assert found == expected
    assert "/34 tests" in all_told or "no tests" in all_told, all_told
    if word == "cos":
        assert told != all_told, "nothing was left out beforehand"
