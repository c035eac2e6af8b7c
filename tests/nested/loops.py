"""What is done with nested tensors and with their parts, which is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tengen
from tengen import nested
from tengen.nn import functional as F

LAYOUTS = {"jagged": tengen.jagged, "strided": tengen.strided}
SIZES = (2, 4, 1)


def parts(last: int = 3, seed: int = 0) -> list[Any]:
    tengen.manual_seed(seed)
    return [tengen.rand(n, last, dtype=tengen.float64) + 0.5 for n in SIZES]


def pieces(result: Any) -> list[Any]:
    return list(result.unbind())


W, B3, B5 = [tengen.linspace(-1, 1, n, dtype=tengen.float64) for n in (15, 3, 5)]
W = W.reshape(5, 3)

#: What is done with a nested tensor, and with one of its parts; both give as many tensors.
BOTH: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    name: (f, f)
    for name, f in {
        "exp": lambda x: x.exp(),
        "neg": lambda x: -x,
        "number": lambda x: 2 * x + 1 - x / 3,
        "power": lambda x: x**3,
        "reversed power": lambda x: 2**x,
        "0-d": lambda x: x * tengen.tensor(2.0, dtype=tengen.float64),
        "gelu": F.gelu,
        "stack": lambda x: tengen.stack([x, 2 * x, x * x], -1),
        "stack before the ragged": lambda x: tengen.stack([x, 2 * x], -3),
        "squeeze of several": lambda x: x.unsqueeze(-1).unsqueeze(-1).squeeze((-1, -2)),
        "squeeze of some": lambda x: x.unsqueeze(-1).squeeze((-1, -2)),
        "squeeze of none": lambda x: x.unsqueeze(-1).squeeze(()),
        "relu": lambda x: (x - 1).relu(),
        "sigmoid": lambda x: x.sigmoid() * x.tanh(),
        "addcmul": lambda x: x.addcmul(x, x, value=2),
        "where": lambda x: tengen.where(x > 1, x, -x),
        "clamp": lambda x: x.clamp(0.7, 1.2),
        "clamp_min": lambda x: x.clamp_min(1),
        "maximum": lambda x: tengen.maximum(x, 2 - x),
        "linear": lambda x: F.linear(x, W, B5),
        "linear without bias": lambda x: F.linear(x, W),
        "layer_norm": lambda x: F.layer_norm(x, (3,), B3, B3),
        "layer_norm alone": lambda x: F.layer_norm(x, (3,)),
        "softmax of the last": lambda x: x.softmax(-1),
        "log_softmax": lambda x: x.log_softmax(-1),
        "sum of the last": lambda x: x.sum(-1, keepdim=True),
        "mean of the last": lambda x: x.mean(-1, keepdim=True),
        "amax of the last": lambda x: x.amax(-1, keepdim=True),
        "max of the last": lambda x: x.max(-1, keepdim=True).values,
        "min of the last": lambda x: x.min(-1, keepdim=True).values,
        "prod of the last": lambda x: x.prod(-1, keepdim=True),
        "prod with zeros": lambda x: (x - 1).relu().prod(-1, keepdim=True),
        "masked_fill": lambda x: x.masked_fill(x > 1, 2.0),
        "fill by a tensor": lambda x: x * x.detach().clone().fill_(tengen.tensor(2.0)),
        "matmul": lambda x: x @ W.t(),
        "mT": lambda x: x.mT,
        "unsqueeze": lambda x: x.unsqueeze(-1),
        "squeeze": lambda x: x.unsqueeze(-1).squeeze(-1),
        "to": lambda x: x.to(tengen.float32).to(tengen.float64),
        "clone": lambda x: x.clone(),
        "contiguous": lambda x: x.contiguous(),
        "cat": lambda x: tengen.cat([x, 2 * x], -1),
        "chunk": lambda x: x.chunk(3, -1)[1],
        "split": lambda x: x.split([1, 2], -1)[1],
        "dropout of nothing": lambda x: F.dropout(x, 0.0),
        "in place": lambda x: x.clone().mul_(3).add_(x),
    }.items()
}
BOTH |= {
    "softmax of the ragged": (lambda x: x.softmax(1), lambda p: p.softmax(0)),
    "log_softmax of the ragged": (lambda x: x.log_softmax(1), lambda p: p.log_softmax(0)),
    "transpose": (lambda x: x.transpose(1, 2), lambda p: p.transpose(0, 1)),
    "of the transpose": (lambda x: x.transpose(1, 2).exp(), lambda p: p.t().exp()),
    "select": (lambda x: x.select(2, 1), lambda p: p.select(1, 1)),
    "bmm": (lambda x: x.bmm(MATRICES), None),
    "batches": (lambda x: x.matmul(MATRICES), None),
    "view": (lambda x: x.view(3, -1, 3, 1), lambda p: p.view(-1, 3, 1)),
    "reshape": (lambda x: x.reshape(3, -1, 3, 1), lambda p: p.reshape(-1, 3, 1)),
    "unsqueeze before": (lambda x: x.unsqueeze(1), lambda p: p.unsqueeze(0)),
    "permute": (lambda x: x.permute(0, 2, 1), lambda p: p.permute(1, 0)),
}
MATRICES = tengen.linspace(-2, 2, 18, dtype=tengen.float64).reshape(3, 3, 2)
#: Of these also which part it is is known.
BY_NUMBER = {"bmm": lambda p, i: p @ MATRICES[i], "batches": lambda p, i: p @ MATRICES[i]}


def weighted(results: list[Any]) -> Any:
    """A number of which the gradients of all elements differ."""
    total = 0.0
    for number, result in enumerate(results, 2):
        weights = tengen.arange(result.numel(), dtype=tengen.float64).reshape(result.shape).cos() * number
        total = total + (result * weights).sum()
    return total


def compare(f: Callable[..., Any], by_part: Callable[[Any, int], Any], layout: Any) -> None:
    leaves = [p.requires_grad_() for p in parts()]
    expected = [by_part(p, i) for i, p in enumerate(leaves)]
    found = pieces(f(nested.as_nested_tensor(leaves, layout=layout)))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        tengen.testing.assert_close(a, b)
    wanted = tengen.autograd.grad(weighted(expected), leaves)
    for a, b in zip(tengen.autograd.grad(weighted(found), leaves), wanted, strict=True):
        tengen.testing.assert_close(a, b)
