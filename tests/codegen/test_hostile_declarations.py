"""Whatever a declaration file holds, what comes of it is declarations, or errors with places."""

from __future__ import annotations

import copy
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from surroundings import SURROUNDINGS

from tengen.codegen.derive.derived import derive
from tengen.codegen.gen import declarations_dir, runtime_dir
from tengen.codegen.model.diagnostics import DeclarationErrors, Diagnostic
from tengen.codegen.pipeline import load

POINTWISE = "- func: foo(Tensor self) -> Tensor\n  tags: [pointwise]\n  dispatch: {{CPU: {}}}\n"
DEEP = 20_000


def errors(folder: Path, runtime: Path) -> tuple[Diagnostic, ...]:
    """The mistakes in a folder of declarations; nothing else may come out."""
    try:
        derive(load(folder, runtime))
    except DeclarationErrors as caught:
        assert str(caught)
        return caught.diagnostics
    return ()


def said(name: str, text: str, folder: Path) -> list[tuple[int, str]]:
    """The lines and the messages of the mistakes of one more file."""
    declarations = folder / "declarations"
    shutil.copytree(SURROUNDINGS / "declarations", declarations)
    (declarations / name).write_text(text)
    found = errors(declarations, SURROUNDINGS / "runtime")
    assert all(d.place.file == f"declarations/{name}" for d in found)
    assert all(len(line) < 2_000 for d in found for line in d.render(text.split("\n")[0]).split("\n"))
    return [(d.place.line, d.message) for d in found]


@pytest.mark.parametrize(
    "text",
    [
        "- func: " + "[" * 100_000 + "]" * 100_000,
        "- " + "{a: " * 100_000 + "1" + "}" * 100_000,
        "".join(" " * i + "- \n" for i in range(2_000)),
        "- func: foo(Tensor self) -> Tensor\n  domain: " + "{self: " * 40 + "1" + "}" * 40,
    ],
    ids=["lists", "mappings", "blocks", "just too deep"],
)
def test_deep_values(text: str, tmp_path: Path) -> None:
    assert "values are nested too deeply" in [m for _, m in said("native_functions.bad.yaml", text, tmp_path)]


EXPRESSIONS: dict[str, Callable[[int], str]] = {
    "brackets": lambda n: "(" * n + "self" + ")" * n,
    "signs": lambda n: "-" * n + "self",
    "sums": lambda n: "self + " * n + "self",
    "calls": lambda n: "xp.exp(" * n + "self" + ")" * n,
    "attributes": lambda n: "self" + ".real" * n,
    "choices": lambda n: "self if self else " * n + "self",
}


@pytest.mark.parametrize("depth", [65, 150, 300, 1_000, DEEP])
@pytest.mark.parametrize("kind", sorted(EXPRESSIONS))
def test_deep_expressions(kind: str, depth: int, tmp_path: Path) -> None:
    """The parser refuses some; what it takes, and is too deep for the stages behind it, is refused too."""
    text = EXPRESSIONS[kind](depth)
    whole = POINTWISE.format(f'"{text}"') + f'  reference: "{text}"\n  samples: ["{text}"]\n'
    found = said("native_functions.bad.yaml", whole, tmp_path)
    if kind != "brackets" or depth > 200:  # brackets alone leave no trace in the tree
        assert {3, 4} <= {line for line, _ in found}
    derivative = f'- name: square\n- name: foo\n  self: "grad * {text}"\n'
    other = tmp_path / "formula"
    other.mkdir()
    assert said("derivatives.bad.yaml", derivative, other)


@pytest.mark.parametrize("kind", sorted(EXPRESSIONS))
def test_what_is_just_not_too_deep(kind: str, tmp_path: Path) -> None:
    assert not said("native_functions.bad.yaml", POINTWISE.format(f'"{EXPRESSIONS[kind](25)}"'), tmp_path)


def test_a_long_schema(tmp_path: Path) -> None:
    arguments = "".join(f", int a{i}=1" for i in range(1_000))
    text = (
        f'- func: foo(Tensor self{arguments}) -> Tensor\n  dispatch: {{CPU: self * 2}}\n  samples: ["[3]"]\n'
    )
    assert not said("native_functions.bad.yaml", text, tmp_path)


# -- mutations of the declarations ---------------------------------------------------------------------

WORDS = [
    *(
        "[",
        "]",
        "{",
        "}",
        ":",
        "- ",
        "&a ",
        "*a",
        "!!str ",
        "\t",
        "'",
        '"',
        "#",
        "\x00",
        "\ud7ff",
        "é",
        "null",
    ),
    *("9" * 30, "1e999", "grad", "self", "xp", "(", ")", "->", "?", "Tensor", "%", "|", ">", "on", "~"),
]
KEYS = [
    *(
        "func",
        "dispatch",
        "tags",
        "samples",
        "batching",
        "domain",
        "autogen",
        "name",
        "result",
        "self",
        "cname",
    ),
    *("reference", "errors", "promote", "refuse", "factory", "operators", "dtypes", "tolerance"),
]


