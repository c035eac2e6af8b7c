"""``-k NAME`` selects what it selects where nothing is left out beforehand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

SOURCE = """
import pytest

@pytest.fixture(params=["sine", "tan"])
def fixture(request): return request.param

@pytest.fixture(params=["sec", pytest.param("csc", marks=pytest.mark.sinister)])
def marked(request): return request.param
@pytest.fixture(params=[1, 2], ids=["sin", "two"])
def called(request): return request.param

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
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_with_plain_fixture(name, tmp_path): pass
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_with_marked_fixture(name, marked): pass
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_with_called_fixture(name, called): pass
@pytest.mark.parametrize(("variant", "kind"), [(1.0, max), ("cos_", min)], ids=lambda v: v and None)
def test_called(variant, kind): pass
@pytest.mark.parametrize("name", [("sin", "cos"), ("cos", "sin")])
def test_tuples(name): pass
@pytest.mark.parametrize("name", ["cos", "sin" * 50])
def test_long(name): pass
@pytest.mark.parametrize("name", [])
def test_of_nothing(name): pass
@pytest.mark.sinister
@pytest.mark.parametrize("name", ["a", "b"])
def test_marked(name): pass
@pytest.mark.parametrize("name", ["a", pytest.param("b", marks=pytest.mark.sinister), "c"])
def test_partly_marked(name): pass
@pytest.mark.parametrize("kind", ["float", "sin"])
class TestClass:
    @pytest.mark.parametrize("name", ["sin", "cos"])
    def test_method(self, name, kind): pass
"""


#: Prints for each line of options, which are JSON, what they collect.
PROGRAM = """
import json, sys
import pytest

for line in sys.stdin:
    print("#", line.strip())
    pytest.main(["-p", "narrowed", "--collect-only", "-q", *json.loads(line), "."])
"""
WORDS = [
    *("sin", "cos", "True", "float", "sinister", "test_two", "None", "sin_"),
    *("max", "csc", "name0", "called"),
]
MARKS = ["sinister", "not sinister", "sinful"]
#: An expression, and one that says the same and leaves nothing out.
PAIRS = [
    *((["-k", word], ["-k", f"{word} or {word}"]) for word in WORDS),
    *((["-m", mark], ["-m", f"({mark}) or ({mark})"]) for mark in MARKS),
]


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[str], str]]:
    """The names of the tests that options select, and what the last line says; by the options."""
    folder = tmp_path_factory.mktemp("narrowed")
    (folder / "test_it.py").write_text(SOURCE, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    sinister\n    sinful\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=folder,
        env={"PYTHONPATH": str(HERE), "PATH": ""},
        input="\n".join(json.dumps(options) for pair in PAIRS for options in pair),
        capture_output=True,
        text=True,
    )
    found = {}
    for part in done.stdout.split("# ")[1:]:
        options, *lines = part.strip().splitlines()
        found[options] = [line for line in lines if "::" in line], lines[-1]
    return found


@pytest.mark.parametrize("options", PAIRS, ids=lambda pair: " ".join(pair[0]))
def test_the_same_are_selected(
    options: tuple[list[str], list[str]], collected: dict[str, tuple[list[str], str]]
) -> None:
    (found, told), (expected, all_told) = (collected[json.dumps(o)] for o in options)
    assert found == expected
    assert "/53 tests" in all_told or "no tests" in all_told, all_told
    if options[0] in (["-k", "cos"], ["-k", "max"], ["-m", "sinister"], ["-m", "not sinister"]):
        assert told != all_told, "nothing was left out beforehand"
