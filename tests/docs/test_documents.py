"""The documents do what they say, and quote what is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tengen.codegen.commands.explain import count_of
from tengen.testing.declared import declarations

PROJECT = Path(__file__).resolve().parents[2]


def test_add_an_operator(follow: Callable[[str], None]) -> None:
    follow("docs/add-an-operator.md")


def test_readme(follow: Callable[[str], None]) -> None:
    follow("README.md")


def test_operators_are_counted_by_a_command() -> None:
    """What README says of their number is what ``tengen explain`` says."""
    counted = re.match(r"([\d,]+) operators, overloads of ([\d,]+) ", count_of(declarations()))
    assert counted is not None
    said = re.search(r"([\d,]+) operators of ([\d,]+) names", (PROJECT / "README.md").read_text("utf-8"))
    assert said is not None and said.groups() == counted.groups()


def test_architecture(follow: Callable[[str], None]) -> None:
    follow("docs/architecture.md")


def test_profiler(follow: Callable[[str], None]) -> None:
    follow("docs/profiler.md")


def test_modules(follow: Callable[[str], None]) -> None:
    follow("docs/modules.md")


def test_distributions(follow: Callable[[str], None]) -> None:
    follow("docs/distributions.md")


def test_optim(follow: Callable[[str], None]) -> None:
    follow("docs/optim.md")


def test_data(follow: Callable[[str], None]) -> None:
    follow("docs/data.md")


def test_files(follow: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    follow("docs/files.md")


def test_performance(follow: Callable[[str], None]) -> None:
    follow("docs/performance.md")


def test_export(follow: Callable[[str], None]) -> None:
    pytest.importorskip("onnxruntime")
    follow("docs/export.md")


def test_graph_drawing(follow: Callable[[str], None]) -> None:
    follow("docs/graph-drawing.md")


def test_extending(follow: Callable[[str], None]) -> None:
    pytest.importorskip("array_api_strict")
    follow("docs/extending.md")


def test_autograd(follow: Callable[[str], None]) -> None:
    follow("docs/autograd.md")


def test_operator_authors(follow: Callable[[str], None]) -> None:
    follow("docs/operator-authors.md")


def test_libraries(follow: Callable[[str], None]) -> None:
    follow("docs/libraries.md")


def test_operators_of_libraries_are_counted_once() -> None:
    """The page of libraries says what the command said, whose output is on the page that runs it."""
    patterns = {"libraries.md": r"all but (\d+) on `jax`", "extending.md": r"(\d+) are lacking"}
    said = [
        re.findall(pattern, (PROJECT / "docs" / page).read_text("utf-8"))
        for page, pattern in patterns.items()
    ]
    assert said[0] == said[1] and len(said[0]) == 1


def test_add_a_reduction(follow: Callable[[str], None]) -> None:
    follow("docs/add-a-reduction.md")


def test_bodies(follow: Callable[[str], None]) -> None:
    follow("docs/bodies.md")


def test_files_that_the_architecture_names_are_there() -> None:
    """By the end of their path: in the way of an entry most stand without their folder."""
    text = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = ("codegen", "declarations", "docs", "generated", "ir", "runtime", "templates", "tests")
    files = [f"/{p.relative_to(PROJECT)}" for f in folders for p in (PROJECT / f).rglob("*.*") if p.is_file()]
    named = set(re.findall(r"`([\w/]+\.(?:pyi?|yaml|jinja|py\.jinja|json|cwrap))`", text))
    assert len(named) > 40
    assert {name for name in named if not any(f.endswith(f"/{name}") for f in files)} == set()


def test_masked(follow: Callable[[str], None]) -> None:
    follow("docs/masked.md")


def test_nested(follow: Callable[[str], None]) -> None:
    follow("docs/nested.md")


def test_sparse(follow: Callable[[str], None]) -> None:
    follow("docs/sparse.md")


def test_dask(follow: Callable[[str], None]) -> None:
    pytest.importorskip("dask", reason="NOT TESTED: Dask is not installed")
    follow("docs/dask.md")


def test_compile(follow: Callable[[str], None]) -> None:
    pytest.importorskip("llvmlite", reason="NOT TESTED: llvmlite is not installed")
    follow("docs/compile.md")


def test_jax(follow: Callable[[str], None]) -> None:
    pytest.importorskip("jax", reason="NOT TESTED: JAX is not installed")
    follow("docs/jax.md")


def test_array_api(follow: Callable[[str], None]) -> None:
    follow("docs/array-api.md")


def test_cuda(follow: Callable[[str], None]) -> None:
    follow("docs/cuda.md")
