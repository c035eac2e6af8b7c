"""Kernels that go over large arrays in blocks of rows, with blocks so small that each test has many."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.core.costs import NATIVE_GRAIN
from tengen.kernels import bodies, linalg, named_rows, parallel, reductions, rows
from tengen.kernels.native_kernels import kernels
from tengen.testing import declared

nan, inf = np.nan, np.inf
Array = Any
EPS = 1e-5
TOLERANCE = {"float32": 2e-5, "float64": 1e-12}


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest, threads_kept: None) -> int:
    parallel.set_num_threads(request.param)
    return int(request.param)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Blocks of a few rows, each worth a thread, of whatever is not tiny."""
    monkeypatch.setattr(rows, "BLOCK_BYTES", 400)
    for module in (bodies, named_rows, rows):
        monkeypatch.setattr(module, "ROWS_LARGE", 30)
    monkeypatch.setattr(rows, "GRAIN", 1)


pytestmark = [pytest.mark.usefixtures("blocks"), pytest.mark.filterwarnings("ignore")]


def random(dtype: str, *shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def on_arrays(op: Any) -> Any:
    """An operator of several results, over arrays."""

    def call(*args: Any) -> list[Any]:
        found = op(*[tengen.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args])
        return [None if t is None else t.numpy() for t in found]

    return call


group_norm = on_arrays(tengen.ops.aten.native_group_norm)
group_norm_backward = on_arrays(tengen.ops.aten.native_group_norm_backward)
batch_norm = on_arrays(tengen.ops.aten._batch_norm_with_stats)
batch_norm_backward = on_arrays(tengen.ops.aten.native_batch_norm_backward)
by_running = on_arrays(lambda *args: (tengen.ops.aten._batch_norm_by_running(*args),))


def close(found: Array, expected: Array, dtype: str, factor: float = 1) -> None:
    assert found.dtype == dtype
    assert found.shape == expected.shape
    scale = max(1.0, float(np.nanmax(np.abs(expected), initial=0, where=np.isfinite(expected))))
    tolerance = TOLERANCE[dtype] * factor
    np.testing.assert_allclose(found.astype("d"), expected, tolerance, tolerance * scale)


#: Rows of moderate numbers, of large ones, with infinities and NaN; and sizes that leave a rest.
def tables(dtype: str) -> Iterator[Array]:
    for shape in [(23, 17), (5, 4, 16), (40, 2), (1, 200), (200, 1)]:
        x = random(dtype, *shape)
        yield x
        yield x * 300
        yield x - 500
        special = x.copy()
        special.reshape(-1, shape[-1])[0] = -inf
        special[..., -1] = -inf
        special.reshape(-1)[-1] = nan
        yield special


# -- blocks ------------------------------------------------------------------------------------


def test_blocks_cover_the_rows_once(threads: int) -> None:
    seen: list[tuple[int, int, int]] = []
    lock = threading.Lock()

    def task(number: int, begin: int, end: int) -> None:
        with lock:
            seen.append((number, begin, end))

    rows.each_block(task, 23, 4, 100)
    assert sorted(seen) == [(i, 4 * i, min(4 * i + 4, 23)) for i in range(6)]
    assert rows.blocks_of(24, 4) == 6 and rows.blocks_of(0, 4) == 0


# -- softmax -----------------------------------------------------------------------------------


def reference_softmax(x: Array) -> Array:
    x = x.astype("d")
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def reference_log_softmax(x: Array) -> Array:
    x = x.astype("d")
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_softmax(dtype: str) -> None:
    for x in tables(dtype):
        of = tengen.from_numpy(x)
        close(of.softmax(-1).numpy(), reference_softmax(x), dtype)
        close(of.log_softmax(x.ndim - 1).numpy(), reference_log_softmax(x), dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_softmax_backward(dtype: str) -> None:
    for shape in [(23, 17), (5, 4, 16), (3, 4)]:
        y, g = random(dtype, *shape), random(dtype, *shape, seed=1)
        for part in (g, g[..., :1].copy(), g[:1]):
            of = tengen.from_numpy(part).expand(shape), tengen.from_numpy(y), -1, getattr(tengen, dtype)
            a, b = y.astype("d"), np.broadcast_to(part, shape).astype("d")
            expected = a * (b - (a * b).sum(-1, keepdims=True))
            close(tengen._softmax_backward_data(*of).numpy(), expected, dtype)
            expected = b - np.exp(a) * b.sum(-1, keepdims=True)
            close(tengen._log_softmax_backward_data(*of).numpy(), expected, dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("keepdim", [False, True])
def test_logsumexp(dtype: str, keepdim: bool) -> None:
    for x in tables(dtype):
        wide = x.astype("d")
        top = wide.max(-1, keepdims=True)
        top[~np.isfinite(top)] = 0
        expected = np.log(np.exp(wide - top).sum(-1, keepdims=True)) + top
        found = tengen.from_numpy(x).logsumexp(-1, keepdim).numpy()
        close(found, expected if keepdim else expected[..., 0], dtype)


# -- reductions --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("columns", [3, 512, 600, 1021, 1024, 3 * 512, 2048 * 5 + 7])
def test_sums(dtype: str, columns: int) -> None:
    x = random(dtype, 3, columns)
    wide = x.astype("d")
    for keepdim in (False, True):
        for dim in ((1,), (-1,), (0,), (0, 1), None):
            expected = np.asarray(wide.sum(dim, keepdims=keepdim))
            found = np.asarray(reductions.sum_dim(x, dim, keepdim, None))
            close(found, expected, dtype, 4)
            close(
                np.asarray(reductions.mean_dim(x, dim, keepdim, None)),
                expected * expected.size / x.size,
                dtype,
            )
    close(np.asarray(reductions.sum_dim(x, None, False, None)), np.asarray(wide.sum()), dtype, 4)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (2, 5), (23, 17), (7, 512)])
@pytest.mark.parametrize("correction", [None, 0, 0.5, 1, 2, 600])
def test_variances_of_rows(dtype: str, shape: tuple[int, ...], correction: float | None) -> None:
    x = random(dtype, *shape) + np.asarray(50, dtype)
    wide = x.astype("d")
    free = max(shape[1] - (1 if correction is None else correction), 0)
    for keepdim in (False, True):
        expected = ((wide - wide.mean(1, keepdims=True)) ** 2).sum(1, keepdims=keepdim) / np.float64(free)
        of, how = tengen.from_numpy(x), {"correction": correction, "keepdim": keepdim}
        close(of.var(-1, **how).numpy(), expected, dtype, 40)
        close(of.std(1, **how).numpy(), np.sqrt(expected), dtype, 40)
        variance, mean = tengen.var_mean(of, 1, **how)
        close(variance.numpy(), expected, dtype, 40)
        close(mean.numpy(), wide.mean(1, keepdims=keepdim), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
def test_extrema_along_rows(dtype: str) -> None:
    for shape in [(23, 17), (5, 4, 16), (1, 1), (2000, 3)]:
        x = (random("float64", *shape) * 3).astype(dtype)
        if x.dtype.kind == "f":
            x.reshape(-1)[-1] = nan
        for keepdim in (False, True):
            for name, ufunc in (("max", np.maximum), ("min", np.minimum)):
                expected = ufunc.reduce(x, -1, keepdims=keepdim)
                result = reductions.reduced(name, x, (-1,), keepdim)
                assert result.dtype == x.dtype and result.shape == expected.shape
                np.testing.assert_array_equal(result, expected)
            of = tengen.from_numpy(x)
            for result, ufunc in zip(
                of.aminmax(dim=-1, keepdim=keepdim), (np.minimum, np.maximum), strict=True
            ):
                np.testing.assert_array_equal(result.numpy(), ufunc.reduce(x, -1, keepdims=keepdim))
            values, indices = of.max(-1, keepdim)
            np.testing.assert_array_equal(values.numpy(), np.maximum.reduce(x, -1, keepdims=keepdim))
            np.testing.assert_array_equal(indices.numpy(), x.argmax(-1, keepdims=keepdim))
            values, indices = of.min(x.ndim - 1, keepdim)
            np.testing.assert_array_equal(values.numpy(), np.minimum.reduce(x, -1, keepdims=keepdim))
            np.testing.assert_array_equal(indices.numpy(), x.argmin(-1, keepdims=keepdim))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("columns", [0, 1, 8, 64, 300, 1021])
def test_products_along_rows(dtype: str, columns: int) -> None:
    x = 1 + random("float64", 20, 3, columns).astype(dtype) / 10
    if dtype == "complex128":
        x = x * np.exp(0.3j)
    for keepdim in (False, True):
        found = reductions.prod_dim(x, (-1,), keepdim, None)
        expected = np.multiply.reduce(x.astype("D"), 2, keepdims=keepdim)
        assert found.dtype == dtype and found.shape == expected.shape
        np.testing.assert_allclose(found, expected, 3e-4 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, inf, -inf])
def test_norms_along_rows(dtype: str, order: float) -> None:
    for x in (random(dtype, 23, 17), random(dtype, 5, 4, 16).transpose(1, 0, 2), random(dtype, 8, 3).T):
        for axis in (0, -1):
            for keepdim in (False, True):
                found = linalg.linalg_vector_norm(x, order, (axis,), keepdim, None)
                sizes = np.abs(x.astype("d"))
                if np.isinf(order):
                    expected = sizes.max(axis) if order > 0 else sizes.min(axis)
                else:
                    expected = (sizes**order).sum(axis) ** (1 / order)
                close(found, np.expand_dims(expected, axis) if keepdim else expected, dtype)


# -- layers ------------------------------------------------------------------------------------


def normalised(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    x = x.astype("d")
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    rstd = 1 / np.sqrt(var + EPS)
    return (x - mean) * rstd, mean, rstd


def through(g: Array, n: Array, rstd: Array, axes: tuple[int, ...]) -> Array:
    """The gradient through a normalisation."""
    return rstd * (g - g.mean(axes, keepdims=True) - n * (g * n).mean(axes, keepdims=True))


def layer_norm(x: Array, *given: Any) -> list[Array]:
    """What the operator gives of arrays, as arrays."""
    of = [tengen.from_numpy(a) if isinstance(a, np.ndarray) else a for a in (x, *given)]
    return [t.numpy() for t in tengen.native_layer_norm(*of)]


def layer_norm_backward(*given: Any) -> tuple[Array | None, ...]:
    """The gradients of arrays, as arrays."""
    of = [tengen.from_numpy(a) if isinstance(a, np.ndarray) else a for a in given]
    return tuple([None if t is None else t.numpy() for t in tengen.ops.aten.native_layer_norm_backward(*of)])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(23, 17), (5, 4, 16), (3, 4), (1, 40), (60, 1)])
