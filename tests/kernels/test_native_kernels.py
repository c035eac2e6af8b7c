"""Native kernels compute what they say, whatever the layout of their operands; bits do not depend on it."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import pytest

from tengen import machine_code
from tengen.ir.lower.kernels import lower_row
from tengen.machine_code import Kernels

ROUTINES = {"twice": {"float32": "x: result = x + x", "float64": "x: h = x * 2; result = h"}}
WINDOW = ("sy:int64", "sx:int64", "dy:int64", "dx:int64", "top:int64", "left:int64")
PICKED = "x[p * sy + i * dy - top, q * sx + j * dx - left]"
POOLED = (("s", "sum"), ("high", "max"), ("tap", "argmax"))
KERNELS = {
    "fused": (("a", "b", "v:number"), ("y",), "", "y = where(a > b, a * v, twice(b) - a / v)"),
    "masked": (("m:bool", "a"), ("y",), "", "y = where(m, a, -a)"),
    "compared": (("a", "b"), ("y:bool",), "", "y = (a < b) | (a != a)"),
    "two": (("a",), ("y", "z"), "", "y = a * a; z = sqrt(abs(a))"),
    "product_and_sum": (("a", "b", "c"), ("y",), "", "y = a * b + c"),
    "products_of_rows": (
        ("a[n]", "b[n]", "c[n]"),
        ("y[n]", "s"),
        "(n),(n),(n)->(n),()",
        "y = a * b + c; s = sum(a * c)",
    ),
    "away": (
        ("x[n]",),
        ("rest", "squares"),
        "(n)->(),()",
        "in float64: d = x - sum(x) / n; rest = sum(d); squares = sum(d * d)",
    ),
    "centred": (
        ("x[n]", "w[n]"),
        ("y[n]", "mean"),
        "(n),(n)->(n),()",
        "mean = sum(x) / n; y = (x - mean) * w",
    ),
    "picked": (("x[n]", "k:int64"), ("y",), "(n),()->()", "y = max(x) - x[k]"),
    "extremes": (("x[n]",), ("low", "high"), "(n)->(),()", "low = min(x); high = max(x)"),
    "total": (("x[n]",), ("s",), "(n)->()", "s = sum(x)"),
    "changed": (
        ("x[n]", "k:int64", "v"),
        ("y[n]", "s"),
        "(n),(),()->(n),()",
        "s = sum(x); w = v * 2; y = x - s; y[k] = y[k] * w + max(x)",
    ),
    "product": (("x[n]",), ("p",), "(n)->()", "p = prod(x)"),
    "element": (("x[m]", "i:int64"), ("y", "wrong:bool"), "(m),()->(),()", "y = x[i]; wrong = i >= m"),
    "moments": (
        ("x[m, n]", "w[m]"),
        ("v[n]", "high[n]", "large[n]:bool"),
        "(m,n),(m)->(n),(n),(n)",
        "mean = sum(x * w) / m; v = sum((x - mean) * (x - mean)); high = max(x * w); large = any(x > 9)",
    ),
    "columns": (("x[m, n]",), ("s[n]",), "(m,n)->(n)", "s = sum(x)"),
    "pick": (
        ("x[m]", "i[n]:int64"),
        ("y[n]", "wrong:bool"),
        "(m),(n)->(n),()",
        "y = x[i] * 2; wrong = any((i < 0) | (i >= m))",
    ),
    "windows": (
        ("x[h, w]", *WINDOW),
        ("y[i, j, p, q]",),
        "(h,w),(),(),(),(),(),()->(i,j,p,q)",
        f"y = {PICKED} * 2 + 1",
    ),
    "numbered_windows": (
        ("x[h, w]", "v[p, q]", "top:int64"),
        ("y[p, q]", "row[p, q]:int64"),
        "(h,w),(p,q),()->(p,q),(p,q)",
        "y = x[p - top, q] * v; row = p",
    ),
    "pooled": (
        ("x[h, w]", "rows:int64", "columns:int64", *WINDOW),
        ("s[p, q]", "high[p, q]", "tap[p, q]:int64"),
        "(h,w),(),(),(),(),(),(),(),()->(p,q),(p,q),(p,q)",
        "; ".join(
            [f"{name} = {of}({PICKED} for i in range(rows) for j in range(columns))" for name, of in POOLED]
        ),
    ),
    "pick_in_columns": (("x[m, n]", "i[n]:int64"), ("y[n]",), "(m,n),(n)->(n)", "y = x[i]"),
    "pick_row": (("x[m, n]", "i:int64"), ("y[n]",), "(m,n),()->(n)", "y = x[i]"),
    "add_elements": (("i[n]:int64", "x[n]"), ("t[m]",), "(n),(n)->(m)", "t[i] = t[i] + x"),
    "add_in_columns": (("i[k, n]:int64", "x[k, n]"), ("t[m, n]",), "(k,n),(k,n)->(m,n)", "t[i] = t[i] + x"),
    "add_rows": (
        ("i[k]:int64", "f[k]", "x[k, n]"),
        ("t[m, n]",),
        "(k),(k),(k,n)->(m,n)",
        "y = x * f; t[i] = t[i] + y",
    ),
    "add_picked": (
        ("i[k]:int64", "j[k]:int64", "x[l, n]"),
        ("t[m, n]",),
        "(k),(k),(l,n)->(m,n)",
        "t[i] = t[i] + x[j]",
    ),
    "running_sum": (("x[n]",), ("y[n]",), "(n)->(n)", "y = scan(before + after, x, -0.0) / 2"),
    "running_top": (
        ("x[n]",),
        ("y[n]", "at[n]:int64"),
        "(n)->(n),(n)",
        "y = scan(where(before > after, before, after), x, -inf); "
        "at = scan(where(before > after, before, after), where(x == y, place, 0), 0)",
    ),
    "running_twice": (
        ("x[n]", "w[n]"),
        ("y[n]",),
        "(n),(n)->(n)",
        "s = scan(before + after, twice(x) * w, 0); y = scan(before + after, s, 0)",
    ),
    "put": (("i[n]:int64", "x[n]"), ("t[m]",), "(n),(n)->(m)", "t[i] = x"),
}
SHARES = "e = where(x > max(x), x, twice(x) - max(x)); y = e / sum(e * e); total = sum(e)"
REDUCED = {
    "shares": (("x[n]", "w"), ("y[n]", "total"), "(n),()->(n),()", f"{SHARES} + w"),
    **{
        f"shares_{dtype}": (
            (f"x[n]:{dtype}", "w:float32"),
            (f"y[n]:{dtype}", f"total:{dtype}"),
            "(n),()->(n),()",
            f"{SHARES} + w",
        )
        for dtype in ("float16", "bfloat16")
    },
}
CONVERSIONS = {
    f"{way}_{dtype}": ((f"x:{dtype}",), ("y",), "", "y = x")
    if way == "from"
    else (("x",), (f"y:{dtype}",), "", "y = x")
    for way in ("from", "to")
    for dtype in ("float16", "bfloat16")
}
FLOATS = ("f", "d")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if not machine_code.is_available():
        pytest.skip("there is no machine code here: llvmlite is not installed, or TENGEN_NATIVE=0")
    name = "tables_of_test_native_kernels"
    folder = tmp_path_factory.mktemp("tables")
    (folder / f"{name}.py").write_text(
        f"KERNELS = {KERNELS | CONVERSIONS | REDUCED!r}\nROUTINES = {ROUTINES!r}\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield Kernels(name)
    sys.modules.pop(name, None)


def layouts(rng: np.random.Generator, shape: tuple[int, ...], char: str) -> list[Any]:
    """Equal arrays: contiguous, transposed, with gaps, reversed, unaligned to a vector."""
    array = rng.standard_normal(shape).astype(char)
    gaps = np.zeros((*shape[:-1], shape[-1] * 3), char)
    gaps[..., ::3] = array
    shifted = np.zeros((*shape[:-1], shape[-1] + 1), char)
    shifted[..., 1:] = array
    return [array, array.T.copy().T, gaps[..., ::3], array[..., ::-1].copy()[..., ::-1], shifted[..., 1:]]


@pytest.mark.parametrize("char", FLOATS)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 37), (0, 4), (1000,), (5, 129)])
def test_elementwise(kernels: Any, char: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    number = np.dtype(char).type(0.3)
    given = layouts(rng, shape, char) if shape else [rng.standard_normal(()).astype(char)]
    for a in given:
        for b in (given[0] * 0.5, given[-1] * 2, given[0][..., :1] if shape else given[0]):
            expected = np.where(a > b, a * number, (b + b) - a / number)
            found = kernels.fused(a, b, number, out=...)
            assert found.dtype == char and found.shape == expected.shape
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(kernels.compared(a, b), a < b)
        y, z = kernels.two(a)
        np.testing.assert_array_equal(y, a * a)
        np.testing.assert_array_equal(z, np.sqrt(np.abs(a)))
        np.testing.assert_array_equal(kernels.masked(a > 0, a), np.abs(a))


@pytest.mark.parametrize("char", FLOATS)
def test_only_sums_take_products_that_are_not_rounded(kernels: Any, char: str) -> None:
    rng = np.random.default_rng(2)
    a, b, c = [rng.standard_normal((3, 1000)).astype(char) for _ in range(3)]
    np.testing.assert_array_equal(kernels.product_and_sum(a, b, c), a * b + c)
    y, total = kernels.products_of_rows(a, b, c)
    np.testing.assert_array_equal(y, a * b + c)
    exact = np.sum(a.astype(np.longdouble) * c, 1)
    np.testing.assert_allclose(total, exact.astype(char), atol=1000 * np.finfo(char).eps)


def test_what_rows_are_away_from_their_mean(kernels: Any) -> None:
    """It is nothing where the mean has digits to spare, and what rounding left where it has not."""
    rows = np.random.default_rng(3).uniform(1e6, 1e6 + 1, (4, 5000))
    rest, squares = kernels.away(rows)
    away = rows - (rows.sum(1, keepdims=True) / 5000)
    assert np.all(np.abs(rest) < 1e-4) and rest.any()
    np.testing.assert_allclose(squares, (away * away).sum(1), rtol=1e-9)
    few = rows.astype(np.float32)
    rest, squares = kernels.away(few)
    away = few - few.astype(float).mean(1, keepdims=True)
    assert rest.dtype == squares.dtype == np.float32 and not rest.any()
    np.testing.assert_allclose(squares, (away * away).sum(1), rtol=1e-7)
    few[0, 7], few[1, 9] = np.inf, np.nan
    assert np.isnan(kernels.away(few)[0]).tolist() == [True, True, False, False]


@pytest.mark.parametrize("char", FLOATS)
@pytest.mark.parametrize("length", [1, 5, 64, 100, 4097, 10_000])
def test_rows(kernels: Any, char: str, length: int) -> None:
    rng = np.random.default_rng(1)
    weight = rng.standard_normal(length).astype(char)
    index = rng.integers(0, length, 6)
    eps = np.finfo(char).eps
    for x in layouts(rng, (6, length), char):
        exact = x.astype(np.longdouble)
        y, mean = kernels.centred(x, weight)
        # Sums are formed of at most 128 numbers in a row: in blocks of that, or in lanes of vectors.
        bound = 130 * eps * np.abs(exact).mean(1)
        assert (np.abs(mean - exact.mean(1)) <= bound).all()
        np.testing.assert_array_equal(y, (x - mean[:, None]) * weight)
        np.testing.assert_array_equal(kernels.picked(x, index), x.max(1) - x[np.arange(6), index])
        found, wrong = kernels.element(x, index)
        np.testing.assert_array_equal(found, x[np.arange(6), index])
        assert not wrong.any()
        assert kernels.element(x, index + length)[1].all()
        near = 1 + x / 100
        product = np.prod(near.astype(np.longdouble), 1)
        np.testing.assert_allclose(kernels.product(near), product, 2 * length * eps)
        low, high = kernels.extremes(x)
        np.testing.assert_array_equal(low, x.min(1))
        np.testing.assert_array_equal(high, x.max(1))


@pytest.mark.parametrize("char", FLOATS)
@pytest.mark.parametrize("length", [1, 7, 100, 5000])
def test_an_element_of_a_row_is_changed_when_all_are_there(kernels: Any, char: str, length: int) -> None:
    rng = np.random.default_rng(length)
    x, k, v = rng.standard_normal((5, length)).astype(char), rng.integers(0, length, 5), np.ones(1, char)
    expected = x - x.sum(1, keepdims=True)
    expected[np.arange(5), k] = expected[np.arange(5), k] * 2 + x.max(1)
    tolerance = 1e-3 if char == "f" else 1e-11
    for given in (x, x[:, ::-1].copy()[:, ::-1], np.asfortranarray(x)):
        y, s = kernels.changed(given, k, v)
        np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(s, x.sum(1), rtol=tolerance, atol=tolerance)
    # An index that is out of range changes nothing outside of the row.
    memory = np.zeros((3, length), char)
    kernels.changed(x[0], np.int64(10**9), v[0], out=(memory[1], np.empty((), char)))
    assert not memory[[0, 2]].any()


@pytest.mark.parametrize("char", FLOATS)
def test_rows_of_special_values(kernels: Any, char: str) -> None:
    x = np.array([[1, np.nan, 3] * 30, [np.inf, -np.inf, 0] * 30, [-np.inf] * 90, [-0.0] * 90], char)
    low, high = kernels.extremes(x)
    np.testing.assert_array_equal(low, [np.nan, -np.inf, -np.inf, 0])
    np.testing.assert_array_equal(high, [np.nan, np.inf, -np.inf, 0])
    np.testing.assert_array_equal(kernels.total(x), [np.nan, np.nan, -np.inf, 0])
    assert kernels.total(x[:0]).shape == (0,)
    np.testing.assert_array_equal(kernels.total(x[:, :0]), [0, 0, 0, 0])


@pytest.mark.parametrize("char", FLOATS)
def test_a_rows_bits_do_not_depend_on_other_rows(kernels: Any, char: str) -> None:
    x = np.random.default_rng(2).standard_normal((64, 777)).astype(char)
    weight = np.ones(777, char)
    together = kernels.centred(x, weight)
    for i in range(64):
        for whole, alone in zip(together, kernels.centred(x[i : i + 1], weight), strict=True):
            np.testing.assert_array_equal(whole[i], alone[0])


@pytest.mark.parametrize("char", FLOATS)
def test_an_elements_bits_do_not_depend_on_its_place(kernels: Any, char: str) -> None:
    """Vectors, their remainders and strided loops compute alike, which lets threads cut anywhere."""
    a = np.random.default_rng(3).standard_normal(301).astype(char)
    b, v = a[::-1].copy(), np.dtype(char).type(1.1)
    whole = kernels.fused(a, b, v)
    for begin in range(0, 301, 13):
        for end in (begin + 1, begin + 5, 301):
            np.testing.assert_array_equal(kernels.fused(a[begin:end], b[begin:end], v), whole[begin:end])


@pytest.mark.parametrize("char", FLOATS)
def test_results_go_into_memory_that_is_given(kernels: Any, char: str) -> None:
    a = np.random.default_rng(4).standard_normal((8, 9)).astype(char)
    expected = kernels.two(a)[0]
    for out in layouts(np.random.default_rng(5), (8, 9), char):
        kernels.two(a, out=(out, None))
        np.testing.assert_array_equal(out, expected)
    own = a.copy()
    assert kernels.masked(own > 0, own, out=own) is own
    np.testing.assert_array_equal(own, np.abs(a))
    overlapping = np.arange(20, dtype=char)
    kernels.masked(np.ones(19, bool), overlapping[:-1], out=overlapping[1:])
    np.testing.assert_array_equal(overlapping, [0, *range(19)])


def test_other_dtypes_are_refused(kernels: Any) -> None:
    with pytest.raises(TypeError):
        kernels.two(np.arange(3))
    with pytest.raises(TypeError):
        kernels.fused(np.ones(3), np.ones(3, "f"), 1.0)


def test_every_reduced_number_is_widened(kernels: Any) -> None:
    words = np.arange(1 << 16, dtype=np.uint16)
    np.testing.assert_array_equal(
        kernels.from_float16(words.view(np.float16)), words.view(np.float16).astype("f")
    )
    whole = words.astype(np.uint32) << 16
    np.testing.assert_array_equal(kernels.from_bfloat16(words), whole.view("f"))
    halves = words.view(np.float16)
    np.testing.assert_array_equal(np.signbit(kernels.from_float16(halves)), np.signbit(halves))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy's NaN and overflow
def test_numbers_are_rounded_to_reduced_ones(kernels: Any) -> None:
    """Beside NumPy's conversion, and of bfloat16 to the nearer neighbour: ties, subnormals, ends."""
    some = np.arange(0, 1 << 32, 104729, dtype=np.uint64).astype(np.uint32)
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype("f")
    ties = (halves[:-1] + halves[1:]) / 2
    near = np.concatenate([np.nextafter(ties, np.float32(np.inf)), np.nextafter(ties, np.float32(-np.inf))])
    x = np.concatenate([some.view("f"), halves, ties, near, np.array([65504, 65519.996, 65520, 1e30], "f")])
    np.testing.assert_array_equal(kernels.to_float16(x), x.astype(np.float16))
    words = x.view(np.uint32)
    upper = words >> 16
    rest, even = words & 0xFFFF, upper & 1 == 0
    expected = np.where((rest < 0x8000) | ((rest == 0x8000) & even), upper, upper + 1).astype(np.uint16)
    found = kernels.to_bfloat16(x)
    real = ~np.isnan(x)
    np.testing.assert_array_equal(found[real], expected[real])
    assert np.isnan(kernels.from_bfloat16(found[~real])).all() and (~real).any()


