"""Tests of operators that follow from their declarations, and what tests of tensors need.

- ``assert_close`` and ``make_tensor`` are ``torch.testing``'s.
- ``check_operator`` checks a declared operator, and raises a ``Failure`` that says which part of it is wrong.
- ``operator_tests`` makes tests for pytest of declared operators, as those of a library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .comparison import assert_allclose as assert_allclose, assert_close as assert_close
    from .failure import Failure as Failure
    from .making import make_tensor as make_tensor
    from .operators import check_operator as check_operator, operator_tests as operator_tests

#: Where each name is: the modules that read declarations are imported when they are first used.
_HOMES = {
    "Failure": "failure",
    "assert_allclose": "comparison",
    "assert_close": "comparison",
    "check_operator": "operators",
    "make_tensor": "making",
    "operator_tests": "operators",
}

__all__ = ["Failure", "assert_allclose", "assert_close", "check_operator", "make_tensor", "operator_tests"]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"tengen.testing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'tengen.testing' has no attribute {name!r}")