def test_layer_norm(dtype: str, shift: float, affine: bool, shape: tuple[int, ...]) -> None:
    x, g = random(dtype, *shape) + np.asarray(shift, dtype), random(dtype, *shape, seed=1)
    last = shape[-1:]
    weight, bias = (random(dtype, *last, seed=s) if affine else None for s in (2, 3))
    n, mean, rstd = normalised(x, (-1,))
    found = layer_norm(x, last, weight, bias, EPS)
    factor = 100 if shift else 4  # x itself is only so exact
    expected = n if weight is None else n * weight.astype("d") + bias.astype("d")
    close(found[0], expected, dtype, factor)
    close(found[1], mean, dtype)
    close(found[2], rstd, dtype, factor)
    gradients = layer_norm_backward(g, x, last, *found[1:], weight, bias, (True, affine, affine))
    wide = g.astype("d")
    outer = tuple(range(x.ndim - 1))
    scaled = wide if weight is None else wide * weight.astype("d")
    close(gradients[0], through(scaled, n, rstd, (-1,)), dtype, factor * (300 if last == (1,) else 1))
    if affine:
        close(gradients[1], (wide * n).sum(outer), dtype, factor)
        close(gradients[2], wide.sum(outer), dtype, factor)
    else:
        assert gradients[1:] == (None, None)


