"""A traceback that comes out of generated code ends with the place of the declaration."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import tengen
from tengen.codegen.gen import declarations_dir


def last_lines(program: Callable[[], Any]) -> list[str]:
    with pytest.raises(Exception) as raised:
        program()
    return traceback.format_exception_only(raised.value)[1:]


def said(line: str) -> tuple[str, str]:
    """The subject of a note, and the line of the declaration that it points to."""
    subject, _, locate_entry = line.strip().partition(" is declared in ")
    file, _, number = locate_entry.partition(":")
    text = (declarations_dir().parent / file).read_text().split("\n")[int(number) - 1]
    return subject, text


@pytest.mark.parametrize(
    ("program", "operator"),
    [
        (lambda: tengen.ones(3) * tengen.ones(4), "mul.Tensor"),
        (lambda: tengen.ones(3).mul_(tengen.ones(2, 3)), "mul.Tensor"),
        (lambda: tengen.ones(3).sum(dim=7), "sum.dim_IntList"),
        (lambda: tengen.matmul(tengen.ones(2, 3), tengen.ones(2, 3)), "mm"),
        (lambda: tengen.arange(3).lgamma_(), "lgamma"),
        (lambda: tengen.atan2(tengen.ones(3), "x"), "atan2"),
    ],
)
def test_errors_of_operators(program: Callable[[], Any], operator: str) -> None:
    (line,) = last_lines(program)
    subject, text = said(line)
    assert subject.removesuffix("_") == operator or subject.replace("_.", ".") == operator
    assert text.strip().startswith(("- func: ", "name: ")) and operator.split(".")[0] in text


def test_errors_of_derivatives() -> None:
    x = tengen.tensor([1.0, 2.0], requires_grad=True)
    y = x * x.exp()
    with tengen.no_grad():
        x.add_(1)
    (line,) = last_lines(lambda: y.sum().backward())
    subject, text = said(line)
    assert subject == "the derivative of mul.Tensor"
    assert text == "- name: mul.Tensor"


def test_the_text_of_the_error_is_what_it_was() -> None:
    with pytest.raises(RuntimeError) as raised:
        tengen.ones(3) * tengen.ones(4)
    assert "declared" not in str(raised.value)


def test_every_entry_is_found() -> None:
    from tengen.core.error_notes import locate_entry, note_operator
    from tengen.generated.operators import OPERATORS
    from tengen.generated.places import NODES

    declared = [name for name in OPERATORS if "::" not in name]  # others are a program's
    assert len(declared) > 1000
    for name in declared:
        error = RuntimeError()
        note_operator(error, name)
        assert re.fullmatch(rf"{re.escape(name)} is declared in \S+:\d+", error.__notes__[0]), name
    places = [locate_entry(file, name) for name, file in NODES.values()]
    assert len(places) > 300
    assert not [p for p in places if ":" not in p]
