"""Multi-head attention of nested tensors: each part attends to a part of the same number."""

from __future__ import annotations

import math
from collections.abc import Mapping

import tengen.generated.functions as F

from ..tensors.tensor import Tensor


def nested_multi_head_attention(
    projected: tuple[Tensor, Tensor, Tensor],
    num_heads: int,
    dropout_p: float,
    need_weights: bool,
    average: bool,
) -> tuple[Tensor, Tensor | None]:
    """What is attended to, in the ragged sizes of the query, and the weights, padded with zeros.

    ``projected`` are the query, the key and the value after their linear maps, (N, j, E) each. The weights
    are (N, L, S) or, where they are not averaged, (N, num_heads, L, S), with the longest L and S.
    """
    heads = [x.unflatten(-1, [num_heads, -1]).transpose(1, 2) for x in projected]
    attended = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], dropout_p=dropout_p)
    out = attended.transpose(1, 2).flatten(2)
    return out, _weights(heads[0], heads[1], average) if need_weights else None


def _weights(query: Tensor, key: Tensor, average: bool) -> Tensor:
    """How much each place attends to each, of parts (num_heads, L, E) and (num_heads, S, E)."""
    found = []
    for q, k in zip(query.unbind(), key.unbind(), strict=True):
        each = F.softmax((q / math.sqrt(q.shape[-1])) @ k.mT, -1)
        found.append(each.mean(0) if average else each)
    return F._nested_tensor_from_tensor_list(found).to_padded_tensor(0.0)


def check_nested(given: tuple[Tensor, Tensor, Tensor], asked: Mapping[str, bool]) -> None:
    """AssertionError where one of the three is not nested, or something is asked for that there is not."""
    wrong = [name for name, value in asked.items() if value]
    others = [name for name, x in zip(("query", "key", "value"), given, strict=True) if not x.is_nested]
    if wrong or others:
        found = [f"{name} that is not nested" for name in others] + wrong
        raise AssertionError(
            "MultiheadAttention does not support NestedTensor outside of its fast path: expected nested "
            f"tensors (N, j, embed_dim) as query, key and value, without masks, but got {', '.join(found)}"
        )