@pytest.mark.parametrize("mask", [(True, False, False), (False, True, False), (False, False, True)])
def test_only_the_gradients_asked_for(mask: tuple[bool, bool, bool]) -> None:
    x, g, w = random("float64", 23, 17), random("float64", 23, 17, seed=1), random("float64", 17, seed=2)
    _, mean, rstd = layer_norm(x, (17,), w, w, EPS)
    arguments = g, x, (17,), mean, rstd, w, w
    every = layer_norm_backward(*arguments, (True, True, True))
    some = layer_norm_backward(*arguments, mask)
    for asked, found, expected in zip(mask, some, every, strict=True):
        assert (found is not None) == asked
        if found is not None:
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("places", [(1,), (5,), (4, 8), (30, 40)])
def test_group_norm(dtype: str, shift: float, affine: bool, places: tuple[int, ...]) -> None:
    shape, groups = (3, 6, *places), 2
    inner = int(np.prod(places))
    x, g = random(dtype, *shape) + np.asarray(shift, dtype), random(dtype, *shape, seed=1)
    weight, bias = (random(dtype, 6, seed=s) if affine else None for s in (2, 3))
    n, mean, rstd = normalised(x.reshape(3, groups, -1), (2,))
    sizes = 3, 6, inner, groups
    found = group_norm(x, weight, bias, *sizes, EPS)
    column = (1, 6, *[1] * len(places))
    factor = 200 if shift else 4
    expected = n.reshape(shape)
    if weight is not None:
        expected = expected * weight.astype("d").reshape(column) + bias.astype("d").reshape(column)
    close(found[0], expected, dtype, factor)
    close(found[1], mean[..., 0], dtype)
    close(found[2], rstd[..., 0], dtype, factor)
    mask = (True, affine, affine)
    gradients = group_norm_backward(g, x, *found[1:], weight, *sizes, mask)
    wide = g.astype("d")
    scaled = wide if weight is None else wide * weight.astype("d").reshape(column)
    expected = through(scaled.reshape(3, groups, -1), n, rstd, (2,)).reshape(shape)
    close(gradients[0], expected, dtype, factor)
    axes = (0, *range(2, x.ndim))
    if affine:
        close(gradients[1], (wide * n.reshape(shape)).sum(axes), dtype, factor)
        close(gradients[2], wide.sum(axes), dtype, factor)


