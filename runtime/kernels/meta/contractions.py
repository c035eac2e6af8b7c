"""Operators that are contractions: the shapes of what these give."""

from __future__ import annotations

from typing import Any

from ..contractions import Contraction
from .array import MetaArray


def contract(form: Contraction, *operands: Any) -> MetaArray:
    """The result of a contraction, without elements. RuntimeError for shapes that do not fit."""
    count = len(form.factors) + (form.added is not None)
    shapes = [None if a is None else a.shape for a in operands[:count]]
    return MetaArray(form.shapes(*shapes), operands[form.factors[0]].dtype)
