"""Calls of nested tensors that PyTorch refuses, and what they give here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refusals import A, B, Call, attention, gaps, jagged, numbers, strided, turned


def over(x: Any, function: Callable[..., Any], *others: Any) -> list[Any]:
    """What a function gives for each component."""
    return [function(*given) for given in zip(x.unbind(), *[other.unbind() for other in others], strict=True)]


#: What PyTorch refuses and is computed here: the call, and what it gives, as a list of tensors.
COMPUTED: dict[str, tuple[Call, Call]] = {
    **{
        f"{name} of what is turned": (
            lambda m, name=name: getattr(turned(m), name)(),
            lambda m, name=name: over(turned(m), lambda t: getattr(t, name)()),
        )
        for name in ("relu", "neg", "abs", "sin", "logical_not", "isinf")
    },
    "padding of what is turned": (
        lambda m: turned(m).to_padded_tensor(0.0),
        lambda m: list(strided(m, (2, 20), (3, 20)).to_padded_tensor(0.0).transpose(1, 2)),
    ),
    "padding of none": (
        lambda m: strided(m, (1, 0), (0, 0)).to_padded_tensor(0.0),
        lambda m: [m.ones(1, 0)] * 2,
    ),
    "chunk of components": (lambda m: strided(m, *B).chunk(2, 0)[1], lambda m: [numbers(m, 3, 4)]),
    "chunk of unequal sizes": (
        lambda m: strided(m, *A).chunk(2, -1)[1],
        lambda m: over(strided(m, *A), lambda t: t[:, 2:]),
    ),
    "split of the other dimension": (
        lambda m: turned(m).split_with_sizes([4, 16], 1)[1],
        lambda m: over(turned(m), lambda t: t[4:]),
    ),
    "mul by a vector": (
        lambda m: strided(m, *B) * m.tensor([10.0]),
        lambda m: over(strided(m, *B), lambda t: t * 10),
    ),
    "mul of a vector": (
        lambda m: m.tensor([10.0]) * strided(m, *B),
        lambda m: over(strided(m, *B), lambda t: t * 10),
    ),
    "add of components of one row": (
        lambda m: strided(m, (1, 3), (1, 3)) + strided(m, *A),
        lambda m: over(strided(m, *A), lambda t: t + numbers(m, 1, 3)),
    ),
    "div of what is turned": (
        lambda m: strided(m, (5, 2), (4, 3)).transpose(1, 2) / strided(m, *B),
        lambda m: over(strided(m, *B), lambda t: numbers(m, *t.shape[::-1]).t() / t),
    ),
    "div of parts": (
        lambda m: (lambda parts: parts[0] / parts[1])(strided(m, (3, 4), (4, 4)).chunk(2, -1)),
        lambda m: over(strided(m, (3, 4), (4, 4)), lambda t: t[:, :2] / t[:, 2:]),
    ),
    "cat of ragged last": (
        lambda m: m.cat([strided(m, (2, 3), (2, 4))] * 2, -1),
        lambda m: over(strided(m, (2, 3), (2, 4)), lambda t: m.cat([t, t], -1)),
    ),
    "cat of several ragged": (
        lambda m: m.cat([strided(m, (2, 3, 4), (3, 2, 4))] * 2, -1),
        lambda m: over(strided(m, (2, 3, 4), (3, 2, 4)), lambda t: m.cat([t, t], -1)),
    ),
    "matmul of batches that broadcast": (
        lambda m: strided(m, (2, 2, 4), (1, 3, 4)) @ strided(m, (1, 4, 6), (3, 4, 5)),
        lambda m: over(strided(m, (2, 2, 4), (1, 3, 4)), m.matmul, strided(m, (1, 4, 6), (3, 4, 5))),
    ),
    "matmul of a vector": (
        lambda m: numbers(m, 2) @ strided(m, (2, 3), (2, 4)),
        lambda m: over(strided(m, (2, 3), (2, 4)), lambda t: numbers(m, 2) @ t),
    ),
    "matmul of both layouts": (
        lambda m: strided(m, *A) @ jagged(m, (3, 2), (3, 4)),
        lambda m: over(strided(m, *A), m.matmul, strided(m, (3, 2), (3, 4))),
    ),
    "linear of what is turned": (
        lambda m: m.nn.functional.linear(strided(m, (4, 2), (4, 3)).transpose(1, 2), numbers(m, 8, 4)),
        lambda m: over(strided(m, (4, 2), (4, 3)), lambda t: t.t() @ numbers(m, 8, 4).t()),
    ),
    "squeeze to numbers": (lambda m: strided(m, (1,), (1,)).squeeze(1), lambda m: [m.tensor(-1.0)] * 2),
    "reshape of two that stay": (
        lambda m: strided(m, (2, 5, 4), (3, 5, 4)).reshape(2, -1, -1, 2, 2),
        lambda m: over(strided(m, (2, 5, 4), (3, 5, 4)), lambda t: t.reshape(-1, 5, 2, 2)),
    ),
    "slices of what is ragged": (
        lambda m: strided(m, *A)[:, 0:1],
        lambda m: over(strided(m, *A), lambda t: t[:1]),
    ),
    "narrow of the last": (
        lambda m: strided(m, *A).narrow(2, 0, 1),
        lambda m: over(strided(m, *A), lambda t: t[:, :1]),
    ),
    "narrow of rows": (
        lambda m: m.nested.narrow(numbers(m, 3, 4, 2), 1, 1, 2, layout=m.strided),
        lambda m: list(numbers(m, 3, 4, 2)[:, 1:3]),
    ),
    "narrow of rows that are turned": (
        lambda m: m.nested.narrow(numbers(m, 4, 3, 2).transpose(0, 1), 1, 1, 2, layout=m.jagged),
        lambda m: list(numbers(m, 4, 3, 2).transpose(0, 1)[:, 1:3]),
    ),
    "masked_select by a larger mask": (
        lambda m: m.nested.masked_select(numbers(m, 3), m.tensor([[True], [False]])),
        lambda m: [numbers(m, 3), numbers(m, 0)],
    ),
    "attention with is_causal": (
        lambda m: attention(m, *[strided(m, (2, 2, 3), (2, 4, 3))] * 3, is_causal=True),
        lambda m: over(strided(m, (2, 2, 3), (2, 4, 3)), lambda t: attention(m, t, t, t, is_causal=True)),
    ),
    "softmax of the ragged when turned": (
        lambda m: jagged(m, (2, 5, 6), (3, 5, 6)).transpose(1, 2).softmax(2),
        lambda m: over(jagged(m, (2, 5, 6), (3, 5, 6)), lambda t: t.transpose(0, 1).softmax(1)),
    ),
    **{
        f"{name} of ragged with gaps": (
            lambda m, name=name: getattr(gaps(m, 4), name)(1),
            lambda m, name=name: over(gaps(m, 4), lambda t: getattr(t, name)(0)),
        )
        for name in ("sum", "mean", "amax", "softmax", "log_softmax", "argmax")
    },
    "linear with gaps": (
        lambda m: m.nn.functional.linear(gaps(m, 3), numbers(m, 2, 3)),
        lambda m: over(gaps(m, 3), lambda t: t @ numbers(m, 2, 3).t()),
    ),
    "add with gaps": (
        lambda m: gaps(m, 3) + numbers(m, 3, 1, 3),
        lambda m: over(gaps(m, 3), m.add, numbers(m, 3, 1, 3)),
    ),
    "chunk with gaps": (lambda m: gaps(m, 3).chunk(2, 0)[1], lambda m: [gaps(m, 3).unbind()[2]]),
}