@pytest.mark.parametrize("places", [1, 20, 300, 400])
def test_a_samples_groups_do_not_depend_on_others(places: int) -> None:
    """As few samples and as many."""
    x, g = random("f", 90, 6, places), random("f", 90, 6, places, seed=1)
    weight, bias = random("f", 6, seed=2), random("f", 6, seed=3)
    whole = group_norm(x, weight, bias, 90, 6, places, 2, EPS)
    mask = (True, False, False)
    of_x = group_norm_backward(g, x, *whole[1:], weight, 90, 6, places, 2, mask)[0]
    for k in (0, 89):
        part = slice(k, k + 1)
        found = group_norm(x[part], weight, bias, 1, 6, places, 2, EPS)
        for a, b in zip(found, whole, strict=True):
            np.testing.assert_array_equal(a, b[part])
        given = (g[part], x[part], *found[1:], weight, 1, 6, places, 2, mask)
        np.testing.assert_array_equal(group_norm_backward(*given)[0], of_x[part])


@pytest.mark.skipif(kernels.column_sum is None, reason="BLAS adds a single column up in another order")
@pytest.mark.parametrize("shape", [(4, 2000, 3), (3, 900, 20), (9, 700)])
def test_a_channels_batch_norm_does_not_depend_on_others(shape: tuple[int, ...]) -> None:
    x, g = random("f", *shape), random("f", *shape, seed=1)

    def both(x: Any, g: Any) -> list[Any]:
        _, *saved, _ = normalised = batch_norm(x, None, None, EPS)
        given = (g, x, None, None, None, *saved, True, EPS, (True, False, False))
        return [*normalised, batch_norm_backward(*given)[0]]

    whole = both(x, g)
    for k in (0, shape[1] - 1):
        part = (slice(None), slice(k, k + 1))
        for a, b in zip(both(x[part], g[part]), whole, strict=True):
            np.testing.assert_array_equal(a, b[part] if a.ndim > 1 else b[k : k + 1])


