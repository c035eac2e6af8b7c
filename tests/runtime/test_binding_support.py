"""What bindings ask of arguments, and calls of overloads that share a signature."""

import pytest

import tengen as tg
from tengen.dispatch.binding_support import MISSING, as_given, ints, many_ints


@pytest.mark.parametrize("value", [(), (1,), (0, -3), [], [1], [2, 3], tg.Size([2, 3]), tg.Size([])])
def test_lists_of_ints(value):
    assert ints(value)
    assert many_ints(value) is (len(value) != 1)


@pytest.mark.parametrize("value", [1, None, {1}, "1", (1.0,), (True,), [True, 1], (1, "2"), tg.ones(1)])
def test_what_is_no_list_of_ints(value):
    assert not ints(value)
    assert not many_ints(value)


@pytest.mark.parametrize(
    ("slots", "keywords", "expected"),
    [
        ((1, 2), (), (("x", 1, 2), {})),
        ((MISSING, MISSING), (), (("x",), {})),
        ((None, MISSING), (), (("x", None), {})),
        ((MISSING, 2), (), (("x",), {"b": 2})),
        ((1, MISSING), (("c", None), ("d", MISSING), ("e", 5)), (("x", 1), {"e": 5})),
    ],
)
def test_as_given(slots, keywords, expected):
    assert as_given("x", tuple(zip("ab", slots, strict=True)), keywords) == expected


X = [[1.0, 2.0], [3.0, 5.0]]


@pytest.mark.parametrize("f", [lambda x, *a, **k: x.sum(*a, **k), tg.sum])
@pytest.mark.parametrize(
    ("args", "keywords", "expected"),
    [
        ((), {}, 11.0),
        ((1,), {}, [3.0, 8.0]),
        ((1, True), {}, [[3.0], [8.0]]),
        ((), {"dim": 1}, [3.0, 8.0]),
        ((), {"axis": 1, "keepdims": True}, [[3.0], [8.0]]),
        ((), {"keepdim": True, "dim": (0, 1)}, [[11.0]]),
        (((0, 1),), {}, 11.0),
        (([0],), {}, [4.0, 7.0]),
        ((None,), {}, 11.0),
        ((), {"dim": None, "keepdim": True}, [[11.0]]),
        ((), {"dtype": tg.float64}, 11.0),
        ((-1,), {"dtype": None}, [3.0, 8.0]),
    ],
)
def test_overloads_of_one_signature(f, args, keywords, expected):
    out = f(tg.tensor(X), *args, **keywords)
    assert out.tolist() == expected
    assert out.dtype is keywords.get("dtype") or out.dtype is tg.float32


@pytest.mark.parametrize(
    ("args", "keywords", "message"),
    [
        ((), {"keepdim": True}, "dim"),
        ((1.5,), {}, "float"),
        ((), {"dim": (0, 1.5)}, "tuple"),
        ((1, True, 3), {}, "positional"),
        ((1,), {"dim": 1}, "multiple values"),
        ((), {"dims": 1}, "dims"),
        ((1,), {"axis": 1}, "multiple values"),
    ],
)
def test_calls_that_no_overload_takes(args, keywords, message):
    with pytest.raises(TypeError, match=message):
        tg.tensor(X).sum(*args, **keywords)


def test_repeated_and_bad_dims_are_told_by_the_kernel():
    with pytest.raises(RuntimeError, match="appears multiple times"):
        tg.tensor(X).sum((0, 0))
    with pytest.raises(IndexError, match="out of range"):
        tg.tensor(X).mean(dim=(0, 2))
