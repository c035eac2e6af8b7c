"""Operators of nested tensors that are made of those of their components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tengen.generated.functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def nested_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """``scaled_dot_product_attention`` of each component; the ragged sizes are those of the query.

    RuntimeError for arguments that are not all nested, of as many components; ValueError for a mask.
    """
    name = "scaled_dot_product_attention"
    given = {"query": query, "key": key, "value": value}
    for argument, tensor in given.items():
        if not tensor.is_nested:
            raise RuntimeError(f"{name}: expected query, key and value to be nested, but {argument} is not")
        if tensor.ndim != query.ndim:
            raise RuntimeError(
                f"{name}: expected as many dimensions of {argument} as of query, but got {tensor.ndim} "
                f"and {query.ndim}"
            )
        if tensor.shape[0] != query.shape[0]:
            raise RuntimeError(
                f"{name}: expected as many components of {argument} as of query, but got {tensor.shape[0]} "
                f"and {query.shape[0]}"
            )
    if attn_mask is not None:
        raise ValueError(f"{name}: attn_mask: Masks are not yet supported for nested tensors")
    components = zip(query.unbind(), key.unbind(), value.unbind(), strict=True)
    averaged = [
        F.scaled_dot_product_attention(
            *component, dropout_p=dropout_p, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
        )
        for component in components
    ]
    return F._nested_with_components(averaged, query)