def test_processors_without_conversions_of_float16_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The forms that are arithmetic on bits, beside NumPy's conversions."""
    compiler = pytest.importorskip("tengen.machine_code.compiler", exc_type=ImportError)
    if not machine_code.is_available():
        pytest.skip("there is no machine code here")
    monkeypatch.setattr(compiler, "converts_half", lambda machine: False)
    words = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    found = np.empty(words.size, "f")
    linker = compiler.Linker()
    for name, given, out in (("from", words, found), ("to", found, np.empty_like(words))):
        key = f"{name}_float16"
        code = compiler.object_code({key: lower_row(key, CONVERSIONS[key], {}, "float32")}, linker.machine)
        loop = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 5)(linker.link(code, (key,))[key])
        pointers = np.array([given.ctypes.data, out.ctypes.data], np.uintp)
        size, steps = np.array([out.size], np.intp), np.array([given.itemsize, out.itemsize], np.intp)
        loop(None, pointers.ctypes.data, size.ctypes.data, steps.ctypes.data, None)
        np.testing.assert_array_equal(out, given.astype(out.dtype))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("length", [1, 5, 100, 4096, 4097, 10_000])
def test_rows_of_reduced_types_are_computed_in_float32(kernels: Any, dtype: str, length: int) -> None:
    """Whether their float32 forms are kept or not, results are those of float32, rounded once."""
    narrowed, widened = getattr(kernels, f"to_{dtype}"), getattr(kernels, f"from_{dtype}")
    x = narrowed(np.random.default_rng(11).standard_normal((5, length)).astype("f"))
    weight = np.float32(1e-6)
    expected = kernels.shares(widened(x), weight)
    assert all([(narrowed(e) != 0).any() for e in expected])
    for found, e in zip(getattr(kernels, f"shares_{dtype}")(x, weight), expected, strict=True):
        np.testing.assert_array_equal(found, narrowed(e))
    gaps = np.zeros((5, length * 2), x.dtype)
    gaps[:, ::2] = x
    for found, e in zip(getattr(kernels, f"shares_{dtype}")(gaps[:, ::2], weight), expected, strict=True):
        given = widened(np.ascontiguousarray(found))
        np.testing.assert_allclose(given, e, 2.0**-7, 2.0**-24 if dtype == "float16" else 0)


