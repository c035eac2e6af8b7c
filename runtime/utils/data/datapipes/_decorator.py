"""Decorators of pipes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .datapipe import IterDataPipe, MapDataPipe

C = TypeVar("C")
_determinism = False


class functional_datapipe:
    """Decorate a class of pipes, which other pipes then make of themselves by a method of this name.

    TypeError for what is no class of pipes; Exception for a name that is taken.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: C) -> C:
        kind = _class_of(cls)
        base = next((b for b in (IterDataPipe, MapDataPipe) if issubclass(kind, b)), None)
        if base is None:
            raise TypeError(f"`functional_datapipe` can only decorate classes of pipes, got {cls!r}")
        base.register_datapipe_as_function(self.name, cls, self.enable_df_api_tracing)  # type: ignore[arg-type]
        return cls


def _class_of(decorated: Any) -> type[Any]:
    """A class, or the one that ``non_deterministic`` has decorated."""
    if isinstance(decorated, type):
        return decorated
    owner = getattr(decorated, "__self__", decorated)
    return owner.cls if isinstance(owner, non_deterministic) and owner.cls is not None else object


class guaranteed_datapipes_determinism:
    """A context in which pipes that are not deterministic cannot be made."""

    def __init__(self) -> None:
        global _determinism
        self._before, _determinism = _determinism, True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        global _determinism
        _determinism = self._before


class non_deterministic:
    """Decorate a class of pipes that are not deterministic: all, or those of which a function says so.

    TypeError for another class, and where one is made though determinism is guaranteed.
    """

    cls: type[IterDataPipe[Any]] | None = None

    def __init__(self, arg: type[IterDataPipe[Any]] | Callable[..., bool]) -> None:
        self._tells: Callable[..., bool] = lambda *args, **kwargs: True
        if isinstance(arg, type):
            self.cls = _checked(arg)
        elif callable(arg):
            self._tells = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.cls is None:
            self.cls = _checked(args[0])
            return self._made
        return self._made(*args, **kwargs)

    def _made(self, *args: Any, **kwargs: Any) -> Any:
        assert self.cls is not None
        if _determinism and self._tells(*args, **kwargs):
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'."
            )
        return self.cls(*args, **kwargs)


def _checked(cls: Any) -> type[IterDataPipe[Any]]:
    if isinstance(cls, type) and issubclass(cls, IterDataPipe):
        return cls
    name = getattr(cls, "__name__", cls)
    raise TypeError(f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {name} is found")
