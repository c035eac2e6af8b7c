"""Sequences of several lengths: padded to one tensor, or packed step by step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

from tengen.generated.functions import arange, cat, empty_like, full, sort
from tengen.generated.internal_functions import _pack_padded_sequence, _pad_packed_sequence

from ...core.scalar_type import float16, float32, float64, int8, int16, int32, int64, uint8
from ...tensors.creation import as_tensor
from ...tensors.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """Sequences, the longest first, step by step: ``batch_sizes[t]`` rows of ``data`` are those of step t.

    ``sorted_indices`` say which sequence each is, ``unsorted_indices`` the inverse of that. It is made by
    ``pack_sequence`` and ``pack_padded_sequence``. ValueError for ``batch_sizes`` that are not on the CPU.
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif not batch_sizes.is_cpu:
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created "
                "manually. They should be instantiated by functions like pack_sequence and "
                "pack_padded_sequences in nn.utils.rnn."
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The same with ``data.to(...)``, and the indices on its device."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        kwargs = {k: v for k, v in kwargs.items() if k not in ("device", "dtype")}
        moved = [None if i is None else i.to(data.device, **kwargs) for i in self[2:]]
        return type(self)(data, self.batch_sizes, *moved)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """The same on the CPU."""
        return self.to("cpu", *args, **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """The same on a GPU: the current one, or that of ``device``."""
        device = kwargs.pop("device", None) if not args else args[0]
        return self.to("cuda" if device is None else device, *args[1:], **kwargs)

    def pin_memory(self) -> Self:
        """The same, with ``data`` and the indices as their own ``pin_memory`` gives them."""
        rest = [None if i is None else i.pin_memory() for i in self[2:]]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *rest)

    def double(self) -> Self:
        """The same as float64."""
        return self.to(dtype=float64)

    def float(self) -> Self:
        """The same as float32."""
        return self.to(dtype=float32)

    def half(self) -> Self:
        """The same as float16."""
        return self.to(dtype=float16)

    def long(self) -> Self:
        """The same as int64."""
        return self.to(dtype=int64)

    def int(self) -> Self:
        """The same as int32."""
        return self.to(dtype=int32)

    def short(self) -> Self:
        """The same as int16."""
        return self.to(dtype=int16)

    def char(self) -> Self:
        """The same as int8."""
        return self.to(dtype=int8)

    def byte(self) -> Self:
        """The same as uint8."""
        return self.to(dtype=uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether it is on a GPU of CUDA."""
        return self.data.device.type == "cuda"

    def is_pinned(self) -> bool:
        """Whether the memory is pinned: it is not."""
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The inverse of a permutation, an int64 vector; None of None."""
    if permutation is None:
        return None
    places = arange(0, permutation.numel(), device=permutation.device)
    return empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Sequences padded to one tensor (T, B, ...), or (B, T, ...) with ``batch_first``, packed.

    ``lengths`` has their B lengths, which fall unless ``enforce_sorted`` is False. RuntimeError for lengths
    that are not positive, rise, or are not B.
    """
    found: Tensor = as_tensor(lengths, dtype=int64)
    order = None
    if not enforce_sorted:
        found, order = sort(found, descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = _pack_padded_sequence(input, found, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Packed sequences padded to one tensor of shape (T, B, ...), or (B, T, ...), and their lengths (B,).

    T is the longest length, or ``total_length``. ValueError for one that is shorter.
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < longest:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {longest}"
            )
        longest = total_length
    given = (sequence.data, sequence.batch_sizes, batch_first, padding_value, longest)
    padded, lengths = _pad_packed_sequence(*given)
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Tensors (L, ...) of several lengths as one (T, B, ...), or (B, T, ...), padded on a side.

    RuntimeError for what cannot be iterated, for none, for another side and for other sizes behind the first.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    given = tuple(sequences)
    if not given:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    rest = tuple(given[0].shape[1:])
    for one in given:
        if tuple(one.shape[1:]) != rest:
            raise RuntimeError(
                "The size of all sequences behind their first dimension must be the same, but got "
                f"{tuple(given[0].shape)} and {tuple(one.shape)}"
            )
    longest = max(one.shape[0] for one in given)
    rows = [_padded(one, longest - one.shape[0], padding_value, padding_side) for one in given]
    whole = cat([row.unsqueeze(0) for row in rows])
    return whole if batch_first else whole.transpose(0, 1)


def _padded(one: Tensor, missing: int, value: float, side: str) -> Tensor:
    if not missing:
        return one
    more = full((missing, *one.shape[1:]), value, dtype=one.dtype, device=one.device)
    return cat([one, more] if side == "right" else [more, one])


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor of shape (T, B, ...), or (B, T, ...), by their lengths (B,)."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    steps = arange(rows.shape[1], device=lengths.device)
    return [row[steps < length] for row, length in zip(rows, lengths, strict=True)]


def pack_sequence(sequences: Iterable[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Tensors (L, ...) packed; their lengths fall unless ``enforce_sorted`` is False, else RuntimeError."""
    given = list(sequences)
    lengths = as_tensor([one.size(0) for one in given])
    return pack_padded_sequence(pad_sequence(given), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The tensors of shape (L, ...) that were packed, in their order."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