@pytest.mark.parametrize("char", FLOATS)
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (300, 3), (3, 700), (129, 257)])
def test_columns(kernels: Any, char: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(7)
    weight = rng.standard_normal(shape[0]).astype(char)
    eps = np.finfo(char).eps
    for x in layouts(rng, shape, char):
        exact = x.astype(np.longdouble)
        # Of a column 64 numbers at most are added one after the other.
        bound = 70 * eps * np.abs(exact).sum(0)
        assert (np.abs(kernels.columns(x) - exact.sum(0)) <= bound).all()
        variance, high, large = kernels.moments(x, weight)
        centred = exact - (exact * weight[:, None]).mean(0)
        assert (np.abs(variance - (centred**2).sum(0)) <= 300 * eps * (exact**2 + centred**2).sum(0)).all()
        np.testing.assert_array_equal(high, (x * weight[:, None]).max(0))
        assert not large.any()
        x[shape[0] // 2, 0] = 10
        np.testing.assert_array_equal(kernels.moments(x, weight)[2], np.arange(shape[1]) == 0)


@pytest.mark.parametrize("char", FLOATS)
def test_a_columns_bits_do_not_depend_on_other_columns(kernels: Any, char: str) -> None:
    """Not on how many there are either: threads cut anywhere."""
    x = np.random.default_rng(8).standard_normal((333, 301)).astype(char)
    whole = kernels.columns(x)
    for begin, end in ((0, 1), (5, 12), (100, 301), (300, 301)):
        np.testing.assert_array_equal(kernels.columns(x[:, begin:end]), whole[begin:end])
    np.testing.assert_array_equal(kernels.columns(np.asfortranarray(x)), whole)


def test_columns_without_rows_and_without_elements(kernels: Any) -> None:
    np.testing.assert_array_equal(kernels.columns(np.zeros((0, 4))), np.zeros(4))
    assert kernels.columns(np.zeros((4, 0))).shape == (0,)
    assert kernels.columns(np.zeros((0, 5, 4))).shape == (0, 4)
    special = np.array([[np.nan, np.inf, -np.inf, 1], [1, 1, np.inf, 2]])
    np.testing.assert_array_equal(kernels.columns(special), [np.nan, np.inf, np.nan, 3])
    np.testing.assert_array_equal(kernels.moments(special, np.ones(2))[1], [np.nan, np.inf, np.inf, 2])


@pytest.mark.parametrize("char", FLOATS)
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (33, 70)])
def test_tables_are_read_at_indices(kernels: Any, char: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(9)
    along, down = rng.integers(0, shape[1], (shape[0], 37)), rng.integers(0, shape[0], (9, shape[1]))
    some = rng.integers(0, shape[0], 11)
    for x in layouts(rng, shape, char):
        for index in (along, np.asfortranarray(along)):
            y, wrong = kernels.pick(x, index)
            np.testing.assert_array_equal(y, 2 * np.take_along_axis(x, index, 1))
            assert wrong.shape == shape[:1] and not wrong.any()
        np.testing.assert_array_equal(kernels.pick_in_columns(x, down), np.take_along_axis(x, down, 0))
        np.testing.assert_array_equal(kernels.pick_row(x, some), x[some])
    for outside in (-1, shape[1], -(2**63), 2**63 - 1):
        index = along.copy()
        index[-1, 20] = outside
        np.testing.assert_array_equal(kernels.pick(x, index)[1], np.arange(shape[0]) == shape[0] - 1)


@pytest.mark.parametrize("char", FLOATS)
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (33, 70)])
def test_tables_are_changed_at_indices(kernels: Any, char: str, shape: tuple[int, int]) -> None:
    """In the order in which the indices come, as NumPy does."""
    rng = np.random.default_rng(10)
    rows, columns = shape
    along, down = rng.integers(0, columns, (rows, 37)), rng.integers(0, rows, (9, columns))
    some = rng.integers(0, rows, 40)
    for table in layouts(rng, shape, char):
        for x in layouts(rng, (rows, 37), char):
            expected, out = table.copy(), table.copy("K")
            np.add.at(expected, (np.arange(rows)[:, None], along), x)
            np.testing.assert_array_equal(kernels.add_elements(along, x, out=out), expected)
            expected, out = table.copy(), table.copy("K")
            for k in range(37):
                expected[np.arange(rows), along[:, k]] = x[:, k]
            np.testing.assert_array_equal(kernels.put(along, x, out=out), expected)
        for x in layouts(rng, (9, columns), char):
            expected, out = table.copy(), table.copy("K")
            np.add.at(expected, (down, np.arange(columns)), x)
            np.testing.assert_array_equal(kernels.add_in_columns(down, x, out=out), expected)
        x, factors = rng.standard_normal((40, columns)).astype(char), rng.standard_normal(40).astype(char)
        expected, out = table.copy(), table.copy("K")
        np.add.at(expected, some, x * factors[:, None])
        np.testing.assert_array_equal(kernels.add_rows(some, factors, x, out=out), expected)
        for x in layouts(rng, (11, columns), char):
            places = rng.integers(0, 11, 40)
            expected, out = table.copy(), table.copy("K")
            np.add.at(expected, some, x[places])
            np.testing.assert_array_equal(kernels.add_picked(some, places, x, out=out), expected)


