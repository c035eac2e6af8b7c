"""What docs/differences.md says, said by the libraries themselves.

The claims stand in the package ``differences`` beside this file, a module for each section of the document.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from differences import SECTIONS
from differences.claim import Claim, outcome

import tengen

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "differences.md"
CLAIMS = [claim for claims in SECTIONS.values() for claim in claims]


def named(claims: list[Claim]) -> Callable[[Any], Any]:
    return pytest.mark.parametrize("claim", claims, ids=[c.name for c in claims])


@named(CLAIMS)
def test_here(claim: Claim) -> None:
    assert outcome(claim.program, tengen) == claim.here


@pytest.mark.oracle
@named(CLAIMS)
def test_there(claim: Claim) -> None:
    assert outcome(claim.program, pytest.importorskip("torch")) == claim.there


def test_every_paragraph_has_a_claim() -> None:
    """And every claim a paragraph, in the module of its section."""
    _, *sections = re.split(r"^## ", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    paragraphs = {
        text.partition("\n")[0]: re.findall(r"^\*\*(.*?)\.\*\*", text, re.MULTILINE) for text in sections
    }
    assert list(paragraphs) == list(SECTIONS)
    assert paragraphs == {
        head: list(dict.fromkeys(c.name for c in claims)) for head, claims in SECTIONS.items()
    }


@pytest.mark.oracle
def test_what_is_absent_of_library_is_listed(torch: Any) -> None:
    """All that ``torch.library`` offers is there, or is said not to be."""
    text = DOCUMENT.read_text(encoding="utf-8").partition("**Operators of a program.**")[2].partition("**")[0]
    absent = {name for name in torch.library.__all__ if not hasattr(tengen.library, name)}
    assert absent == {name for name in re.findall(r"`(\w+)`", text) if name in absent}
    members = [n for n in dir(torch.library.Library) if not n.startswith("_")]
    assert {n for n in members if not hasattr(tengen.library.Library, n)} == {"register_symm_mem_args"}
    ours = {n for n in dir(tengen.library.CustomOpDef) if not n.startswith("_")}
    assert {n for n in dir(torch.library.CustomOpDef) if not n.startswith("_")} - ours == {"register_effect"}


@pytest.mark.oracle
@pytest.mark.parametrize(
    "module",
    [
        "autograd",
        "autograd.forward_ad",
        "autograd.function",
        "autograd.functional",
        "autograd.gradcheck",
        "autograd.graph",
        "autograd.profiler",
        "func",
    ],
)
def test_what_is_absent_of_autograd_is_listed(module: str) -> None:
    """All that PyTorch's modules offer is there, or is said not to be."""
    pytest.importorskip("torch")
    theirs = importlib.import_module(f"torch.{module}")
    ours = sys.modules.get(f"tengen.{module}") or importlib.import_module(f"tengen.{module}")
    paragraph = DOCUMENT.read_text(encoding="utf-8").partition("**Parts of autograd.**")[2].partition("**")[0]
    listed = set(re.findall(r"`(?:\w+\.)?(\w+)`", paragraph))
    absent = {name for name in theirs.__all__ if not hasattr(ours, name)}
    assert absent <= listed
    assert not {name for name in listed & set(theirs.__all__) if hasattr(ours, name)}
