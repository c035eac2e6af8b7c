"""Resizing, windows, pools and their inverses of ``tengen.nn.functional``, against each other and NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tengen
from tengen.kernels.nn import grids
from tengen.nn import functional as F

RANDOM = np.random.default_rng(7)


def drawn(*shape: int) -> tengen.Tensor:
    return tengen.tensor(RANDOM.normal(size=shape))


@pytest.mark.parametrize(("mode", "dims"), [("linear", 1), ("bilinear", 2), ("trilinear", 3)])
def test_linear_interpolation_of_a_linear_function_is_exact(mode: str, dims: int) -> None:
    axes = np.meshgrid(*[np.linspace(0, 1, n) for n in (3, 4, 5)[:dims]], indexing="ij")
    finer = np.meshgrid(*[np.linspace(0, 1, n) for n in (7, 5, 9)[:dims]], indexing="ij")
    slopes = (2.0, -1.0, 0.5)
    image = sum(s * a for s, a in zip(slopes, axes, strict=False))
    expected = sum(s * a for s, a in zip(slopes, finer, strict=False))
    out = F.interpolate(tengen.tensor(image)[None, None], (7, 5, 9)[:dims], mode=mode, align_corners=True)
    np.testing.assert_allclose(out.numpy()[0, 0], expected, atol=1e-14)


def test_a_constant_image_stays_constant_in_every_mode() -> None:
    image = tengen.full((1, 2, 5, 6), 3.0, dtype=tengen.float64)
    for mode in ("nearest", "nearest-exact", "area", "bilinear", "bicubic"):
        np.testing.assert_allclose(F.interpolate(image, (3, 11), mode=mode).numpy(), 3, rtol=1e-14)
    for mode in ("bilinear", "bicubic", "lanczos"):
        out = F.interpolate(image, scale_factor=0.4, mode=mode, antialias=True)
        np.testing.assert_allclose(out.numpy(), 3, rtol=1e-14)


def test_antialiasing_hears_every_element() -> None:
    image = drawn(1, 1, 12, 12).requires_grad_()
    F.interpolate(image, (3, 3), mode="bilinear", antialias=True).sum().backward()
    assert image.grad is not None
    assert (image.grad != 0).all()
    image.grad = None
    F.interpolate(image, (3, 3), mode="bilinear").sum().backward()
    assert not (image.grad != 0).all()


def test_what_is_not_finite_stays_in_its_place() -> None:
    image = tengen.tensor([[[1.0, float("inf"), 3.0, 4.0]]])
    assert F.interpolate(image, 4, mode="linear", align_corners=True).tolist() == image.tolist()


def test_bad_resizing_is_refused() -> None:
    image = drawn(1, 2, 3, 4)
    bad = [
        ({"size": 2, "mode": "linear"}, NotImplementedError, "no mode 'linear' for a 4D input"),
        ({"size": 2, "mode": "nearest", "antialias": True}, ValueError, "Anti-alias"),
        ({"size": 2, "mode": "lanczos"}, ValueError, "antialias=True"),
        ({"size": 2, "align_corners": True}, ValueError, "align_corners"),
        ({"size": 0}, RuntimeError, "greater than 0"),
        ({}, ValueError, "size or scale_factor"),
    ]
    for options, kind, text in bad:
        with pytest.raises(kind, match=text):
            F.interpolate(image, **options)  # type: ignore[arg-type]


def test_fold_adds_up_what_unfold_takes_apart() -> None:
    image = drawn(2, 3, 5, 6)
    options = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": 1, "stride": (1, 2)}
    ones = F.fold(F.unfold(tengen.ones_like(image), **options), (5, 6), **options)  # type: ignore[arg-type]
    back = F.fold(F.unfold(image, **options), (5, 6), **options)  # type: ignore[arg-type]
    np.testing.assert_allclose(back.numpy(), (image * ones).numpy(), rtol=1e-12, atol=1e-12)


def test_unfold_and_a_product_are_a_convolution() -> None:
    image, weight = drawn(2, 3, 5, 6), drawn(4, 3, 2, 2)
    columns = weight.reshape(4, -1) @ F.unfold(image, 2)
    np.testing.assert_allclose(
        columns.reshape(2, 4, 4, 5).numpy(), F.conv2d(image, weight).numpy(), atol=1e-12
    )


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling_puts_maxima_back(dims: int) -> None:
    image = drawn(2, 2, *(4, 6, 4)[:dims])
    pool, unpool = getattr(F, f"max_pool{dims}d"), getattr(F, f"max_unpool{dims}d")
    best, where = pool(image, 2, return_indices=True)
    back = unpool(best, where, 2).numpy()
    assert back.shape == tuple(image.shape)
    found = back != 0
    assert (back[found] == image.numpy()[found]).all() and found.sum() == best.numel()
    with pytest.raises(ValueError, match="invalid output_size"):
        unpool(best, where, 2, output_size=[9] * dims)


def test_pools_of_norms() -> None:
    x = drawn(1, 2, 6)
    windows = x.numpy().reshape(1, 2, 3, 2)
    signed = F.lp_pool1d(x.abs(), 3, 2).numpy()
    np.testing.assert_allclose(signed, (np.abs(windows) ** 3).sum(-1) ** (1 / 3), rtol=1e-12)
    np.testing.assert_allclose(F.lp_pool1d(x, float("inf"), 2).numpy(), np.abs(windows).max(-1))
    image = drawn(1, 1, 4, 4).abs()
    np.testing.assert_allclose(
        F.lp_pool2d(image, 2, 2).numpy()[0, 0, 0, 0],
        np.sqrt((image.numpy()[0, 0, :2, :2] ** 2).sum()),
        rtol=1e-12,
    )


def test_fractional_pools_draw_their_windows() -> None:
    tengen.manual_seed(0)
    image = drawn(1, 1, 12, 12)
    places = {
        str(F.fractional_max_pool2d(image, 2, output_size=5, return_indices=True)[1].tolist())
        for _ in range(20)
    }
    assert len(places) > 1
    best, where = F.fractional_max_pool2d(image, 2, output_size=6, return_indices=True)
    assert best.tolist() == image.flatten()[where].tolist()
    with pytest.raises(ValueError, match="output_size or an output_ratio"):
        F.fractional_max_pool2d(image, 2)


def test_the_identity_map_samples_the_image_itself() -> None:
    for align in (False, True):
        for image, identity in (
            (drawn(2, 3, 4, 5), tengen.eye(2, 3, dtype=tengen.float64)),
            (drawn(2, 1, 3, 4, 5), tengen.eye(3, 4, dtype=tengen.float64)),
        ):
            grid = F.affine_grid(identity.expand(2, -1, -1), tuple(image.shape), align)
            for mode in ("bilinear", "nearest"):
                out = F.grid_sample(image, grid, mode, "border", align)
                np.testing.assert_allclose(out.numpy(), image.numpy(), atol=1e-12)


def test_grids_outside_of_the_image() -> None:
    image = tengen.tensor([[[[1.0, 2.0, 3.0]]]])
    grid = tengen.tensor([[[[-9.0, 0.0], [9.0, 0.0]]]])
    assert F.grid_sample(image, grid, align_corners=False).flatten().tolist() == [0.0, 0.0]
    border = F.grid_sample(image, grid, padding_mode="border", align_corners=False)
    assert border.flatten().tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match="padding_mode"):
        F.grid_sample(image, grid, padding_mode="wrap", align_corners=False)


GRIDS = [
    (dims, mode, padding, corners)
    for dims in (2, 3)
    for mode, padding, corners in itertools.product((0, 1, 2)[: 5 - dims], (0, 1, 2), (False, True))
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("dims", "mode", "padding", "corners"), GRIDS)
def test_native_kernels_sample_as_numpy_does(
    dims: int, mode: int, padding: int, corners: bool, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values and gradients; points in parts, images of one element, NaN and infinity."""
    rng = np.random.default_rng(5)
    for sizes in ((5, 7, 4), (1, 3, 1)):
        image = rng.normal(size=(2, 3, *sizes[:dims])).astype(dtype)
        grid = rng.uniform(-2.2, 2.2, size=(2, *(6, 5, 2)[:dims], dims)).astype(dtype)
        grid.reshape(-1)[[0, dims, 2 * dims]] = [np.nan, np.inf, -np.inf]
        found = []
        for native in (True, False):
            monkeypatch.setattr(grids, "CHUNK", 7)
            if not native:
                monkeypatch.setattr(grids, "kernel_of_floats", lambda name, dtype: None)
            found.append(_sampled_with_gradients(image, grid, mode, padding, corners))
            monkeypatch.undo()
        tolerance = 200 * np.finfo(dtype).eps
        for ours, expected in zip(*found, strict=True):
            np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance)


