"""The documents do what they say, and quote what is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def test_add_an_operator(follow: Callable[[str], None]) -> None:
    follow("docs/add-an-operator.md")


def test_readme(follow: Callable[[str], None]) -> None:
    follow("README.md")


def test_architecture(follow: Callable[[str], None]) -> None:
    follow("docs/architecture.md")


def test_profiler(follow: Callable[[str], None]) -> None:
    follow("docs/profiler.md")


def test_optim(follow: Callable[[str], None]) -> None:
    follow("docs/optim.md")


def test_performance(follow: Callable[[str], None]) -> None:
    follow("docs/performance.md")


def test_export(follow: Callable[[str], None]) -> None:
    pytest.importorskip("onnxruntime")
    follow("docs/export.md")


def test_graph_drawing(follow: Callable[[str], None]) -> None:
    follow("docs/graph-drawing.md")


def test_extending(follow: Callable[[str], None]) -> None:
    follow("docs/extending.md")


def test_autograd(follow: Callable[[str], None]) -> None:
    follow("docs/autograd.md")


def test_operator_authors(follow: Callable[[str], None]) -> None:
    follow("docs/operator-authors.md")


def test_libraries(follow: Callable[[str], None]) -> None:
    follow("docs/libraries.md")


def test_add_a_reduction(follow: Callable[[str], None]) -> None:
    follow("docs/add-a-reduction.md")
