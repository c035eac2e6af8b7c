"""``nn.attention.flex_attention``: what its functions change, what its masks hide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.nn.attention import flex_attention as flex

GENERATOR = np.random.default_rng(0)
#: Queries, keys and values; then the heads of keys that are fewer.
SIZES = [((2, 2, 5, 4), (2, 2, 7, 4), (2, 2, 7, 6)), ((1, 4, 3, 4), (1, 2, 3, 4), (1, 2, 3, 4))]


def window(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return (q >= kv) & (q - kv < 3)


def written_out(q: Any, k: Any, v: Any, bias: Any) -> tuple[Any, Any]:
    """The same by operators alone: no vmap, no masks made of functions."""
    heads = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(heads, 1), v.repeat_interleave(heads, 1)
    i, j = tengen.arange(q.shape[2]).unsqueeze(-1), tengen.arange(k.shape[2])
    scores = q @ k.mT / math.sqrt(q.shape[-1]) * 2 + bias + (i - j)
    scores = scores.masked_fill(~((i >= j) & (i - j < 3)), -math.inf)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


@pytest.mark.parametrize("sizes", SIZES)
def test_values_and_gradients(sizes: tuple[tuple[int, ...], ...]) -> None:
    q, k, v = (tengen.tensor(GENERATOR.standard_normal(s), requires_grad=True) for s in sizes)
    bias = tengen.tensor(GENERATOR.standard_normal((q.shape[1], q.shape[2], k.shape[2])), requires_grad=True)

    def changed(score: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        return score * 2 + bias[h, i, j] + (i - j)

    mask = flex.create_block_mask(window, None, None, q.shape[2], k.shape[2], BLOCK_SIZE=2)
    found = flex.flex_attention(q, k, v, changed, mask, enable_gqa=True, return_lse=True)
    expected = written_out(q, k, v, bias)
    for ours, theirs in zip(found, expected, strict=True):
        tengen.testing.assert_close(ours, theirs)
    weights = tengen.tensor(GENERATOR.standard_normal(tuple(found[0].shape)))
    totals = [(each[0] * weights).sum() + each[1].sum() for each in (found, expected)]
    gradients = [tengen.autograd.grad(total, [q, k, v, bias]) for total in totals]
    for one, other in zip(*gradients, strict=True):
        tengen.testing.assert_close(one, other)


def test_where_all_is_hidden_the_result_is_zero() -> None:
    q = tengen.ones(1, 1, 2, 4, requires_grad=True)
    mask = flex.create_block_mask(lambda b, h, i, j: (i > 0) & (j == 0), None, None, 2, 3)
    result, aux = flex.flex_attention(
        q,
        tengen.ones(1, 1, 3, 4),
        tengen.ones(1, 1, 3, 4),
        block_mask=mask,
        return_aux=flex.AuxRequest(True, True),
    )
    assert result.tolist() == [[[[0] * 4, [1] * 4]]]
    assert aux.lse.tolist() == aux.max_scores.tolist() == [[[-math.inf, 2]]]
    result.sum().backward()
    assert q.grad is not None and bool(q.grad.isfinite().all())


def test_half_types_are_summed_in_float32() -> None:
    q, k, v = (tengen.randn(1, 1, 4, 8).bfloat16() for _ in range(3))
    result, lse = flex.flex_attention(q, k, v, return_lse=True)
    assert (result.dtype, lse.dtype) == (tengen.bfloat16, tengen.float32)


def described(torch: Any, flex: Any) -> list[Any]:
    """What the library says of masks."""
    found: list[Any] = []
    for mask, sizes, sides in (
        (lambda b, h, q, kv: q >= kv, (None, None, 300, 300), 128),
        (lambda b, h, q, kv: (q - kv < 3) & (q >= kv + h), (None, 2, 5, 7), (2, 3)),
        (flex.or_masks(lambda b, h, q, kv: b == kv, lambda b, h, q, kv: kv == 4), (3, None, 6, 6), 2),
        (flex.and_masks(lambda b, h, q, kv: q >= kv, flex.noop_mask), (1, 1, 8, 8), 4),
    ):
        for apart in (True, False):
            made = flex.create_block_mask(
                mask, *sizes, device="cpu", BLOCK_SIZE=sides, separate_full_blocks=apart
            )
            for each in (made, made[0], made[:, :, 1:], made[0, -1]):
                tensors = [t.tolist() for t in each.as_tuple() if isinstance(t, torch.Tensor)]
                found += [tensors, each.shape, each.numel(), each.sparsity(), each.to_dense().tolist()]
                found += [each.seq_lengths, each.BLOCK_SIZE, each.kv_indices.dtype == torch.int32]
        found.append(flex.create_mask(mask, *sizes, device="cpu").tolist())
    over = flex.create_mask(lambda s, b, h, i, j: torch.where(i > j, s, -math.inf), 1, 1, 2, 2, device="cpu")
    found.append(over.tolist())
    return found


@pytest.mark.oracle
def test_blocks_are_pytorchs(torch: Any) -> None:
    from torch.nn.attention import flex_attention as theirs

    assert described(tengen, flex) == described(torch, theirs)


def test_errors_say_what_does_not_fit() -> None:
    q, one = tengen.ones(1, 2, 5, 4), tengen.ones(1, 1, 5, 4)
    mask = flex.create_block_mask(window, None, None, 6, 6)
    calls: list[tuple[Any, type[Exception], str]] = [
        (lambda: flex.flex_attention(q[0], q[0], q[0]), NotImplementedError, "4D tensors, but got 3D"),
        (lambda: flex.flex_attention(q[..., :3], q, q), ValueError, "E=3 and E=4"),
        (lambda: flex.flex_attention(q, q, q[:, :, :4]), ValueError, "key and value"),
        (lambda: flex.flex_attention(q, one, one), ValueError, "Hq=2 and Hkv=1. Try"),
        (lambda: flex.flex_attention(q.expand(2, 2, 5, 4), q, q), ValueError, "Bq=2, and Bkv=1"),
        (lambda: flex.flex_attention(tengen.ones(1, 3, 5, 4), q, q, enable_gqa=True), ValueError, "multiple"),
        (lambda: flex.flex_attention(q, q, q, block_mask=mask), ValueError, "created for"),
        (lambda: flex.and_masks(window, 1), RuntimeError, "callable mask_mods"),
        (lambda: flex.create_mask(lambda q: q, 1, 1, 1, 1), AssertionError, "this one takes 1"),
    ]
    for call, error, words in calls:
        with pytest.raises(error, match=words):
            call()
