"""Multi-head attention, bags of embeddings and random activations of ``tengen.nn.functional``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen.nn import functional as F

RANDOM = np.random.default_rng(3)


def drawn(*shape: int) -> tengen.Tensor:
    return tengen.tensor(RANDOM.normal(size=shape))


def attended(heads: int, query: Any, key: Any, weights: Any, out: Any, mask: Any) -> tuple[Any, Any]:
    """Of (L, E) and (S, E), as the definition reads."""
    width = query.shape[1]
    q, k, v = query @ weights[:width].T, key @ weights[width : 2 * width].T, key @ weights[2 * width :].T
    parts, shares = [], []
    for h in range(heads):
        columns = slice(h * width // heads, (h + 1) * width // heads)
        scores = q[:, columns] @ k[:, columns].T / np.sqrt(width // heads) + mask
        share = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        parts.append(share @ v[:, columns])
        shares.append(share)
    return np.concatenate(parts, 1) @ out.T, np.mean(shares, 0)


@pytest.mark.parametrize("batched", [False, True])
def test_multi_head_attention_is_its_definition(batched: bool) -> None:
    query, key, weights, out = drawn(3, 4), drawn(5, 4), drawn(12, 4), drawn(4, 4)
    hidden = tengen.tensor([False, True, False, False, False])
    mask = np.where(hidden.numpy(), -np.inf, 0.0)
    expected = attended(2, query.numpy(), key.numpy(), weights.numpy(), out.numpy(), mask)
    x, y, padding = (
        (query.unsqueeze(1), key.unsqueeze(1), hidden.unsqueeze(0)) if batched else (query, key, hidden)
    )
    for needed in (True, False):
        ours, shares = F.multi_head_attention_forward(
            x, y, y, 4, 2, weights, None, None, None, False, 0.0, out, None,
            key_padding_mask=padding, need_weights=needed,
        )  # fmt: skip
        np.testing.assert_allclose(ours.numpy().reshape(3, 4), expected[0], rtol=1e-12, atol=1e-12)
        assert (shares is None) is not needed
        if shares is not None:
            np.testing.assert_allclose(shares.numpy().reshape(3, 5), expected[1], rtol=1e-12)


def test_multi_head_attention_takes_three_matrices_for_one() -> None:
    x, weights, out = drawn(3, 2, 4), drawn(12, 4), drawn(4, 4)
    q, k, v = weights.chunk(3)
    rest = (None, None, None, True, 0.0, out, None)
    one, _ = F.multi_head_attention_forward(x, x, x, 4, 2, weights, *rest)
    three, _ = F.multi_head_attention_forward(
        x, x, x, 4, 2, None, *rest,
        use_separate_proj_weight=True, q_proj_weight=q, k_proj_weight=k, v_proj_weight=v,
    )  # fmt: skip
    assert one.tolist() == three.tolist()
    with pytest.raises(AssertionError, match="embed_dim 4 not divisible by num_heads 3"):
        F.multi_head_attention_forward(x, x, x, 4, 3, weights, *rest)


def test_bags_of_a_matrix_are_its_rows() -> None:
    table = drawn(6, 3)
    rows = tengen.tensor([[0, 2], [5, 5]])
    expected = {"sum": table[rows].sum(1), "mean": table[rows].mean(1), "max": table[rows].amax(1)}
    for mode, result in expected.items():
        np.testing.assert_allclose(
            F.embedding_bag(rows, table, mode=mode).numpy(), result.numpy(), rtol=1e-12
        )
    weights = tengen.tensor([[2.0, 0.0], [1.0, -1.0]], dtype=tengen.float64)
    weighted = F.embedding_bag(rows, table, mode="sum", per_sample_weights=weights)
    np.testing.assert_allclose(weighted.numpy(), [2 * table[0].numpy(), np.zeros(3)], rtol=1e-12, atol=1e-15)
    with pytest.raises(NotImplementedError, match="per_sample_weights"):
        F.embedding_bag(rows, table, mode="mean", per_sample_weights=weights)


def test_bags_shorten_the_rows_that_they_use() -> None:
    table = tengen.tensor([[3.0, 4.0], [30.0, 40.0]])
    out = F.embedding_bag(tengen.tensor([0]), table, tengen.tensor([0]), max_norm=1.0, mode="sum")
    np.testing.assert_allclose(out.numpy(), [[0.6, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(table.numpy(), [[0.6, 0.8], [30.0, 40.0]], rtol=1e-6)


def test_distances_by_words() -> None:
    x, y = drawn(30, 3), drawn(26, 3)
    plain = tengen.cdist(x, y)
    assert tengen.cdist(x, y, compute_mode="use_mm_for_euclid_dist").tolist() == plain.tolist()
    with pytest.raises(ValueError, match="exact is not a valid value for compute_mode"):
        tengen.cdist(x, y, compute_mode="exact")


# -- what is random ---------------------------------------------------------------------------------


def test_rrelu_draws_a_slope_for_each_negative_element() -> None:
    x = drawn(1000).requires_grad_()
    y = F.rrelu(x, 0.2, 0.4, training=True)
    y.sum().backward()
    assert x.grad is not None
    slopes, negative = x.grad.numpy(), x.detach().numpy() <= 0
    assert (slopes[~negative] == 1).all()
    assert (slopes[negative] >= 0.2).all() and (slopes[negative] <= 0.4).all()
    assert len(set(slopes[negative])) > negative.sum() // 2
    np.testing.assert_allclose(y.detach().numpy(), x.detach().numpy() * slopes)
    np.testing.assert_allclose(F.rrelu(x, 0.2, 0.4).detach().numpy(), F.leaky_relu(x, 0.3).detach().numpy())


def test_alpha_dropout_of_features_drops_whole_channels() -> None:
    tengen.manual_seed(1)
    x = tengen.randn(40, 50, 6)
    y = F.feature_alpha_dropout(x, 0.3, training=True).numpy()
    constant = (y == y[:, :, :1]).all(2)
    assert 0.25 < constant.mean() < 0.35  # of 2000 channels: five standard deviations
    assert len(set(y[constant][:, 0])) == 1
    kept = (y[~constant] - y[~constant].mean()) / y[~constant].std()
    given = x.numpy()[~constant]
    np.testing.assert_allclose(kept, (given - given.mean()) / given.std(), atol=1e-4)
    z = x.clone()
    assert F.feature_alpha_dropout(z, 0.3, training=True, inplace=True) is z
    assert (z != x).any()


def test_gumbel_softmax_is_a_one_hot_with_a_soft_gradient() -> None:
    tengen.manual_seed(2)
    logits = tengen.tensor([0.0, 1.0, 2.0], dtype=tengen.float64).expand(4000, 3).clone().requires_grad_()
    hard = F.gumbel_softmax(logits, hard=True)
    rows = hard.detach().numpy().round(12)
    assert set(map(tuple, rows)) == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
    expected = np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum()
    np.testing.assert_allclose(rows.mean(0), expected, atol=6 * 0.5 / 4000**0.5)
    (hard * tengen.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert logits.grad is not None
    assert logits.grad.any(1).all()
    soft = F.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.detach().numpy().sum(1), 1, rtol=1e-12)


DTYPES = ("float16", "bfloat16", "float32", "float64", "bool", "int64", "uint8")


@pytest.mark.parametrize("mask", DTYPES)
@pytest.mark.parametrize("kind", DTYPES[:4])
def test_dtypes_of_masks(kind: str, mask: str) -> None:
    """A mask is bool, float32 or of the queries' dtype; what is computed in float32 is rounded once."""
    query = (tengen.arange(8.0) / 8).reshape(2, 4).to(getattr(tengen, kind))
    given = tengen.ones(2, 2).tril().to(getattr(tengen, mask))
    if mask not in ("bool", "float32", kind):
        with pytest.raises(RuntimeError, match="Expected attn_mask dtype to be bool or float or to match"):
            F.scaled_dot_product_attention(query, query, query, given)
        return
    found = F.scaled_dot_product_attention(query, query, query, given)
    wide = query.to(query.dtype.opmath)
    added = given if mask == "bool" else given.to(wide.dtype)
    assert found.dtype is query.dtype
    assert tengen.equal(found, F.scaled_dot_product_attention(wide, wide, wide, added).to(query.dtype))