def _sampled_with_gradients(
    image: np.ndarray, grid: np.ndarray, mode: int, padding: int, corners: bool
) -> list[np.ndarray]:
    x, points = (tengen.tensor(a).requires_grad_() for a in (image, grid))
    out = getattr(tengen, f"grid_sampler_{grid.shape[-1]}d")(x, points, mode, padding, corners)
    factors = np.cos(np.arange(out.numel())).reshape(tuple(out.shape)).astype(image.dtype)
    out.backward(tengen.tensor(factors))
    assert x.grad is not None and points.grad is not None
    return [a.numpy() for a in (out.detach(), x.grad, points.grad)]


@pytest.mark.oracle
@pytest.mark.parametrize(("dims", "mode", "padding", "corners"), GRIDS)
def test_grids_beside_torch(dims: int, mode: int, padding: int, corners: bool) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(6)
    image, grid = (
        rng.normal(size=(2, 3, 5, 7, 4)[: dims + 2]),
        rng.uniform(-2.2, 2.2, (2, *(6, 5, 2)[:dims], dims)),
    )
    x, points = (torch.tensor(a).requires_grad_() for a in (image, grid))
    out = getattr(torch, f"grid_sampler_{dims}d")(x, points, mode, padding, corners)
    factors = np.cos(np.arange(out.numel())).reshape(tuple(out.shape))
    out.backward(torch.tensor(factors))
    theirs = [a.numpy() for a in (out.detach(), x.grad, points.grad)]
    for ours, expected in zip(
        _sampled_with_gradients(image, grid, mode, padding, corners), theirs, strict=True
    ):
        np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-12)