#: Sizes of images, taps, places, steps, gaps and padding.
GEOMETRIES = [
    ((7, 9), (3, 3), (7, 9), (1, 1), (1, 1), (1, 1)),
    ((5, 40), (3, 2), (5, 40), (1, 1), (2, 1), (2, 0)),
    ((8, 20), (2, 3), (4, 5), (2, 3), (1, 2), (1, 2)),
    ((8, 20), (2, 2), (7, 20), (1, 1), (1, 1), (0, 3)),
    ((6, 6), (2, 1), (6, 3), (-1, 2), (1, 1), (-5, 0)),
    ((3, 3), (2, 2), (9, 8), (1, 1), (1, 1), (5, 4)),
    ((1, 1), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0)),
]


def seen(x: Any, taps: Any, places: Any, steps: Any, gaps: Any, padding: Any, outside: float) -> Any:
    """What each tap sees at each place, element by element."""
    found = np.full((*x.shape[:-2], *taps, *places), outside, x.dtype)
    for index in np.ndindex(*taps, *places):
        at = [
            o * s + t * g - p
            for t, o, s, g, p in zip(index[:2], index[2:], steps, gaps, padding, strict=True)
        ]
        if 0 <= at[0] < x.shape[-2] and 0 <= at[1] < x.shape[-1]:
            found[(..., *index)] = x[(..., *at)]
    return found


