"""Modules and embedding of nested tensors give what a loop over the parts gives."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen import nested, nn
from tengen.nn import functional as F

LAYOUTS = [tengen.strided, tengen.jagged]
LENGTHS = (2, 4, 1)


def batch(layout: Any, columns: int = 4, seed: int = 0) -> Any:
    tengen.manual_seed(seed)
    parts = [tengen.rand(n, columns, dtype=tengen.float64) for n in LENGTHS]
    return nested.nested_tensor(parts, layout=layout, requires_grad=True)


def layer(kind: Any, **options: Any) -> Any:
    tengen.manual_seed(1)
    return kind(4, 2, 8, 0.0, batch_first=True, dtype=tengen.float64, **options)


MODULES = {
    "Linear": lambda: nn.Linear(4, 3, dtype=tengen.float64),
    "LayerNorm": lambda: nn.LayerNorm(4, dtype=tengen.float64),
    "RMSNorm": lambda: nn.RMSNorm(4, dtype=tengen.float64),
    "Sequential": lambda: nn.Sequential(nn.Linear(4, 8, dtype=tengen.float64), nn.GELU(), nn.Softmax(-1)),
    "encoder": lambda: nn.TransformerEncoder(layer(nn.TransformerEncoderLayer), 2),
    "encoder normalising first": lambda: layer(
        nn.TransformerEncoderLayer, norm_first=True, activation="gelu"
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str, layout: Any) -> None:
    module, x = MODULES[name](), batch(layout)
    for mode in (module.train, module.eval):
        mode()
        found = module(x)
        assert found.layout is layout and found.is_nested
        given = [p.detach().requires_grad_() for p in x.unbind()]
        expected = [module(p[None])[0] for p in given]
        for a, b in zip(found.unbind(), expected, strict=True):
            tengen.testing.assert_close(a, b)
        own = list(module.parameters())
        wanted = tengen.autograd.grad(sum([p.square().sum() for p in expected]), [*given, *own])
        (at_x, *others) = tengen.autograd.grad((found * found).sum(), [x, *own])
        for a, b in zip([*at_x.unbind(), *others], wanted, strict=True):
            tengen.testing.assert_close(a, b)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_decoder_attends_to_parts_of_other_lengths(layout: Any) -> None:
    module, x = layer(nn.TransformerDecoderLayer), batch(layout)
    memory = nested.nested_tensor([p.repeat(2, 1) for p in batch(layout, seed=3).unbind()], layout=layout)
    for found, a, b in zip(module(x, memory).unbind(), x.unbind(), memory.unbind(), strict=True):
        tengen.testing.assert_close(found, module(a[None], b[None])[0])


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_of_attention_are_padded(layout: Any, average: bool) -> None:
    module, x = nn.MultiheadAttention(4, 2, batch_first=True, dtype=tengen.float64), batch(layout)
    out, weights = module(x, x, x, average_attn_weights=average)
    for part, found, padded in zip(x.unbind(), out.unbind(), weights, strict=True):
        n = len(part)
        expected, wanted = module(part[None], part[None], part[None], average_attn_weights=average)
        tengen.testing.assert_close(found, expected[0])
        tengen.testing.assert_close(padded[..., :n, :n], wanted[0])
        assert not padded[..., n:, :].any() and not padded[..., n:].any()
    assert module(x, x, x, need_weights=False)[1] is None


def test_keys_and_values_of_other_widths() -> None:
    module = nn.MultiheadAttention(4, 2, kdim=3, vdim=5, batch_first=True, dtype=tengen.float64)
    given = [batch(tengen.jagged, columns) for columns in (4, 3, 5)]
    for found, *parts in zip(module(*given)[0].unbind(), *[x.unbind() for x in given], strict=True):
        tengen.testing.assert_close(found, module(*[p[None] for p in parts])[0][0])


def test_attention_says_what_it_does_not_do_of_nested_tensors() -> None:
    module, x = nn.MultiheadAttention(4, 2, batch_first=True, dtype=tengen.float64), batch(tengen.jagged)
    mask = tengen.zeros(4, 4, dtype=tengen.float64)
    for options, text in (({"attn_mask": mask}, "attn_mask"), ({"is_causal": True}, "is_causal")):
        with pytest.raises(AssertionError, match=f"fast path.*{text}"):
            module(x, x, x, **options)
    with pytest.raises(AssertionError, match="key that is not nested"):
        module(x, x.to_padded_tensor(0.0), x)
    with pytest.raises(AssertionError, match="batch_first=False"):
        nn.MultiheadAttention(4, 2, dtype=tengen.float64)(x, x, x)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_without_elements(layout: Any) -> None:
    """There are as many rows as the lengths say, also where a row has no elements."""
    x, weight = batch(layout, columns=0), tengen.rand(3, 0, dtype=tengen.float64, requires_grad=True)
    found = F.linear(x, weight)
    assert [tuple(part.shape) for part in found.unbind()] == [(n, 3) for n in LENGTHS]
    sum([part.sum() for part in found.unbind()]).backward()
    assert weight.grad.shape == (3, 0)
    words = [tengen.zeros(n, dtype=tengen.int64) for n in LENGTHS]
    for sparse in (False, True):
        table = tengen.rand(5, 0, requires_grad=True)
        rows = F.embedding(nested.nested_tensor(words, layout=layout), table, sparse=sparse)
        assert [tuple(part.shape) for part in rows.unbind()] == [(n, 0) for n in LENGTHS]
        rows.sum().backward()
        assert table.grad.shape == (5, 0) and table.grad.is_sparse == sparse


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_embedding(layout: Any, sparse: bool) -> None:
    words = [tengen.tensor(w) for w in ([1, 3], [0, 3, 2, 3], [4])]
    table, other = [tengen.rand(5, 3, dtype=tengen.float64) for _ in range(2)]
    other = table.clone().requires_grad_()
    table.requires_grad_()
    options: Any = {"padding_idx": 2, "sparse": sparse, "scale_grad_by_freq": not sparse}
    found = F.embedding(nested.nested_tensor(words, layout=layout), table, **options)
    expected = F.embedding(tengen.cat(words), other, **options)
    assert found.layout is layout
    tengen.testing.assert_close(tengen.cat(list(found.unbind())), expected)
    (found * found).sum().backward()
    expected.square().sum().backward()
    tengen.testing.assert_close(table.grad.to_dense(), other.grad.to_dense())
    assert table.grad.layout is other.grad.layout
    with pytest.raises(IndexError, match="embedding: index out of range"):
        F.embedding(nested.nested_tensor([tengen.tensor([5])], layout=layout), table)


def test_a_nested_tensor_is_no_window_of_a_memory() -> None:
    x, strided = batch(tengen.jagged).detach(), tengen.ones(2, dtype=tengen.float64)
    with pytest.raises(NotImplementedError, match=r"set_: expected self to be a strided tensor.*nested"):
        x.set_(strided)
    with pytest.raises(NotImplementedError, match=r"set_: expected source to be a strided tensor.*nested"):
        strided.set_(x)
    assert [len(p) for p in x.unbind()] == list(LENGTHS) and strided.tolist() == [1, 1]
    with pytest.raises(NotImplementedError, match="masked_fill: got tensors of the layouts"):
        strided.masked_fill(x > 0, 1.0)
