"""How a tensor's elements stand in memory: the constants that arguments are given as.

A backend serves some layouts. The channels-last formats are orders of dimensions, which strides tell.
"""

from __future__ import annotations

from typing import Any, Final

from .package_name import package


class _Constant:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"{package.name}.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _constant, (self.name,)


def _constant(name: str) -> Any:
    return CONSTANTS[name]


class layout(_Constant):
    """The kind of a tensor's storage: ``tengen.strided``, ``tengen.sparse_coo`` and the like."""

    __slots__ = ()


class memory_format(_Constant):
    """An order of the dimensions in memory: ``tengen.contiguous_format`` and the like."""

    __slots__ = ()


strided: Final = layout("strided")
sparse_coo: Final = layout("sparse_coo")
sparse_csr: Final = layout("sparse_csr")
sparse_csc: Final = layout("sparse_csc")
sparse_bsr: Final = layout("sparse_bsr")
sparse_bsc: Final = layout("sparse_bsc")
jagged: Final = layout("jagged")

#: The layouts of tensors that store some elements only.
SPARSE: Final = (sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)

contiguous_format: Final = memory_format("contiguous_format")
preserve_format: Final = memory_format("preserve_format")
channels_last: Final = memory_format("channels_last")
channels_last_3d: Final = memory_format("channels_last_3d")

#: All of them, by their names.
CONSTANTS: Final[dict[str, layout | memory_format]] = {
    c.name: c
    for c in (strided, *SPARSE, jagged, contiguous_format, preserve_format, channels_last, channels_last_3d)
}


class NotStrided(IndexError):
    """An array of another layout than strided was asked for elements, or for a part, as a strided one."""


#: The order of the dimensions in memory, innermost first.
_CHANNELS_LAST: Final = {channels_last: (1, 3, 2, 0), channels_last_3d: (1, 4, 3, 2, 0)}


def check_rank(format: memory_format, shape: tuple[int, ...]) -> None:
    """RuntimeError where a channels-last format is not for so many dimensions."""
    order = _CHANNELS_LAST.get(format)
    if order is not None and len(order) != len(shape):
        raise RuntimeError(
            f"required rank {len(order)} tensor to use {format.name} format, but got shape {list(shape)}"
        )


def check_nested_format(format: memory_format | None) -> None:
    """RuntimeError for channels_last and its like, orders of dimensions that a nested tensor has not."""
    if format not in (None, contiguous_format, preserve_format):
        raise RuntimeError(f"a nested tensor has no order of the dimensions: got memory_format={format}")


def is_channels_last(format: memory_format, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether an array of this layout is dense in ``format``, one of the two channels-last ones."""
    order = _CHANNELS_LAST[format]
    if len(shape) != len(order):
        return False
    expected = 1
    for d in order:
        if shape[d] != 1:
            if strides[d] != expected:
                return False
            expected *= shape[d]
    return True
