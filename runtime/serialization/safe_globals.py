"""What files of weights may name besides data: functions and classes that a program allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import File

#: A function or class, or a pair of one and the name that files have for it.
Safe = Callable[..., Any] | tuple[Callable[..., Any], str]

_allowed: dict[str, tuple[Safe, Any]] = {}
_lock = RLock()


def add_safe_globals(safe_globals: Sequence[Safe]) -> None:
    """Allow files that are loaded with ``weights_only=True`` to name these functions and classes.

    Such a function may be called with what the file says, and a class may be instantiated and given a state.
    A pair of one and "module.name" allows it under that name. TypeError for what is neither.
    """
    found = {_name(one): (one, one[0] if isinstance(one, tuple) else one) for one in safe_globals}
    with _lock:
        _allowed.update(found)


def get_safe_globals() -> list[Safe]:
    """What ``add_safe_globals`` and ``safe_globals`` allow now."""
    return [given for given, _ in _allowed.values()]


def clear_safe_globals() -> None:
    """Allow nothing but data again."""
    _allowed.clear()


class safe_globals:
    """Within ``with``, allow what ``add_safe_globals`` would: functions, classes, pairs of one and a name."""

    __module__ = "tengen.serialization"

    def __init__(self, safe_globals: Sequence[Safe]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._before = dict(_allowed)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *_: object) -> None:
        _allowed.clear()
        _allowed.update(self._before)


def chosen() -> dict[str, Any]:
    """By "module.name" what is allowed now."""
    return {name: value for name, (_, value) in _allowed.items()}


def _name(one: Any) -> str:
    if isinstance(one, tuple):
        if len(one) != 2 or not isinstance(one[1], str) or not callable(one[0]):
            raise TypeError(f"add_safe_globals(): expected a function or class, or one with a name: {one!r}")
        return one[1]
    module, name = getattr(one, "__module__", None), getattr(one, "__qualname__", None)
    if not callable(one) or not isinstance(module, str) or not isinstance(name, str):
        raise TypeError(f"add_safe_globals(): expected functions and classes, but got a {type(one).__name__}")
    return f"{module}.{name}"


def get_unsafe_globals_in_checkpoint(f: File) -> list[str]:
    """The names in a file which ``load(weights_only=True)`` does not allow now, as "module.name".

    Nothing of the file is built. ``pickle.UnpicklingError`` for one that is damaged.
    """
    from .reading import names_in
    from .tensor_builders import allowed

    known = {*allowed(), *chosen()}
    return sorted(names_in(f) - known)