@pytest.mark.parametrize("places", [(), (3,), (20,)])
def test_batch_norm_gives_the_gradients_that_are_asked_for(places: tuple[int, ...]) -> None:
    x, g = random("f", 5, 4, *places), random("f", 5, 4, *places, seed=1)
    weight = random("f", 4, seed=2)
    _, *saved, _ = batch_norm(x, weight, None, EPS)
    given = (g, x, weight, None, None, *saved, True, EPS)
    whole = batch_norm_backward(*given, (True, True, True))
    for mask in ((True, False, False), (False, True, False), (False, False, True), (False, False, False)):
        found = batch_norm_backward(*given, mask)
        for one, all_of_them, wanted in zip(found, whole, mask, strict=True):
            assert (one is not None) == wanted
            if wanted:
                np.testing.assert_array_equal(one, all_of_them)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shift", [0.0, 100.0])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(
    "shape", [(30, 6), (3, 6, 5), (3, 6, 4, 8), (2, 3), (200, 700), (7, 6, 20, 30), (600, 6, 5)]
)
@pytest.mark.parametrize("training", [False, True])
def test_batch_norm(dtype: str, shift: float, affine: bool, shape: tuple[int, ...], training: bool) -> None:
    x, g = random(dtype, *shape) + np.asarray(shift, dtype), random(dtype, *shape, seed=1)
    depth = shape[1]
    weight, bias = (random(dtype, depth, seed=s) if affine else None for s in (2, 3))
    running_mean = (random(dtype, depth, seed=4) + shift).astype(dtype)
    running_var = random(dtype, depth, seed=5) ** 2 + np.asarray(0.5, dtype)
    axes, column = (0, *range(2, x.ndim)), (1, depth, *[1] * (x.ndim - 2))
    n, mean, rstd = normalised(x, axes)
    if not training:
        mean = running_mean.astype("d").reshape(column)
        rstd = 1 / np.sqrt(running_var.astype("d") + EPS).reshape(column)
        n = (x.astype("d") - mean) * rstd
    running = running_mean, running_var
    found = batch_norm(x, weight, bias, EPS) if training else by_running(x, weight, bias, *running, EPS)
    factor = 200 if shift else 4
    expected = (
        n if weight is None else n * weight.astype("d").reshape(column) + bias.astype("d").reshape(column)
    )
    close(found[0], expected, dtype, factor)
    if training:
        close(found[1], mean.reshape(-1), dtype)
        close(found[2], rstd.reshape(-1), dtype, factor)
        close(found[3], x.astype("d").var(axes, ddof=1), dtype, factor)
    saved = found[1:3] if training else (None, None)
    gradients = batch_norm_backward(g, x, weight, *running, *saved, training, EPS, (True, affine, affine))
    wide = g.astype("d")
    scaled = wide if weight is None else wide * weight.astype("d").reshape(column)
    expected = through(scaled, n, rstd, axes) if training else scaled * rstd
    close(gradients[0], expected, dtype, factor)
    if affine:
        close(gradients[1], (wide * n).sum(axes), dtype, factor)
        close(gradients[2], wide.sum(axes), dtype, factor)


# -- threads -----------------------------------------------------------------------------------