@pytest.mark.parametrize("char", FLOATS)
@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_windows_of_images(kernels: Any, char: str, geometry: Any) -> None:
    size, taps, places, *rest = geometry
    numbers = [np.int64(n) for pair in rest for n in pair]
    x = np.random.default_rng(4).standard_normal((2, 3, *size)).astype(char)
    expected = seen(x, taps, places, *rest, 0) * 2 + 1
    for given in layouts(np.random.default_rng(4), (2, 3, *size), char):
        memory = np.full((2, 3, *taps, *places[:1], places[1] + 1), 7, char)
        for out in (np.empty_like(expected), np.asfortranarray(expected) * 0, memory[..., :-1]):
            kernels.windows(given, *numbers, out=out)
            np.testing.assert_array_equal(out, expected)
        assert (memory[..., -1] == 7).all()


@pytest.mark.parametrize("char", FLOATS)
@pytest.mark.parametrize("geometry", GEOMETRIES[:5], ids=str)
def test_what_windows_see_is_pooled(kernels: Any, char: str, geometry: Any) -> None:
    """What is outside does not count; of equal ones the first is the greatest, of NaN the last."""
    size, taps, places, *rest = geometry
    numbers = [np.int64(n) for pair in (taps, *rest) for n in pair]
    x = np.random.default_rng(5).integers(-2, 3, (2, *size)).astype(char)
    x[1] = -np.inf
    x[0, 1:3, 2:4] = np.nan
    results = [np.empty((2, *places), t) for t in (char, char, np.int64)]
    kernels.pooled(x, *numbers, out=tuple(results))
    by_tap = seen(x, taps, places, *rest, 0).reshape(2, -1, *places)
    inside = seen(np.ones_like(x), taps, places, *rest, 0).reshape(by_tap.shape) != 0
    np.testing.assert_array_equal(results[0], by_tap.sum(1))
    for place in np.ndindex(2, *places):
        at = (place[0], slice(None), *place[1:])
        some = np.flatnonzero(inside[at])
        values = by_tap[at][some]
        if len(some):
            nan = np.flatnonzero(np.isnan(values))
            best = nan[-1] if len(nan) else values.argmax()
            np.testing.assert_array_equal(results[1][place], values[best])
            assert results[2][place] == some[best]
        else:
            assert results[1][place] == -np.inf and results[2][place] == -1


