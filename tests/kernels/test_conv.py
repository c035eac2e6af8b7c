"""The kernels of convolutions against PyTorch's functions and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nn_oracle import check, check_gradients, leaf, rand

from tengen.kernels.nn import conv

torch = pytest.importorskip("torch")
F = torch.nn.functional
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


def plain(stride: Any, padding: Any, dilation: Any, groups: int) -> tuple[Any, ...]:
    """The arguments of a convolution that is not transposed."""
    return stride, padding, dilation, False, (0,), groups


def transposed(stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any) -> tuple[Any, ...]:
    """The arguments of a transposed convolution, from those of PyTorch's functions."""
    return stride, padding, dilation, True, output_padding, groups


CONVOLUTIONS = [
    # input, weight, stride, padding, dilation, groups
    ((2, 3, 9), (4, 3, 3), (1,), (0,), (1,), 1),
    ((2, 4, 9), (6, 2, 3), (2,), (1,), (2,), 2),
    ((3, 9), (4, 3, 1), (1,), (0,), (1,), 1),
    ((2, 3, 7, 8), (4, 3, 3, 2), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 7, 8), (4, 3, 3, 2), (2, 3), (1, 2), (2, 1), 1),
    ((2, 4, 7, 8), (4, 1, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    ((2, 4, 7, 8), (6, 2, 3, 3), (2, 2), (1, 1), (1, 1), 2),
    ((3, 5, 5), (2, 3, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 5, 5), (2, 3, 1, 1), (2, 2), (1, 0), (1, 1), 1),
    ((0, 3, 5, 5), (2, 3, 3, 3), (1, 1), (0, 0), (1, 1), 1),
    ((2, 2, 5, 6, 4), (3, 2, 2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 2), 1),
    ((40, 8, 20, 20), (8, 8, 5, 5), (1, 1), (2, 2), (1, 1), 1),  # more than one block of columns
    ((40, 8, 20, 20), (4, 8, 3, 3), (1, 1), (2, 2), (1, 1), 1),  # more places than rows
    ((3, 9, 100), (2, 9, 4), (3,), (2,), (2,), 1),
    ((2, 8, 30, 31), (3, 8, 3, 2), (2, 3), (1, 2), (2, 1), 1),
    ((2, 8, 6, 7, 8), (3, 8, 2, 2, 2), (1, 1, 1), (1, 0, 1), (1, 1, 2), 1),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_conv(case: Any, dtype: Any) -> None:
    shape, kernel, *args = case
    x, w, b = rand(*shape), rand(*kernel) / 3, rand(kernel[0])
    if dtype == np.complex128:
        x, w, b = x + 0.5j * x[::-1], w - 1j * w[::-1], b + 1j
    x, w, b = x.astype(dtype), w.astype(dtype), b.astype(dtype)
    s, t, u = leaf(x), leaf(w), leaf(b)
    out = getattr(F, f"conv{len(kernel) - 2}d")(s, t, u, *args)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    ours = conv.convolution(x, w, b, *plain(*args))
    assert ours.dtype == dtype and ours.flags.c_contiguous
    np.testing.assert_allclose(ours, out.detach().numpy(), **close)
    grad = rand(*out.shape).astype(dtype)
    theirs = torch.autograd.grad(out, [s, t, u], torch.tensor(grad))
    gradients = conv.convolution_backward(grad, x, w, b.shape, *plain(*args), [True, True, True])
    for a, c in zip(gradients, theirs, strict=True):
        assert a.shape == c.shape
        scale = max(1.0, float(abs(c).max())) if c.numel() else 1.0  # sums of thousands of terms
        np.testing.assert_allclose(a, c.numpy(), close["rtol"], close["atol"] * scale)
    none = conv.convolution_backward(grad, x, w, None, *plain(*args), [False, False, False])
    assert none == (None, None, None)
    not_contiguous = np.asfortranarray(x)
    np.testing.assert_allclose(
        conv.convolution(not_contiguous, w, None, *plain(*args)),
        ours - b.reshape(-1, *[1] * (len(kernel) - 2)),
        **close,
    )


TRANSPOSED = [
    # input, weight, stride, padding, output_padding, groups, dilation
    ((2, 3, 5), (3, 4, 3), (2,), (1,), (1,), 1, (1,)),
    ((2, 3, 5, 4), (3, 4, 3, 2), (1, 1), (0, 0), (0, 0), 1, (1, 1)),
    ((2, 4, 5, 4), (4, 3, 3, 2), (2, 3), (1, 0), (1, 2), 2, (1, 1)),
    ((4, 5, 4), (4, 1, 3, 3), (2, 2), (1, 1), (0, 1), 4, (1, 2)),
    ((2, 3, 3, 3), (3, 2, 1, 1), (1, 1), (0, 0), (1, 0), 1, (2, 2)),
    ((1, 2, 3, 4, 2), (2, 2, 2, 2, 3), (2, 1, 2), (0, 1, 0), (1, 0, 0), 1, (1, 1, 1)),
]


@pytest.mark.parametrize("case", TRANSPOSED, ids=str)
def test_conv_transpose(case: Any) -> None:
    shape, kernel, *args = case
    x, w, b = rand(*shape), rand(*kernel), rand(kernel[1] * args[3])
    s, t, u = leaf(x), leaf(w), leaf(b)
    out = getattr(F, f"conv_transpose{len(kernel) - 2}d")(s, t, u, *args)
    check(conv.convolution(x, w, b, *transposed(*args)), out)
    grad = rand(*out.shape)
    ours = conv.convolution_backward(grad, x, w, b.shape, *transposed(*args), [True] * 3)
    check_gradients(ours, out, [s, t, u], grad)


@pytest.mark.parametrize("groups", [1, 2, 4], ids=str)
def test_conv_in_several_blocks(monkeypatch: pytest.MonkeyPatch, groups: int) -> None:
    """Blocks of samples, and of places within them, whose taps reach into each other."""
    monkeypatch.setattr(conv, "COLUMNS_CHUNK", 500)
    x, w = rand(5, 4, 9, 11), rand(4, 4 // groups, 3, 2)
    t, u = leaf(x), leaf(w)
    out = F.conv2d(t, u, None, 1, (1, 0), (1, 2), groups)
    args = plain((1,), (1, 0), (1, 2), groups)
    check(conv.convolution(x, w, None, *args), out)
    grad = rand(*out.shape)
    ours = conv.convolution_backward(grad, x, w, None, *args, (True, True, False))
    check_gradients(ours[:2], out, (t, u), grad)


@pytest.mark.parametrize("stride", [1, 2])
def test_conv_weights_that_are_not_finite_stay_at_their_places(stride: int) -> None:
    """The gradient of the input: a tap that never sees a place says nothing about it."""
    x, w = rand(2, 1, 5, 6), rand(3, 1, 3, 3)
    w[0, 0, 0, 0], w[1, 0, 2, 1] = np.nan, np.inf
    t = leaf(x)
    out = F.conv2d(t, torch.tensor(w), None, stride)
    grad = np.abs(rand(*out.shape)) + 1
    args = plain((stride,), (0,), (1,), 1)
    ours = conv.convolution_backward(grad, x, w, None, *args, (True, False, False))
    found = torch.autograd.grad(out, t, torch.tensor(grad))[0].numpy()
    assert np.isfinite(found).any() and not np.isfinite(found).all()
    np.testing.assert_array_equal(np.isfinite(ours[0]), np.isfinite(found))


@pytest.mark.parametrize(("padding", "kernel"), [(0, (1, 1)), (1, (2, 3))])
def test_conv_of_no_channels(padding: int, kernel: Any) -> None:
    """A sum of nothing is 0: the bias is left. PyTorch gives no channels."""
    x, weight, bias = rand(2, 0, 4, 5), rand(3, 0, *kernel), rand(3)
    args = plain((1,), (padding,), (1,), 1)
    out = conv.convolution(x, weight, bias, *args)
    zeros = F.conv2d(
        torch.tensor(rand(2, 1, 4, 5)), torch.zeros(3, 1, *kernel, dtype=torch.float64), None, 1, padding
    )
    check(out, zeros + torch.tensor(bias)[:, None, None])
    grads = conv.convolution_backward(np.ones(out.shape), x, weight, bias.shape, *args, (True,) * 3)
    assert [g.shape for g in grads] == [(2, 0, 4, 5), (3, 0, *kernel), (3,)]
    np.testing.assert_array_equal(grads[2], np.ones(out.shape).sum((0, 2, 3)))


def test_conv_integers() -> None:
    x, w = np.arange(2 * 3 * 25).reshape(2, 3, 5, 5) % 7, np.arange(4 * 3 * 4).reshape(4, 3, 2, 2) % 5
    check(
        conv.convolution(x, w, None, *plain((1,), (0,), (1,), 1)), F.conv2d(torch.tensor(x), torch.tensor(w))
    )


@pytest.mark.parametrize(
    ("shape", "kernel", "args", "message"),
    [
        ((1, 2, 5, 5), (3, 3, 2, 2), ((1,), (0,), (1,), 1), "to have 3 channels, but got 2"),
        ((1, 3, 2, 2), (3, 3, 3, 3), ((1,), (0,), (1,), 1), "Kernel size can't be greater"),
        ((1, 3, 5, 5), (3, 3, 3, 3), ((0,), (0,), (1,), 1), "non-positive stride"),
        ((1, 3, 5, 5), (3, 3, 3, 3), ((1,), (-1,), (1,), 1), "negative padding"),
        ((3, 5), (3, 3, 3, 3), ((1,), (0,), (1,), 1), "Expected 3D .unbatched. or 4D"),
        ((1, 4, 5, 5), (3, 2, 3, 3), ((1,), (0,), (1,), 2), "divisible"),
        ((1, 3, 5, 5), (3, 3, 3, 3), ((1, 1, 1), (0,), (1,), 1), "stride must either be a single int"),
    ],
)
def test_conv_errors(shape: Any, kernel: Any, args: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        conv.convolution(rand(*shape), rand(*kernel), None, *plain(*args))
    with pytest.raises(RuntimeError):
        F.conv2d(torch.tensor(rand(*shape)), torch.tensor(rand(*kernel)), None, *args)
