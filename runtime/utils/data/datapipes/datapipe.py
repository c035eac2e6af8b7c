"""The classes that pipes derive from: they have what is registered with them as methods."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Self, TypeVar

from ..dataset import Dataset, IterableDataset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class DataChunk(list[T]):
    """A batch of samples: a list that prints its samples as text."""

    def __init__(self, items: Iterable[T]) -> None:
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        """The samples as text, behind an indent."""
        return f"{indent}[{', '.join([str(item) for item in self])}]"

    def raw_iterator(self) -> Iterator[T]:
        """The samples as they were given, where a subclass iterates otherwise."""
        return iter(self.items)


class Registered:
    """What pipes of both kinds have: functions that are registered by name are their methods."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        function = type(self).functions.get(name)
        if function is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        bound = functools.partial(function, self)
        return functools.update_wrapper(bound, function, assigned=("__doc__",))

    @classmethod
    def register_function(cls, function_name: str, function: Callable[..., Any]) -> None:
        """Have pipes call a function, which gets the pipe first, by a method's name."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Callable[..., Any], enable_df_api_tracing: bool = False
    ) -> None:
        """Have pipes make a pipe of a class of themselves. Exception where the name is taken."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        made = functools.partial(cls_to_register)
        cls.functions[function_name] = functools.update_wrapper(
            made, cls_to_register, assigned=("__doc__",), updated=()
        )

    def __repr__(self) -> str:
        return type(self).__qualname__

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def __getstate__(self) -> Any:
        return self.__dict__

    def _length_of(self, source: Any) -> int:
        """The length of what the pipe is made of. TypeError where that has none."""
        if not hasattr(type(source), "__len__"):
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return len(source)


class IterDataPipe(Registered, IterableDataset[T_co]):
    """Samples in the order in which ``__iter__``, which a subclass has, gives them.

    Only the newest iterator of a pipe is valid; RuntimeError of the others. With each ``reset`` is called,
    where a subclass empties its buffers. ``functional_datapipe`` makes a class a method of all pipes.
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}
    _valid_iterator_id: int | None = None
    _number_of_samples_yielded = 0

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        own = cls.__dict__.get("__iter__")
        if own is not None:
            cls.__iter__ = _watched(own)  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[T_co]:
        return self  # a subclass may have __next__ alone

    def reset(self) -> None:
        """Forget what an iteration has left; called before each. Does nothing unless a subclass has more."""

    def _begin(self) -> int:
        """Make the iterators before invalid; the number of the new one."""
        self._valid_iterator_id = 0 if self._valid_iterator_id is None else self._valid_iterator_id + 1
        self.reset()
        return self._valid_iterator_id

    def _is_valid(self, number: int) -> bool:
        return number == self._valid_iterator_id


class DFIterDataPipe(IterDataPipe[T_co]):
    """A pipe of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(Registered, Dataset[T_co]):
    """Samples by their index, or another key, which a subclass gives with ``__getitem__``."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


def _watched(function: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    """``__iter__`` of a pipe, whose iterators are valid until the next one.

    That of a generator begins with its first sample, any other at once.
    """

    @functools.wraps(function)
    def generated(pipe: IterDataPipe[Any]) -> Iterator[Any]:
        yield from _Samples(pipe, function(pipe))

    @functools.wraps(function)
    def made(pipe: IterDataPipe[Any]) -> Iterator[Any]:
        return _Samples(pipe, function(pipe))

    return generated if inspect.isgeneratorfunction(function) else made


class _Samples:
    """The samples of one iteration. RuntimeError when another one has begun."""

    def __init__(self, pipe: IterDataPipe[Any], samples: Iterator[Any]) -> None:
        self._pipe, self._samples = pipe, samples
        pipe._number_of_samples_yielded = 0
        self._number = pipe._begin()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        pipe = self._pipe
        if not pipe._is_valid(self._number):
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from the same"
                f" IterDataPipe: {pipe!r}. `.fork()` gives several pipes of one"
            )
        sample = next(self._samples)
        pipe._number_of_samples_yielded += 1
        return sample

    def __getattr__(self, name: str) -> Any:
        return getattr(self._samples, name)