def test_grids_have_all_derivatives() -> None:
    """Weights are polynomials between the elements: of the third order where they are cubic."""
    image, grid = drawn(1, 1, 4, 5).requires_grad_(), (drawn(1, 2, 2, 2) / 4).requires_grad_()
    for mode in (0, 2):
        check = [image, grid]
        assert tengen.autograd.gradgradcheck(
            lambda a, b, m=mode: tengen.grid_sampler_2d(a, b, m, 0, False), check
        )


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_points_of_a_grid_that_are_nan(mode: str, padding: str, align_corners: bool) -> None:
    """Padding brings NaN to the begin of the image; else what is made by weights is NaN, as in PyTorch."""
    options = {"mode": mode, "padding_mode": padding, "align_corners": align_corners}
    image = tengen.arange(1.0, 10.0, dtype=tengen.float64).reshape(1, 1, 3, 3)
    nan, away = float("nan"), -1e3  # which padding brings to the begin, too
    found = F.grid_sample(image, tengen.tensor([[[[nan, 0.0], [0.0, nan]]]], dtype=image.dtype), **options)
    if mode == "bicubic" or (padding == "zeros" and mode == "bilinear"):
        assert found.isnan().all()
    else:
        options["padding_mode"] = "zeros" if padding == "zeros" else "border"
        begin = tengen.tensor([[[[away, 0.0], [0.0, away]]]], dtype=image.dtype)
        assert tengen.equal(found, F.grid_sample(image, begin, **options))


def test_response_norm_is_over_channels_around() -> None:
    x = drawn(2, 5, 3, 2)
    squares = np.pad(x.numpy() ** 2, [(0, 0), (1, 1), (0, 0), (0, 0)])
    mean = (squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]) / 3
    out = F.local_response_norm(x, 3, alpha=0.5, beta=0.7, k=2.0)
    np.testing.assert_allclose(out.numpy(), x.numpy() / (2 + 0.5 * mean) ** 0.7, rtol=1e-12)


@pytest.mark.oracle
@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_a_grid_leaves_out_has_no_part(dims: int, value: float) -> None:
    """NaN and infinities of the image are where PyTorch's are: not where a point lies outside."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    image = rng.normal(size=(1, 2, 3, 4, 2)[: dims + 2])
    image.reshape(-1)[[0, 7]] = value
    grid = rng.uniform(-2, 2, size=(1, *(3, 3, 2)[:dims], dims))
    name = f"grid_sampler_{dims}d"
    for mode, padding, corners in itertools.product((0, 1, 2)[: 5 - dims], (0, 1, 2), (True, False)):
        theirs = getattr(torch, name)(torch.tensor(image), torch.tensor(grid), mode, padding, corners)
        ours = getattr(tengen, name)(tengen.tensor(image), tengen.tensor(grid), mode, padding, corners)
        # Sums of at most 16 products of three weights, each rounded.
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=0, atol=64 * np.finfo(float).eps * 8)
