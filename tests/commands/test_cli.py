"""The ``tengen`` command itself."""

from __future__ import annotations

import re

import pytest

import tengen
from tengen.codegen.cli import COMMANDS, main


def test_without_a_command_it_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert [re.search(rf"^    {name} +\S", shown, re.M) is not None for name in COMMANDS] == [True] * len(
        COMMANDS
    )


def test_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["--version"])
    assert done.value.code == 0
    assert capsys.readouterr().out == f"tengen {tengen.__version__}\n"


def test_a_command_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["generate"])
    assert done.value.code == 2
    assert "invalid choice: 'generate'" in capsys.readouterr().err