@pytest.mark.parametrize("char", FLOATS)
def test_places_of_windows_are_numbers(kernels: Any, char: str) -> None:
    rng = np.random.default_rng(6)
    x, v = (rng.standard_normal((4, 5)).astype(char) for _ in range(2))
    y, row = kernels.numbered_windows(x, v, np.int64(1))
    np.testing.assert_array_equal(y[1:], x[:-1] * v[1:])
    assert not y[0].any()
    np.testing.assert_array_equal(row, np.repeat(np.arange(4), 5).reshape(4, 5))


@pytest.mark.parametrize("char", FLOATS)
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100, 1000])
def test_scans(kernels: Any, char: str, length: int) -> None:
    rng = np.random.default_rng(11)
    weight = rng.standard_normal(length).astype(char)
    # What is computed in float64 is rounded once more where it is written.
    eps, wide = np.finfo(char).eps, np.finfo("d").eps
    for x in layouts(rng, (5, length), char):
        exact = x.astype(np.longdouble)
        size = np.abs(exact).cumsum(1)
        assert (
            np.abs(kernels.running_sum(x) - exact.cumsum(1) / 2) <= eps * size + length * wide * size
        ).all()
        y, at = kernels.running_top(x)
        np.testing.assert_array_equal(y, np.maximum.accumulate(x, 1))
        np.testing.assert_array_equal(at, np.maximum.accumulate(np.where(x == y, np.arange(length), 0), 1))
        twice = (2 * exact * weight).cumsum(1).cumsum(1)
        size = np.abs(2 * exact * weight).cumsum(1).cumsum(1)
        found = kernels.running_twice(x, weight)
        assert (np.abs(found - twice) <= eps * size + 2 * length * wide * size).all()


@pytest.mark.parametrize("char", FLOATS)
def test_a_scans_bits_do_not_depend_on_what_follows_or_how_it_lies(kernels: Any, char: str) -> None:
    x = np.random.default_rng(12).standard_normal((3, 45)).astype(char)
    whole = kernels.running_sum(x)
    for end in (1, 8, 13, 44):
        np.testing.assert_array_equal(kernels.running_sum(x[:, :end]), whole[:, :end])
    for layout in layouts(np.random.default_rng(12), (3, 45), char)[1:]:
        np.testing.assert_array_equal(kernels.running_sum(layout), whole)
    special = np.array([[1, np.inf, 2, -np.inf, 3, np.nan, 4, 5, 6, 7]], char)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(kernels.running_sum(special), special.cumsum(1) / 2)
