"""Decorators of pipes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, get_type_hints

from .datapipe import IterDataPipe, MapDataPipe

C = TypeVar("C")
_determinism = False
_validation = True


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


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function, whose arguments that are annotated as pipes must be pipes. TypeError of others."""
    signature, hints = inspect.signature(f), get_type_hints(f)

    @functools.wraps(f)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint = hints.get(name)
            is_pipe = isinstance(hint, type) and issubclass(hint, IterDataPipe)
            if is_pipe and not isinstance(value, IterDataPipe):
                raise TypeError(f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}")
        return f(*args, **kwargs)

    return wrapper


def runtime_validation(f: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Decorate the ``__iter__`` of a pipe, whose samples must be what its ``type`` says.

    A pipe without such an attribute, whose ``issubtype_of_instance`` is asked, may give anything. TypeError
    for another function; RuntimeError, in the iteration, for another sample.
    """
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def wrapper(self: Any) -> Iterator[Any]:
        fits = getattr(getattr(self, "type", None), "issubtype_of_instance", None)
        for sample in f(self):
            if _validation and fits is not None and not fits(sample):
                raise RuntimeError(
                    f"Expected an instance as subtype of {self.type}, but found {sample}({type(sample)})"
                )
            yield sample

    return wrapper


class runtime_validation_disabled:
    """A context in which ``runtime_validation`` asks for nothing: from when it is made on."""

    def __init__(self) -> None:
        global _validation
        self.prev, _validation = _validation, False

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        global _validation
        _validation = self.prev
