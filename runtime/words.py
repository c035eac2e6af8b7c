"""NumPy's words for arguments: what bindings do with them, and what stands for no argument."""

from __future__ import annotations

from typing import Any, Final


class _Missing:
    """The type of ``MISSING``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<missing>"


#: In place of an argument that was not given, and must be: as it is, or by another word.
MISSING: Final = _Missing()


def worded(function: str, name: str, value: Any, default: Any, word: Any) -> Any:
    """What an argument is that was given by another word. TypeError when it was given by its own, too."""
    if value is not default and value != default:
        raise TypeError(f"{function}() got multiple values for argument '{name}'")
    return word