def results() -> list[Array]:
    x, g, w = random("float32", 37, 33), random("float32", 37, 33, seed=1), random("float32", 33, seed=2)
    out, mean, rstd = layer_norm(x, (33,), w, w, EPS)
    return [
        tengen.from_numpy(x).softmax(1).numpy(),
        tengen.from_numpy(x).softmax(0).numpy(),
        tengen.from_numpy(x).logsumexp(1).numpy(),
        out,
        *layer_norm_backward(g, x, (33,), mean, rstd, w, w, (True, True, True)),
        *batch_norm(x.reshape(1, 37, 33), None, None, EPS),
    ]


def test_results_do_not_depend_on_the_threads(threads: int) -> None:
    parallel.set_num_threads(1)
    expected = results()
    parallel.set_num_threads(threads)
    for found, one in zip(results(), expected, strict=True):
        np.testing.assert_array_equal(found, one)


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 4), (4, 1, 3), (40, 50)])
def test_few_rows_are_as_many(kind: str, shape: tuple[int, ...]) -> None:
    """Along each dim, several or all: what they give beside others, where threads share them."""
    x = tengen.from_numpy(random("float64", *shape)).to(getattr(tengen, kind))
    many = x.expand(600, *shape).contiguous()
    for dims in (*[(d,) for d in range(-len(shape), 0)], (-2, -1), tuple(range(-len(shape), 0))):
        for keepdim in (False, True):
            for name in ("sum", "amax", "any", "mean"):
                few, among = getattr(x, name)(dims, keepdim), getattr(many, name)(dims, keepdim)[7]
                assert few.dtype is among.dtype and few.shape == among.shape
                assert tengen.allclose(few.double(), among.double(), 1e-2 if "float16" in kind else 1e-6)
        sizes = [shape[d] for d in dims]
        if dims == tuple(range(-len(dims), 0)):
            of_few, of_many = (tengen.native_layer_norm(a, sizes, None, None, 0.5) for a in (x, many))
            for few, among in zip(of_few, of_many, strict=True):
                assert few.dtype is among.dtype and few.shape == among[7].shape
                assert tengen.allclose(few.double(), among[7].double(), 1e-2, 1e-2)
        if len(dims) == 1:
            for few, among in zip(x.max(dims[0]), many.max(dims[0]), strict=True):
                assert tengen.equal(few, among[7])


OF_PARTS = [n for n, o in declared.operators().items() if o.body is not None and o.body.together]


@pytest.mark.parametrize("kind", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", OF_PARTS)
def test_one_long_row(name: str, kind: str, threads: int) -> None:
    """Of all elements, as many as threads share and some more: what float64 gives, rounded."""
    numbers = np.random.default_rng(len(name)).integers(-3, 5, 2 * NATIVE_GRAIN + 77) / 4
    numbers[[-9, -5, -3]] = -50, 50, 50
    if name.startswith("prod"):
        numbers = np.where(np.arange(numbers.size) % 29999, 1.0, -2.0)
    call = next(c for c in declared.calls(name) if c.takes(tengen.float64) and not c.hand_picked)
    given = [tengen.from_numpy(numbers), *[None if a.name == "dim" else v for a, v in zip(
        call.arguments[1:], call.values[1:], strict=True)]]  # fmt: skip
    of_doubles = declared.run(name, given)
    of_kind = declared.run(name, [given[0].to(getattr(tengen, kind)), *given[1:]])
    several = isinstance(of_kind, tuple)
    for found, expected in zip(*[of if several else (of,) for of in (of_kind, of_doubles)], strict=True):
        wanted = expected.to(found.dtype)
        assert found.dtype is (
            expected.dtype if expected.dtype is not tengen.float64 else getattr(tengen, kind)
        )
        near = 0 if found.dtype in (tengen.bool, tengen.int64) else 2 * tengen.finfo(found.dtype).eps
        assert (found - wanted).abs() <= near * wanted.abs() if near else tengen.equal(found, wanted)
