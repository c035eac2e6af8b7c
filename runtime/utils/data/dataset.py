"""What a dataset is: samples by index, or in the order in which they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...tensors.tensor import Tensor

if TYPE_CHECKING:
    pass

__all__ = ["Dataset", "IterableDataset", "TensorDataset"]


def __dir__() -> list[str]:
    return sorted(__all__)


T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by their index, or another key.

    A subclass has ``__getitem__``, and for most samplers ``__len__``; with ``__getitems__``, which gets the
    list of a batch's indices, a loader fetches all at once. ``a + b`` is the ``ConcatDataset`` of both.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Any) -> Any:
        from .combined import ConcatDataset

        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples in the order in which ``__iter__``, which a subclass has, gives them.

    In each worker of a loader it is a copy: ``get_worker_info`` says which one, so that each gives its share.
    ``a + b`` is the ``ChainDataset`` of both.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Any) -> Any:
        from .combined import ChainDataset

        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors of one length: sample ``i`` is the tuple of ``t[i]``.

    AssertionError for tensors of different lengths.
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any([tensors[0].size(0) != t.size(0) for t in tensors]):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([t[index] for t in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)


def __getattr__(name: str) -> Any:
    """The datasets that are made of others, which PyTorch has in this module, too."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import combined

    return getattr(combined, name)
