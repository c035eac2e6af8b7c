"""Printing: exact texts, what can be read back of many tensors, and those against torch."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

import tengen


@pytest.fixture(autouse=True)
def printed_as_by_default():
    yield
    tengen.set_printoptions(profile="default")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([1, -20, 3], "tensor([  1, -20,   3])"),
        ([True, False], "tensor([ True, False])"),
        (1.5, "tensor(1.5000)"),
        ([1.0, 2.0, np.nan, np.inf], "tensor([1., 2., nan, inf])"),
        ([1.5, -np.inf], "tensor([1.5000,   -inf])"),
        ([0.001, 1000.0], "tensor([1.0000e-03, 1.0000e+03])"),
        ([1 + 2j, -0.5j], "tensor([1.+2.0000j, -0.-0.5000j])"),
        ([[1, 2], [3, 4]], "tensor([[1, 2],\n        [3, 4]])"),
        ([], "tensor([])"),
        ([[], []], "tensor([], size=(2, 0))"),
    ],
)
def test_text(data, text):
    assert repr(tengen.tensor(data)) == str(tengen.tensor(data)) == text


def test_suffixes():
    assert repr(tengen.tensor([1], dtype=tengen.int8)) == "tensor([1], dtype=tengen.int8)"
    assert repr(tengen.tensor([], dtype=tengen.int64)) == "tensor([], dtype=tengen.int64)"
    x = tengen.tensor([1.0], requires_grad=True)
    assert repr(x) == "tensor([1.], requires_grad=True)"
    assert repr(x * x) == "tensor([1.], grad_fn=<MulBackward0>)"
    assert repr(tengen.zeros(2, 3, device="meta")) == "tensor(..., device='meta', size=(2, 3))"
    meta = tengen.zeros(2, dtype=tengen.int64, device="meta")
    assert repr(meta) == "tensor(..., device='meta', size=(2,), dtype=tengen.int64)"


def test_options_are_kept_and_given_back():
    tengen.set_printoptions(precision=2, linewidth=40)
    assert tengen.get_printoptions()["precision"] == 2
    with tengen.printoptions(precision=1, sci_mode=True):
        assert repr(tengen.tensor([1.25])) == "tensor([1.2e+00])"
    assert repr(tengen.tensor([1.125])) == "tensor([1.12])"
    tengen.set_printoptions(profile="short")
    assert tengen.get_printoptions()["edgeitems"] == 2


def numbers(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape) * scale


def cases() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    found: dict[str, np.ndarray] = {
        "zeros": np.zeros(5),
        "negative zero": np.array([-0.0, 0.0]),
        "all nan": np.full(3, np.nan),
        "nan among integers": np.array([1.0, np.nan, -np.inf]),
        "large integers": np.array([1e9, 2.0]),
        "integers and thousand": np.array([1.0, 1001.0]),
        "tiny": np.array([1e-5, 2e-5]),
        "denormal": np.array([5e-324, 1e300]),
        "float32 rounding": np.array([0.1, 0.3], np.float32),
        "half": np.array([6.1e-5, 65504], np.float16),
        "bool matrix": rng.random((3, 4)) > 0.5,
        "bytes": np.array([0, 255], np.uint8),
        "empty 3d": np.zeros((2, 0, 3)),
        "0-d int": np.array(7),
        "0-d nan": np.array(np.nan),
        "4-d": numbers(2, 2, 2, 2, 3),
        "wide": numbers(3, 2, 30),
        "long line of integers": np.arange(60),
        "summary 1-d": numbers(4, 1500),
        "summary 2-d": numbers(5, 40, 40),
        "summary 3-d": numbers(6, 20, 4, 20),
        "summary narrow": numbers(7, 600, 2),
        "summary of integers": np.arange(10000).reshape(100, 100),
        "outlier outside the summary": np.concatenate([np.ones(1000), [1e10], np.ones(1000)]),
        "outlier inside the summary": np.concatenate([[1e10], np.ones(2000)]),
        "complex": rng.normal(size=4) + 1j * rng.normal(size=4),
        "complex64": (rng.normal(size=(2, 3)) * 1e6 + 1j).astype(np.complex64),
        "complex with nan": np.array([complex(np.nan, -np.inf), 1 - 2j]),
        "complex 0-d": np.array(-1.5 - 0j),
        "complex summary": numbers(8, 2000) + 2j,
        "not contiguous": numbers(9, 6, 8)[::2, 1::3],
    }
    for exponent in range(-6, 11, 2):
        found[f"scale {exponent}"] = numbers(exponent + 10, 3, 4, scale=10.0**exponent)
        found[f"integers to {exponent}"] = np.round(numbers(exponent + 20, 7, scale=10.0**exponent))
    return found


def without_breaks(tensor) -> str:
    """The text with suffixes on one line: "tengen" is longer than "torch", and may have to break."""
    return re.sub(r",\n +(dtype|size|grad_fn|requires)", r", \1", repr(tensor)).replace("torch.", "tengen.")


OPTIONS = [
    {},
    {"precision": 2},
    {"precision": 8, "linewidth": 120},
    {"sci_mode": True},
    {"sci_mode": False},
    {"edgeitems": 1, "threshold": 5},
    {"edgeitems": 0, "threshold": 5},
    {"profile": "short"},
    {"profile": "full", "linewidth": 30},
]


def kept(array: np.ndarray) -> list[list[int]]:
    """For each dimension the numbers of what a summary shows; all of it where there is none."""
    options = tengen.get_printoptions()
    edge = options["edgeitems"]
    summarised = array.size > options["threshold"]
    return [
        [i for i in range(n) if i < edge or i >= n - edge] if summarised and n > 2 * edge else [*range(n)]
        for n in array.shape
    ]


def read_back(text: str):
    """The nested lists that a text shows; None for NaN."""
    contents = re.sub(r"(, |,\n +)(dtype|size)=.*", "", text[len("tensor(") :].removesuffix(")"), flags=re.S)
    return ast.literal_eval(contents.replace("nan", "None").replace("inf", "1e999"))


def assert_shown(shown, array: np.ndarray, places: list[list[int]]) -> None:
    """``...`` stands where something is left out, and there alone; all else are the elements, rounded."""
    if not places:
        value, precision = array.item(), tengen.get_printoptions()["precision"]
        if isinstance(value, (bool, int)):
            assert shown == value
        elif np.isnan(value):
            assert shown is None
        else:
            for part, whole in ((shown.real, value.real), (shown.imag, value.imag)):
                bound = 0.5001 * 10.0**-precision * max(1, abs(whole))
                assert part == whole or abs(part - whole) <= bound, (shown, value)
        return
    first, *rest = places
    items = list(shown)
    assert [i for i, item in enumerate(items) if item is ...] == (
        [] if len(first) == len(array) else [len(first) // 2]
    )
    items = [item for item in items if item is not ...]
    assert len(items) == len(first)
    for item, i in zip(items, first, strict=True):
        assert_shown(item, array[i], rest)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", cases())
def test_what_is_shown_are_the_elements(name, options):
    """Those that the summary keeps, where it keeps them."""
    array = cases()[name]
    if array.size == 0 or (array.dtype.kind == "c" and not np.isfinite(array).all()):
        pytest.skip("no numbers of Python's")
    if options.get("edgeitems") == 0 and array.size > options["threshold"]:
        pytest.skip("no elements are shown")
    tengen.set_printoptions(**options)
    text = repr(tengen.tensor(array))
    assert_shown(read_back(text), array, kept(array))


@pytest.mark.parametrize("linewidth", range(20, 40))
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_a_line_holds_as_many_as_fit(ndim, linewidth):
    """Each with a comma and a blank, beside the brackets of the other dimensions."""
    tengen.set_printoptions(linewidth=linewidth)
    for width in (1, 2, 5, 18):
        row = [10 ** (width - 1)] * 50
        text = repr(tengen.tensor(np.array(row).reshape((1,) * (ndim - 1) + (50,))))
        lines = text.split("\n")
        fit = max(1, (linewidth - len("tensor(") - (ndim - 1)) // (width + 2))
        assert [line.count("1") for line in lines] == [fit] * (50 // fit) + [50 % fit] * (50 % fit > 0), text
        assert fit == 1 or max(map(len, lines[:-1])) <= linewidth
        indents = {len(line) - len(line.lstrip()) for line in lines[1:]}
        assert indents <= {len("tensor(") + ndim}


@pytest.mark.parametrize(
    ("numbers", "scientific"),
    [
        ([1.0, 1000.0], False),
        ([1.0, np.nextafter(1000.0, 2000)], True),
        ([0.5, -500.0], False),
        ([-0.5, 500.5], True),
        ([1e8, 1e6], False),
        ([np.nextafter(1e8, 2e8)], True),
        ([1e-4, 0.05], False),
        ([np.nextafter(1e-4, 0)], True),
        ([0.0, np.inf, np.nan, 1.0, 999.5], False),
        ([0.0], False),
    ],
    ids=str,
)
def test_when_notation_is_scientific(numbers, scientific):
    """Of what is finite and not zero the ratio is over 1000, the most over 1e8 or the least below 1e-4."""
    for dtype in (tengen.float64, tengen.complex128):
        assert ("e+" in (text := repr(tengen.tensor(numbers, dtype=dtype))) or "e-" in text) is scientific
    integers = tengen.tensor([1, 10**12])
    assert repr(integers) == "tensor([            1, 1000000000000])"


@pytest.mark.parametrize("threshold", [1, 5, 16, 1000])
def test_the_threshold_is_not_summarised_yet(threshold):
    tengen.set_printoptions(threshold=threshold, edgeitems=1)
    for size in (threshold - 1, threshold, threshold + 1):
        for shape in ((size,), (1, size), (size, 1)):
            text = repr(tengen.ones(shape))
            assert ("..." in text) is (size > threshold and size > 2), text


@pytest.mark.parametrize("edge", [1, 2, 3])
def test_dimensions_of_twice_the_edge_are_shown_whole(edge):
    tengen.set_printoptions(threshold=0, edgeitems=edge)
    for n in (2 * edge - 1, 2 * edge, 2 * edge + 1, 2 * edge + 2):
        array = np.arange(n * n * n).reshape(n, n, n)
        shown = read_back(repr(tengen.tensor(array)))
        assert_shown(shown, array, kept(array))
        assert (... in shown) is (n > 2 * edge)


@pytest.mark.oracle
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", cases())
def test_as_torch(name, options):
    torch = pytest.importorskip("torch")
    array = cases()[name]
    if options.get("profile") == "full" and array.size > 2000:
        pytest.skip("torch takes seconds")
    tengen.set_printoptions(profile="default")
    torch.set_printoptions(profile="default")
    try:
        tengen.set_printoptions(**options)
        torch.set_printoptions(**options)
        assert without_breaks(tengen.tensor(array)) == without_breaks(torch.tensor(array))
    finally:
        torch.set_printoptions(profile="default")


@pytest.mark.oracle
def test_suffixes_as_torch():
    torch = pytest.importorskip("torch")

    def texts(lib):
        leaf = lib.tensor(numbers(0, 3, 4).tolist(), requires_grad=True)
        yield lib.tensor(numbers(1, 9).tolist(), dtype=lib.bfloat16)
        yield lib.tensor(numbers(1, 40).tolist(), dtype=lib.float16)
        yield lib.tensor([[1, 2]], dtype=lib.int32)
        yield leaf
        yield leaf * leaf
        yield leaf.t()
        yield leaf[0, 0]
        yield lib.zeros([0, 3], dtype=lib.int16)
        yield lib.tensor([1.0], device="meta", requires_grad=True)

    for ours, theirs in zip(texts(tengen), texts(torch), strict=True):
        assert without_breaks(ours) == without_breaks(theirs)


@pytest.mark.oracle
def test_default_dtype_changes_what_is_told():
    torch = pytest.importorskip("torch")
    before = tengen.get_default_dtype()
    try:
        tengen.set_default_dtype(tengen.float64)
        torch.set_default_dtype(torch.float64)
        for name in ("float32", "float64", "complex64", "complex128", "int64"):
            ours = tengen.tensor([1, 2], dtype=getattr(tengen, name))
            theirs = torch.tensor([1, 2], dtype=getattr(torch, name))
            assert repr(ours) == repr(theirs).replace("torch.", "tengen.")
    finally:
        tengen.set_default_dtype(before)
        torch.set_default_dtype(torch.float32)
