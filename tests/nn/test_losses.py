"""The losses of ``tengen.nn.functional`` against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tengen
from tengen.kernels.nn import cross_entropy
from tengen.nn import functional as F

RANDOM = np.random.default_rng(12)
INPUT, OTHER = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(3, 4))
SIGNS = np.where(OTHER > 0, 1.0, -1.0)


def given(array: np.ndarray) -> tengen.Tensor:
    return tengen.tensor(array)


@pytest.mark.parametrize(("reduction", "reduce"), [("none", np.asarray), ("mean", np.mean), ("sum", np.sum)])
def test_losses_are_reduced_by_word(reduction: str, reduce: object) -> None:
    x, y, signs = given(INPUT), given(OTHER), given(SIGNS)
    assert callable(reduce)
    losses = {
        F.soft_margin_loss(x, signs, reduction=reduction): np.log1p(np.exp(-SIGNS * INPUT)),
        F.hinge_embedding_loss(x, signs, reduction=reduction): np.where(
            SIGNS == 1, INPUT, np.maximum(1 - INPUT, 0)
        ),
        F.gaussian_nll_loss(x, y, 2.0, True, reduction=reduction): 0.5
        * (np.log(2.0) + (INPUT - OTHER) ** 2 / 2 + np.log(2 * np.pi)),
        F.poisson_nll_loss(x, y, reduction=reduction): np.exp(INPUT) - OTHER * INPUT,
        F.multilabel_soft_margin_loss(x, (signs + 1) / 2, reduction=reduction): np.log1p(
            np.exp(-SIGNS * INPUT)
        ).mean(-1),
    }
    for ours, expected in losses.items():
        np.testing.assert_allclose(ours.numpy(), reduce(expected), rtol=1e-12)


def test_soft_margin_loss_does_not_overflow() -> None:
    x = tengen.tensor([-1e4, 1e4], requires_grad=True)
    loss = F.soft_margin_loss(x, tengen.ones(2), reduction="none")
    loss.sum().backward()
    assert loss.tolist() == [1e4, 0.0]
    assert x.grad is not None
    assert x.grad.tolist() == [-1.0, 0.0]


def test_gaussian_variances_are_one_for_each_row_or_element() -> None:
    x, y = given(INPUT), given(OTHER)
    rows = tengen.tensor([1.0, 2.0, 3.0], dtype=tengen.float64)
    same = F.gaussian_nll_loss(x, y, rows.unsqueeze(1))
    assert F.gaussian_nll_loss(x, y, rows).item() == same.item()
    for wrong in (tengen.ones(4), tengen.ones(1, 1), -rows):
        with pytest.raises(ValueError, match="var"):
            F.gaussian_nll_loss(x, y, wrong)


def test_triplets_by_another_distance() -> None:
    a, p, n = (given(RANDOM.normal(size=(3, 4))) for _ in range(3))

    def distance(x: tengen.Tensor, y: tengen.Tensor) -> tengen.Tensor:
        return F.pairwise_distance(x, y, 1.0, 1e-6)

    ours = F.triplet_margin_with_distance_loss(a, p, n, distance_function=distance, swap=True)
    assert ours.item() == F.triplet_margin_loss(a, p, n, p=1.0, swap=True).item()
    with pytest.raises(ValueError, match="margin must be greater than 0"):
        F.triplet_margin_loss(a, p, n, margin=0.0)


# -- connectionist temporal classification -------------------------------------------------------


def test_ctc_takes_labels_one_after_the_other() -> None:
    """Also where these are not contiguous, and beside rows that are padded."""
    scores = given(RANDOM.normal(size=(6, 3, 5))).log_softmax(-1)
    rows = tengen.tensor([[1, 2, 3], [4, 9, 9], [2, 2, -1]])
    flat = tengen.tensor([1, 0, 2, 0, 3, 0, 4, 0, 2, 0, 2, 0])[::2]
    lengths = [6, 5, 4], [3, 1, 2]
    expected = F.ctc_loss(scores, rows, *lengths, reduction="none")
    assert F.ctc_loss(scores, flat, *lengths, reduction="none").tolist() == expected.tolist()
    one = F.ctc_loss(scores[:4, 2], tengen.tensor([2, 2]), [4], [2], reduction="none")
    assert one.shape == () and one.item() == pytest.approx(expected[2].item(), rel=1e-12)


def test_ctc_without_an_alignment_is_infinite() -> None:
    scores = given(RANDOM.normal(size=(2, 1, 3))).log_softmax(-1).requires_grad_()
    labels = tengen.tensor([[1, 1]])  # a blank has to be between
    assert F.ctc_loss(scores, labels, [2], [2]).item() == float("inf")
    loss = F.ctc_loss(scores, labels, [2], [2], zero_infinity=True)
    loss.backward()
    assert loss.item() == 0
    assert scores.grad is not None and not scores.grad.any()


def test_the_gradient_of_ctc_is_minus_the_probability_of_each_label() -> None:
    """Of one step and one label: 1, without what a log_softmax before it adds."""
    scores = tengen.zeros(1, 1, 3, dtype=tengen.float64, requires_grad=True)
    F.ctc_loss(scores, tengen.tensor([[2]]), [1], [1]).backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[[0.0, 0.0, -1.0]]]


def test_ctc_refuses_labels_that_are_no_classes() -> None:
    with pytest.raises(RuntimeError, match="targets must be from 0 to 2, but got 3"):
        F.ctc_loss(tengen.zeros(2, 1, 3), tengen.tensor([[3]]), [2], [1])


def test_losses_of_classes_refuse_what_has_none() -> None:
    with pytest.raises(IndexError, match=r"multilabel_soft_margin_loss: .*of \[\]"):
        F.multilabel_soft_margin_loss(tengen.tensor(1.0), tengen.tensor(0))
    with pytest.raises(IndexError, match="Dimension out of range"):
        F.cross_entropy(tengen.tensor(1.0), tengen.tensor(0.0), weight=tengen.ones(2))
    for shape in ((3,), (2, 3)):
        with pytest.raises(RuntimeError, match=r"cross_entropy: .*probabilities.*int64"):
            F.cross_entropy(tengen.ones(shape), tengen.zeros(shape, dtype=tengen.int64))


@pytest.mark.parametrize("smoothing", [0.0, 0.5])
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 0), (2, 0, 3)])
def test_cross_entropy_of_no_classes(shape: tuple[int, ...], smoothing: float) -> None:
    """A sum of nothing is 0, and a mean of nothing NaN."""
    x = tengen.empty(shape)
    each = F.cross_entropy(x, x, reduction="none", label_smoothing=smoothing)
    assert each.shape == shape[:1] * (len(shape) > 1) + shape[2:] and (each == 0).all()
    assert F.cross_entropy(x, x, reduction="sum", label_smoothing=smoothing) == 0
    assert F.cross_entropy(x, x, label_smoothing=smoothing).isnan()


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_both_forms_of_cross_entropy_agree(
    dtype: str, reduction: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits, target = RANDOM.normal(size=(9, 70)).astype(dtype), RANDOM.integers(0, 70, 9)
    target[[2, 5]] = -1
    weight = RANDOM.uniform(0.5, 2, 70).astype(dtype)
    grad = RANDOM.normal(size=() if reduction else 9).astype(dtype)
    found = []
    for there in (True, False):
        if not there:
            monkeypatch.setattr(cross_entropy, "kernel_of_floats", lambda name, dtype: None)
        for given in (None, weight):
            arguments = (logits, target, given, reduction, -1)
            loss, *saved = cross_entropy.fused_cross_entropy(*arguments)
            found += [loss, *saved, cross_entropy.fused_cross_entropy_backward(grad, *arguments, *saved)]
            target[0], kept = 70, target[0]
            with pytest.raises(IndexError, match="Target 70 is out of bounds"):
                cross_entropy.fused_cross_entropy(*arguments)
            target[0] = kept
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for native, other in zip(found[: len(found) // 2], found[len(found) // 2 :], strict=True):
        assert native.dtype == other.dtype == dtype and native.shape == other.shape
        np.testing.assert_allclose(native, other, rtol=tolerance, atol=tolerance)


def test_far_from_zero_cross_entropy_loses_no_digits() -> None:
    far = np.array([[1e4], [-1e4], [1e6], [0]])
    logits = tengen.tensor(RANDOM.normal(size=(4, 5)) + far, dtype=tengen.float32)
    target, found = tengen.tensor([0, 1, 2, 3]), []
    for dtype in (tengen.float32, tengen.float64):
        x = logits.detach().to(dtype).requires_grad_()
        loss = F.cross_entropy(x, target)
        loss.backward()
        found.append((loss.detach().numpy(), x.grad.numpy()))
    for ours, expected in zip(*found, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-6, atol=1e-8)


def test_a_rows_cross_entropy_does_not_depend_on_others() -> None:
    logits, target = tengen.randn(70, 33), tengen.randint(0, 33, (70,))
    whole = F.cross_entropy(logits, target, reduction="none")
    parts = [F.cross_entropy(logits[i], target[i]) for i in range(70)]
    assert tengen.equal(whole, tengen.stack(parts))


def test_cosines_of_vectors_of_two_dtypes() -> None:
    whole = tengen.tensor([3, 4])
    for dtype in (tengen.bool, tengen.int64, tengen.float16):
        found = F.cosine_similarity(whole.to(dtype), tengen.tensor([1.0, 0.0]), 0)
        assert found.dtype is tengen.float32
        tengen.testing.assert_close(
            found, F.cosine_similarity(whole.to(dtype).float(), tengen.tensor([1.0, 0.0]), 0)
        )
    with pytest.raises(RuntimeError, match="common dtype is"):
        F.cosine_similarity(whole, whole, 0)