def mutated(text: str, draw: random.Random) -> str:
    """The text with one to three small accidents."""
    for _ in range(draw.randint(1, 3)):
        lines = text.split("\n")
        at = draw.randrange(len(lines))
        match draw.randrange(8):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[draw.randrange(len(lines))])
            case 2:
                offset = draw.randrange(len(text) + 1)
                lines = (text[:offset] + draw.choice(WORDS) + text[offset + draw.randrange(3) :]).split("\n")
            case 3:
                other = draw.randrange(len(lines))
                lines[at], lines[other] = lines[other], lines[at]
            case 4:  # the value of another line
                key, colon, _ = lines[at].partition(": ")
                lines[at] = key + colon + lines[draw.randrange(len(lines))].partition(": ")[2]
            case 5:
                lines.insert(at, f"  {draw.choice(KEYS)}: {draw.choice(WORDS)}")
            case 6:
                lines[at] = lines[at].replace(
                    draw.choice(["Tensor", "int", "self", ", ", "xp."]), draw.choice(WORDS)
                )
            case 7:
                indent = len(lines[at]) - len(lines[at].lstrip())
                lines[at] = " " * draw.randrange(6) + lines[at][indent:]
        text = "\n".join(lines)
    return text


@pytest.mark.parametrize("seed", range(6))
def test_mutations_of_small_declarations(seed: int, tmp_path: Path) -> None:
    """Every kind of file, with all kinds of entries in it."""
    draw = random.Random(seed)
    declarations = tmp_path / "declarations"
    for _ in range(60):
        shutil.copytree(SURROUNDINGS / "declarations", declarations)
        path = draw.choice(sorted(declarations.iterdir()))
        path.write_text(mutated(path.read_text(), draw), encoding="utf-8", errors="replace")
        errors(declarations, SURROUNDINGS / "runtime")
        shutil.rmtree(declarations)


TABLES = ("backends.yaml", "primitives.yaml", "scalar_types.yaml", "tags.yaml")


def some_entries(path: Path, draw: random.Random) -> str:
    """A few neighbouring entries of one of our files."""
    mark = "[[\n" if path.suffix == ".cwrap" else "\n- "
    parts = path.read_text().split(mark)
    at = draw.randrange(1, len(parts))
    return (mark + mark.join(parts[at : at + 4])).lstrip("\n")


@pytest.mark.parametrize("seed", range(3))
def test_mutations_of_our_declarations(seed: int, tmp_path: Path) -> None:
    """A few entries of one file at a time, or a table: what they refer to may be missing, too."""
    draw = random.Random(seed)
    declarations = tmp_path / "declarations"
    declarations.mkdir()
    files = sorted(p for p in declarations_dir().iterdir() if p.suffix in (".yaml", ".cwrap"))
    for _ in range(20):
        for name in TABLES:
            shutil.copy(declarations_dir() / name, declarations / name)
        path = draw.choice(files)
        text = path.read_text() if path.name in TABLES else some_entries(path, draw)
        (declarations / path.name).write_text(mutated(text, draw), encoding="utf-8", errors="replace")
        errors(declarations, runtime_dir())
        if path.name not in TABLES:
            (declarations / path.name).unlink()


# -- values of another shape -----------------------------------------------------------------------------

#: What a value may be by mistake.
OTHERS: tuple[Any, ...] = (
    None,
    3,
    True,
    "",
    "xyzzy",
    "a b",
    "class",
    'a"b',
    [],
    {},
    [1],
    [None],
    {"a": None},
)
MODULE = """
- name: Scaled
  function: mul
  home: activation
  base: _ThresholdNd
  forward: input
  init: "size: int, other: Any"
  attributes: {size: check_positive(size), other: null}
  given: {other: self.size}
  check: check_positive(size)
  repr: [size]
"""
NN = """
- name: softplus(Tensor self, float beta=1) -> Tensor
  cname: softplus
  gradients: [self]
  dispatch: {Meta: meta_softplus_forward}
  samples: ["[3]"]
"""
CAPABILITIES = {"array_class": "numpy.ndarray", "as_array": "numpy.asarray", "blocks": "cat", "data": True}


def slots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each container in a value, with each of its keys."""
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from slots(value[key])


def misshapen(value: Any, draw: random.Random) -> Any:
    """The value with another one, or none, in one place of it, with a key misspelt, or an item twice."""
    made = copy.deepcopy(value)
    inside, key = draw.choice(list(slots(made)))
    other = draw.choice([*OTHERS, "drop", "twice"])
    if other == "drop":
        del inside[key]
    elif other == "twice" and isinstance(inside, list):
        inside.append(inside[key])
    elif other == "twice":
        inside[key[1:] or "x"] = inside.pop(key)
    else:
        inside[key] = other
    return made


@pytest.mark.parametrize("name", ["scalar_types", "backends", "tags", "primitives", "modules", "nn"])
def test_tables_of_another_shape(name: str, tmp_path: Path) -> None:
    """Each mistake in a table is an error with a place in a declaration file, or means something."""
    declarations, draw = tmp_path / "declarations", random.Random(name)
    shutil.copytree(SURROUNDINGS / "declarations", declarations)
    path = declarations / f"{name}.yaml"
    good = yaml.safe_load(MODULE if name == "modules" else NN if name == "nn" else path.read_text())
    if name == "backends":
        good[0]["capabilities"] = CAPABILITIES
    path.write_text(yaml.safe_dump(good))
    assert not errors(declarations, SURROUNDINGS / "runtime")
    refused = 0
    for _ in range(60):
        path.write_text(yaml.safe_dump(misshapen(good, draw), sort_keys=False))
        found = errors(declarations, SURROUNDINGS / "runtime")
        assert all(d.place.file.startswith("declarations/") for d in found)
        refused += bool(found)
    assert refused > 30
