"""``tengen.masked``: what is masked out has no part in results nor gradients."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import masked
from tengen.masked import masks

RNG = np.random.default_rng(0)
VALUES = RNG.uniform(0.5, 2, (3, 4))
MASK = np.array([[True, False, True, True], [False, False, True, False], [True, True, False, True]])

#: The same of the elements that are left of one row, by NumPy.
ROWS: dict[str, Callable[[Any], Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "amax": np.max,
    "amin": np.min,
    "mean": np.mean,
    "median": lambda row: np.sort(row)[(len(row) - 1) // 2],
    "norm": np.linalg.norm,
    "logsumexp": lambda row: np.log(np.sum(np.exp(row))),
}
#: Of the functions that keep the shape, and what they give where elements are masked out.
SHAPED: dict[str, tuple[Callable[[Any], Any], float]] = {
    "softmax": (lambda row: np.exp(row) / np.exp(row).sum(), 0.0),
    "softmin": (lambda row: np.exp(-row) / np.exp(-row).sum(), 0.0),
    "log_softmax": (lambda row: row - np.log(np.exp(row).sum()), -math.inf),
}
#: What reductions give where nothing is left.
IDENTITIES = {
    "sum": 0.0,
    "prod": 1.0,
    "amax": -math.inf,
    "amin": math.inf,
    "logsumexp": -math.inf,
    "norm": 0.0,
    "mean": math.nan,
    "median": math.nan,
    "var": math.nan,
    "std": math.nan,
}


def tensors(requires_grad: bool = False) -> tuple[tengen.Tensor, tengen.Tensor]:
    return tengen.tensor(VALUES, requires_grad=requires_grad), tengen.tensor(MASK)


def close(found: tengen.Tensor, expected: Any) -> None:
    # a few operations on at most 12 numbers near 1: within 100 roundings of float64
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=100 * 2.0**-53, atol=100 * 2.0**-53)


@pytest.mark.parametrize("name", ROWS)
def test_reductions_see_what_is_left(name: str) -> None:
    x, mask = tensors()
    expected = [ROWS[name](row[left]) for row, left in zip(VALUES, MASK, strict=True)]
    keywords = {"dim": 1, "mask": mask}
    close(getattr(masked, name)(x, **keywords), expected)
    close(getattr(masked, name)(x, keepdim=True, **keywords), np.reshape(expected, (3, 1)))


@pytest.mark.parametrize(("correction", "ddof"), [(None, 1), (0, 0), (2, 2)])
def test_variances_divide_by_what_is_left(correction: int | None, ddof: int) -> None:
    x, mask = tensors()
    found = masked.var(x, mask=mask, correction=correction)
    close(found, np.var(VALUES[MASK], ddof=ddof))
    close(masked.std(x, mask=mask, correction=correction), np.std(VALUES[MASK], ddof=ddof))
    close(masked.var(x, 0, correction=correction), np.var(VALUES, 0, ddof=ddof))


@pytest.mark.parametrize("name", SHAPED)
def test_softmaxes_see_what_is_left(name: str) -> None:
    x, mask = tensors()
    function, otherwise = SHAPED[name]
    expected = np.full_like(VALUES, otherwise)
    for row, left, values in zip(expected, MASK, VALUES, strict=True):
        row[left] = function(values[left])
    close(getattr(masked, name)(x, 1, mask=mask), expected)


def test_scans_pass_over_what_is_masked_out() -> None:
    x, mask = tensors()
    close(masked.cumsum(x, 1, mask=mask), np.where(MASK, VALUES, 0).cumsum(1))
    close(masked.cumprod(x, 1, mask=mask), np.where(MASK, VALUES, 1).cumprod(1))


def test_normalize_and_logaddexp() -> None:
    x, mask = tensors()
    kept = np.where(MASK, VALUES, 0)
    close(masked.normalize(x, 2.0, 1, mask=mask), kept / np.linalg.norm(kept, axis=1, keepdims=True))
    both = masked.logaddexp(x, x + 1, input_mask=mask, other_mask=~mask)
    close(both, np.where(MASK, VALUES, VALUES + 1))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_indices_of_what_is_left(name: str) -> None:
    x, mask = tensors()
    filled = np.where(MASK, VALUES, -np.inf if name == "argmax" else np.inf)
    found = getattr(masked, name)(x, 1, mask=mask, dtype=tengen.int64)
    assert found.tolist() == getattr(filled, name)(axis=1).tolist()
    assert getattr(masked, name)(x, 1, mask=mask).dtype is x.dtype


@pytest.mark.parametrize("name", IDENTITIES)
def test_where_nothing_is_left_there_is_the_identity(name: str) -> None:
    x, nothing = tengen.tensor(VALUES), tengen.zeros(4, dtype=tengen.bool)  # which broadcasts
    found = getattr(masked, name)(x, dim=1, mask=nothing)
    np.testing.assert_array_equal(found.numpy(), np.full(3, IDENTITIES[name]))


def test_integers() -> None:
    x = tengen.tensor([[1, 2], [3, 4]], dtype=tengen.int8)
    mask = tengen.tensor([[True, False], [False, False]])
    assert masked.amax(x, 1, mask=mask).tolist() == [1, -128]
    assert masked.amin(x, 1, mask=mask).tolist() == [1, 127]
    assert masked.sum(x, mask=mask).dtype is tengen.int64
    assert masked.norm(x.double(), -math.inf, 1, mask=mask).tolist() == [1, math.inf]
    with pytest.raises(ValueError, match=r"masked.median: .*int8"):
        masked.median(x, 1, mask=mask)
    with pytest.raises(ValueError, match=r"masked.mean\(\): .*floating or complex.*int8"):
        masked.mean(x, mask=mask)


@pytest.mark.parametrize("name", [*ROWS, *SHAPED, "var", "cumsum", "cumprod", "normalize"])
def test_no_gradient_where_masked_out(name: str) -> None:
    x, mask = tensors(requires_grad=True)
    positional = (2.0, 1) if name == "normalize" else (2.0,) if name == "norm" else (1,)
    result = getattr(masked, name)(x, *positional, mask=mask)
    tengen.where(result.isfinite(), result, 0).sum().backward()
    assert x.grad is not None
    assert (x.grad.numpy()[~MASK] == 0).all()
    if name not in ("softmax", "softmin"):  # whose rows have the sum 1
        assert x.grad.numpy()[MASK].any()


def test_masks_that_do_not_fit() -> None:
    x, _ = tensors()
    with pytest.raises(IndexError, match=r"masked.sum: expected a mask that broadcasts"):
        masked.sum(x, mask=tengen.ones(1, 3, 4, dtype=tengen.bool))
    with pytest.raises(RuntimeError, match=r"\[3, 4\]"):
        masked.sum(x, mask=tengen.ones(3, dtype=tengen.bool))
    with pytest.raises(TypeError, match="argument 'mask' must be Tensor"):
        masked.sum(x, mask=True)
    with pytest.raises(RuntimeError, match="multiple times"):
        masked.sum(x, (0, 0))
    with pytest.raises(ValueError, match="got both"):
        masked.var(x, 0, True, correction=1)
    with pytest.raises(NotImplementedError, match=r"masked.amax: no identity"):
        masked.amax(x > 0, mask=x > 0)


def test_it_is_loaded_when_it_is_used() -> None:
    code = "import sys, tengen; assert 'tengen.masked' not in sys.modules; tengen.masked.sum"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.oracle
def test_signatures_are_those_of_torch() -> None:
    torch = pytest.importorskip("torch")
    names = [name for name, value in vars(masked).items() if inspect.isfunction(value) and name[0] != "_"]
    names = [name for name in names if not name.endswith("masked_tensor")]
    assert len(names) == 19
    for name in names:
        ours = inspect.signature(getattr(masked, name)).parameters.values()
        theirs = inspect.signature(getattr(torch.masked._ops, name)).parameters.values()
        assert [(p.name, p.kind, p.default) for p in ours] == [(p.name, p.kind, p.default) for p in theirs], (
            name
        )


def test_no_dimension_is_the_first_one() -> None:
    x, mask = tengen.arange(6.0).reshape(2, 3), tengen.tensor([[True, False, True], [True, True, True]])
    for name in ("cumsum", "cumprod", "softmax", "log_softmax", "softmin"):
        function = getattr(tengen.masked, name)
        assert tengen.equal(function(x, None, mask=mask), function(x, 0, mask=mask)), name


@pytest.mark.parametrize("dtype", [tengen.float16, tengen.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["mean", "var", "std", "normalize"])
def test_half_types_are_rounded_once(name: str, dtype: tengen.dtype) -> None:
    function = getattr(masked, name)
    x = (tengen.linspace(90.0, 110, 3000).reshape(3, 1000)).to(dtype)
    mask = tengen.arange(3000).reshape(3, 1000) % 3 > 0
    for dim in (1,) if name == "normalize" else (None, 1):
        order = (2.0,) if name == "normalize" else ()
        expected = function(x.float(), *order, dim, mask=mask).to(dtype)
        assert function(x, *order, dim, mask=mask).equal(expected)
    if name == "normalize":  # whose eps float16 has not
        assert function(tengen.zeros(1, 3, dtype=dtype), 2.0, 1).tolist() == [[0, 0, 0]]


def test_what_masks_leave_of_sparse_tensors() -> None:
    mask = tengen.tensor([[True, False, True], [False, True, True]])
    x = tengen.tensor([[1.0, 2, 0], [0, 0, 6]])
    fill = tengen.tensor(9.0)
    assert masked._where(mask, x, fill).tolist() == [[1, 9, 0], [9, 0, 6]]
    for of in ("to_sparse", "to_sparse_csr"):
        found = masked._where(getattr(mask, of)(), getattr(x, of)(), fill)
        assert found.layout is getattr(x, of)().layout
        assert found.to_sparse().coalesce().values().tolist() == [1, 0, 0, 6]
    blocks = tengen.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], (3, 2))
    chosen = tengen.sparse_coo_tensor([[0, 1]], tengen.tensor([[True, False], [False, False]]), (3, 2))
    assert masked._where(chosen, blocks, fill).to_dense().tolist() == [[1, 9], [0, 0], [0, 0]]
    with pytest.raises(ValueError, match=r"masked\._where\(\): expected a mask of the layout"):
        masked._where(mask.to_sparse(), x, fill)


def test_dimensions_and_identities() -> None:
    assert masked._canonical_dim((-1, 0), 3) == (0, 2) and masked._canonical_dim((), 2) == (0, 1)
    assert masked._canonical_dim(None, 0) == () and masked._canonical_dim(0, 0) == (0,)
    with pytest.raises(IndexError):
        masked._canonical_dim(3, 3)
    x = tengen.ones(2)
    for name, expected in (("sum", 0), ("prod", 1), ("masked.amax", -math.inf), ("norm", 0)):
        found = masked._reduction_identity(name, x)
        assert found is not None and found.shape == () and found.item() == expected
    assert masked._reduction_identity("mean", x) is None
    assert masked._reduction_identity("norm", x, -math.inf).item() == math.inf  # type: ignore[union-attr]
    assert masked._reduction_identity("amin", x.byte()).item() == 255  # type: ignore[union-attr]
    with pytest.raises(NotImplementedError):
        masked._reduction_identity("product", x)


DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
DTYPES += ["float8_e4m3fn", "float8_e5m2", "complex64", "complex128"]


@pytest.mark.oracle
def test_identities_are_pytorchs() -> None:
    """Of every reduction and dtype; in addition there are those of the larger unsigned integers."""
    torch = pytest.importorskip("torch")
    of_theirs = pytest.importorskip("torch.masked._ops")._reduction_identity
    for name, args in ((name, args) for name in masks.IDENTITIES for args in ((), (2,), (-math.inf,))):
        if args and name != "norm":
            continue
        for kind in DTYPES:
            theirs = torch.zeros(2, dtype=getattr(torch, kind))
            ours = tengen.zeros(2, dtype=getattr(tengen, kind))
            expected = described(of_theirs, name, theirs, *args)
            assert described(masked._reduction_identity, name, ours, *args) == expected, (name, args, kind)


def described(identity: Any, *args: Any) -> str:
    """Its dtype and value, or the class of its error: a TypeError is an AssertionError in PyTorch, too."""
    try:
        found = identity(*args)
    except Exception as error:
        return type(error).__name__.replace("AssertionError", "TypeError")
    return "None" if found is None else f"{str(found.dtype).rpartition('.')[2]} {found.tolist()}"
