"""Which blocks of a mask have anything in them: ``BlockMask``, for ``flex_attention``."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from tengen.generated.functions import arange, argsort, zeros

from ...core.scalar_type import dtype
from ...func.vmap import vmap
from ...tensors.tensor import Tensor
from ..functional import pad

#: From the numbers of a batch, a head, a query and a key, all 0-d tensors, to whether the query sees the key.
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
#: The sides of blocks, along queries and along keys.
Sides = tuple[int, int]
DEFAULT_SIDE = 128


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask that lets everything be seen: of four 0-d tensors one of dtype bool."""
    return batch.new_ones(size=(), dtype=dtype.registry["bool"])


def over_scores(function: Callable[..., Tensor], scores: bool) -> Callable[..., Tensor]:
    """The function over all numbers of batches, heads, queries and keys; ``scores``: behind a score."""
    first = (0,) if scores else ()
    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        function = vmap(function, in_dims=first + dims)
    return function


def create_mask(
    mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:
    """What a ``mask_mod`` (four arguments) lets be seen: shape (B, H, Q_LEN, KV_LEN), dtype bool; None is 1.

    Of a ``score_mod`` (five arguments): where it does not make -inf of a score of 0. AssertionError of
    functions that take other numbers of arguments.
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    numbers = [arange(n, device=device) for n in sizes]
    count = len([p for p in inspect.signature(mod_fn).parameters.values() if p.default is p.empty])
    if count == 5:
        return over_scores(mod_fn, True)(zeros(sizes, device=device), *numbers) != -math.inf
    if count != 4:
        raise AssertionError(f"create_mask: mod_fn takes 4 arguments or 5, but this one takes {count}")
    return over_scores(mod_fn, False)(*numbers)


def _both(name: str, mods: tuple[MaskMod, ...], join: Callable[..., Tensor], start: bool) -> MaskMod:
    if not all(map(callable, mods)):
        raise RuntimeError(f"{name}: All inputs should be callable mask_mods: {mods}")

    def mask(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        found = b.new_full((), start, dtype=dtype.registry["bool"])
        for mod in mods:
            found = join(found, mod(b, h, q, kv))
        return found

    return mask


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of what all masks let be seen. RuntimeError for what cannot be called."""
    return _both("and_masks", mask_mods, lambda a, b: a & b, True)


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """The mask of what one of the masks lets be seen. RuntimeError for what cannot be called."""
    return _both("or_masks", mask_mods, lambda a, b: a | b, False)


def _ordered(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks each row has, and their columns, those first; both int32."""
    int32 = dtype.registry["int32"]
    whole = blocks.to(dtype=int32)
    return whole.sum(-1, dtype=int32), argsort(whole, dim=-1, descending=True, stable=True).to(int32)


def _dense(count: Tensor, indices: Tensor) -> Tensor:
    """The blocks of which ``_ordered`` gave the count and the columns; int32, 0 or 1."""
    columns = arange(indices.shape[-1], device=indices.device)
    chosen = (columns < count.unsqueeze(-1)).to(dtype=indices.dtype)
    return zeros(indices.shape, dtype=indices.dtype, device=indices.device).scatter(
        -1, indices.long(), chosen
    )


def _sides(given: int | Sides) -> Sides:
    return (given, given) if isinstance(given, int) else given


class BlockMask:
    """A ``mask_mod``, and for each block of queries which blocks of keys it sees.

    ``kv_num_blocks`` (B, H, rows) and ``kv_indices`` (B, H, rows, columns) name the blocks in which
    something is masked, ``full_kv_num_blocks`` and ``full_kv_indices`` those in which nothing is (or None);
    ``q_...`` the same for each block of keys. All are int32. RuntimeError where ``kv_indices`` has fewer than
    two dimensions.
    """

    _TENSORS = (
        *("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"),
        *("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices"),
    )

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: Sides = (DEFAULT_SIDE, DEFAULT_SIDE),
        mask_mod: MaskMod = noop_mask,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | Sides = DEFAULT_SIDE,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """The mask of these blocks; those by keys follow. Lengths are whole blocks unless they are given."""
        sides = _sides(BLOCK_SIZE)
        by_key: list[Tensor | None] = [None] * 4
        if compute_q_blocks:
            by_key[:2] = _ordered(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                by_key[2:] = _ordered(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        rows, columns = kv_indices.shape[-2:]
        lengths = (rows * sides[0], columns * sides[1]) if seq_lengths is None else seq_lengths
        by_query = (kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices)
        arguments: Any = (lengths, *by_query, *by_key, sides, mask_mod or noop_mask)
        return cls(*arguments)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The lengths, the tensors, the sides and the function; with ``flatten`` the sides one by one."""
        pairs = self.seq_lengths, self.BLOCK_SIZE
        lengths, sides = pairs if flatten else ((each,) for each in pairs)
        return (*lengths, *[getattr(self, name) for name in self._TENSORS], *sides, self.mask_mod)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, Q_LEN, KV_LEN)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self) -> int:
        """How many elements the whole mask has."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Which part of the mask, in percent, no block covers; negative where blocks reach beyond its end."""
        blocks = int(self.kv_num_blocks.sum())
        if self.full_kv_num_blocks is not None:
            blocks += int(self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """The blocks: (B, H, rows, columns) of int32, 1 where there is something to see."""
        found = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return found
        return found | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def _with(self, change: Callable[[Tensor], Tensor]) -> BlockMask:
        found = [getattr(self, name) for name in self._TENSORS]
        changed = [None if tensor is None else change(tensor) for tensor in found]
        arguments: Any = (self.seq_lengths, *changed, self.BLOCK_SIZE, self.mask_mod)
        return BlockMask(*arguments)

    def to(self, device: Any) -> BlockMask:
        """The mask with its tensors on a device."""
        return self._with(lambda tensor: tensor.to(device))

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads and rows of blocks. No dimension goes away."""
        given = index if isinstance(index, tuple) else (index,)
        kept = tuple(slice(i, i + 1 or None) if isinstance(i, int) else i for i in given)
        found = [getattr(self, name) for name in self._TENSORS[:4]]
        blocks = [None if tensor is None else tensor[kept] for tensor in found]
        others = self.BLOCK_SIZE, self.mask_mod, self.seq_lengths, self.q_indices is not None
        arguments: Any = (*blocks, *others)
        return BlockMask.from_kv_blocks(*arguments)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | Sides = DEFAULT_SIDE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The blocks of a ``mask_mod``, which is computed for all numbers. None for B or H is 1: all are alike.

    With ``separate_full_blocks`` blocks in which nothing is masked are named apart.
    """
    height, width = _sides(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    whole = pad(mask, (0, -KV_LEN % width, 0, -Q_LEN % height))
    b, h, queries, keys = whole.shape
    counts = whole.view(b, h, queries // height, height, keys // width, width).sum((3, 5))
    full = counts == height * width if separate_full_blocks else None
    partial = counts > 0 if full is None else (counts > 0) & ~full
    of_full = (None, None) if full is None else _ordered(full)
    others = (height, width), mask_mod, (Q_LEN, KV_LEN)
    arguments: Any = (*_ordered(partial), *of_full, *others)
    return BlockMask.from_kv_blocks(*arguments)
