"""Methods of Tensor that are no operators: other memory, Python functions of elements, old constructors.

Each program gives the same in both libraries, where ``m`` is the library.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tengen

SET = """
a, b = m.arange(6.), m.arange(10.)[2:].view(2, 4).t()
"""
STORED = """
a, s = m.arange(6.), m.arange(10.).untyped_storage()
"""
NEEDED = """
a = m.arange(6., requires_grad=True)
"""
PYTHON = """
x, y = m.arange(6.), m.arange(6.) + 1
"""
PROGRAMS: dict[str, list[tuple[str, Any]]] = {
    "set_": [
        (
            SET + "(a.set_(b) is a, a.stride(), a.storage_offset(), a.data_ptr() == b.data_ptr())",
            (True, (1, 4), 2, True),
        ),
        (
            SET + "a.set_(b)\nb[0, 0] = 99\n(a[0, 0].item(), a._version, b._version, a._is_view())",
            (99.0, 1, 1, False),
        ),
        (SET + "a.set_(b)\nb.add_(1)\n(a._version, b._version)", (1, 1)),
        (
            SET + "v = a.view(2, 3)\na.set_()\n(a.tolist(), v.tolist(), v._version, a.dtype == m.float32)",
            ([], [[0, 1, 2], [3, 4, 5]], 1, True),
        ),
        (
            SET + "v = a.view(2, 3)\nv.set_(b)\n(a.tolist(), v.shape == b.shape, a._version)",
            ([0, 1, 2, 3, 4, 5], True, 1),
        ),
        (SET + "a.set_(b.t(), 1, (2,), (2,))\n(a.tolist(), a.storage_offset())", ([3, 5], 3)),
        (SET + "a.set_(b, 1, (2,), (2,))", RuntimeError),
        (SET + "a.set_(source=b).shape == b.shape", True),
        (SET + "a.set_(a).tolist()", [0, 1, 2, 3, 4, 5]),
        (SET + "a.set_(1)", TypeError),
        (SET + "a.set_(None)", TypeError),
        (SET + "a.set_(m.arange(3))", RuntimeError),
        (SET + "a.set_(m.ones(3, device='meta'))", RuntimeError),
        (STORED + "a.set_(s).tolist()", list(range(10))),
        (STORED + "a.set_(s, 2, (2, 2)).tolist()", [[2, 3], [4, 5]]),
        (STORED + "a.set_(s, 1, (2, 2), (3, 1)).tolist()", [[1, 2], [4, 5]]),
        (STORED + "a.set_(s, storage_offset=2, size=(2, 2), stride=(1, 2)).tolist()", [[2, 4], [3, 5]]),
        (STORED + "a.set_(s, 2)", TypeError),
        (STORED + "a.set_(s, -2, (2,))", RuntimeError),
        (STORED + "a.set_(s, 0, (2,), (-1,))", RuntimeError),
        (STORED + "a.set_(s, 0, (2, 2), (1,))", RuntimeError),
        (STORED + "a.set_(s, 0, (-2,))", RuntimeError),
        (STORED + "a.set_(m.ones(2, device='meta').untyped_storage())", RuntimeError),
        ("m.ones(2).set_(m.zeros(7, dtype=m.uint8).untyped_storage()).tolist()", [0.0]),
        (NEEDED + "a.set_(m.ones(3))", RuntimeError),
        (NEEDED + "b = a * 2\nb.set_(m.ones(3))\n(b.requires_grad, b.shape)", (True, (3,))),
        (NEEDED + "b = a * 2\nb.set_(m.ones(3))\nb.sum().backward()", RuntimeError),
        (NEEDED + "m.ones(2).set_(a).sum().backward()", RuntimeError),
        (
            NEEDED
            + "with m.no_grad(): a.set_(m.ones(3))\n(a * 2).sum().backward()\n(a.grad.tolist(), a._version)",
            ([2, 2, 2], 1),
        ),
        (NEEDED + "x = m.ones(6)\ny = a * x\nx.set_(m.zeros(6))\ny.sum().backward()", RuntimeError),
        ("with m.inference_mode(): i = m.ones(3)\ni.set_(m.ones(2))", RuntimeError),
    ],
    "resize": [
        ("m.ones(2).resize(1, 2).shape", (1, 2)),
        ("m.ones(2).resize_as(m.ones(2, 1)).shape", (2, 1)),
        ("m.ones(2).resize(3)", RuntimeError),
        ("m.ones(2).resize((2, 1))", RuntimeError),
        ("m.ones(2).resize(-1)", RuntimeError),
        ("m.ones(2).resize_as(tensor=m.ones(3))", RuntimeError),
        ("x = m.ones(2, requires_grad=True)\nx.resize(2, 1).sum().backward()\nx.grad.tolist()", [1, 1]),
        ("m.ones(2, 3).t().resize(6).shape", (6,)),
        (
            "import warnings\nwith warnings.catch_warnings(record=True) as seen:\n"
            "    warnings.simplefilter('always')\n    m.ones(2).resize(2, 1)\n[str(w.message) for w in seen]",
            ["non-inplace resize is deprecated"],
        ),
    ],
    "new": [
        (
            PYTHON + "[tuple(x.new(*s).shape) for s in [(), (2, 3), (m.Size([2, 3]),), (m.tensor(2), 3)]]",
            [(0,), (2, 3), (2, 3), (2, 3)],
        ),
        (
            PYTHON + "[x.new(d).tolist() for d in [(2, 3), [2, 3], [[1, 2]], range(3), np.array([1, 2])]]",
            [[2, 3], [2, 3], [[1, 2]], [0, 1, 2], [1, 2]],
        ),
        (
            PYTHON + "[x.to(d).new([1, 0]).dtype == d for d in [m.int64, m.bool, m.half, m.complex64]]",
            [True] * 4,
        ),
        (PYTHON + "m.arange(3).new([1.5, 2]).tolist()", [1, 2]),
        (
            PYTHON
            + "(x.new(x) is x, x.new(x).data_ptr() == x.data_ptr(), x.new(x.requires_grad_()).requires_grad)",
            (False, True, True),
        ),
        (PYTHON + "x.new(x.untyped_storage()).tolist()", [0, 1, 2, 3, 4, 5]),
        (
            PYTHON + "(x.new(size=(2, 3)).shape, x.new(data=[1, 2]).tolist(), x.new(other=y).equal(y))",
            ((2, 3), [1, 2], True),
        ),
        (
            PYTHON + "str(x.to('meta').new([2, 3]).device), x.requires_grad_().new(3).requires_grad",
            ("meta", False),
        ),
        *[
            (PYTHON + f"x.new({bad})", TypeError)
            for bad in (
                "3.5",
                "'abc'",
                "None",
                "[1, 'a']",
                "m.arange(3)",
                "x.to('meta')",
                "2.0, 3",
                "True",
                "{1: 2}",
                "[1j]",
            )
        ],
        *[(PYTHON + f"x.new({bad})", RuntimeError) for bad in ("2, device='meta'", "-1", "2, -1")],
    ],
    "apply_": [
        (PYTHON + "(x.apply_(lambda v: v * 2) is x, x.tolist())", (True, [0, 2, 4, 6, 8, 10])),
        (PYTHON + "x.view(2, 3).t().apply_(lambda v: v + 1).tolist()", [[1, 4], [2, 5], [3, 6]]),
        ("m.ones(1).expand(3).apply_(lambda v: v + 1).tolist()", [4, 4, 4]),
        (
            "kinds = []\nfor d in (m.int64, m.bool, m.half, m.complex64):\n"
            "    m.ones(1, dtype=d).apply_(lambda v: kinds.append(type(v)) or v)\nkinds",
            [int, bool, float, complex],
        ),
        ("m.tensor([True, False]).apply_(lambda v: 5).tolist()", [True, True]),
        ("m.arange(3).apply_(lambda v: v + 0.5).tolist()", [0, 1, 2]),
        ("m.tensor([1, 2], dtype=m.uint8).apply_(lambda v: -1).tolist()", [255, 255]),
        ("m.ones(2, device='meta').apply_(lambda v: v).shape", (2,)),
        (PYTHON + "x.apply_(lambda v: m.tensor(2.)).tolist()", [2] * 6),
        *[
            (PYTHON + f"x.apply_({bad})", TypeError)
            for bad in ("lambda v: 1j", "lambda v: 'a'", "lambda v: None", "3", "")
        ],
        (PYTHON + "x.apply_(lambda v: 1 / 0)", ZeroDivisionError),
        ("m.tensor([1], dtype=m.int8).apply_(lambda v: 300)", RuntimeError),
        ("m.arange(2).apply_(lambda v: 2 ** 70)", ValueError),
        (NEEDED + "a.apply_(lambda v: v)", RuntimeError),
        (NEEDED + "with m.no_grad():\n    a.apply_(lambda v: v)\n1", RuntimeError),
    ],
    "map_": [
        (PYTHON + "x.map_(y, lambda a, b: a + b).tolist()", [1, 3, 5, 7, 9, 11]),
        (PYTHON + "x.map_(other=m.ones(1), callable=lambda a, b: a + b).tolist()", [1, 2, 3, 4, 5, 6]),
        (PYTHON + "x.view(2, 3).t().map_(y.view(3, 2), lambda a, b: b).tolist()", [[1, 2], [3, 4], [5, 6]]),
        *[
            (PYTHON + f"x.map_({bad}, lambda a, b: a)", TypeError)
            for bad in ("m.arange(6)", "2", "y.to('meta')")
        ],
        *[
            (PYTHON + f"x.map_({bad}, lambda a, b: a)", RuntimeError)
            for bad in ("m.ones(2, 6)", "m.ones(5)", "y.requires_grad_()")
        ],
        (PYTHON + "x.map_(y)", TypeError),
        (PYTHON + "x.map2_(y, m.ones(()), lambda a, b, c: a + b * c).tolist()", [1, 3, 5, 7, 9, 11]),
        (PYTHON + "x.map2_(x=y, y=y, callable=lambda a, b, c: b * c).tolist()", [1, 4, 9, 16, 25, 36]),
        (PYTHON + "x.map2_(y, m.arange(6), lambda a, b, c: a)", TypeError),
        (PYTHON + "x.requires_grad_().map2_(y, y, lambda a, b, c: a)", RuntimeError),
    ],
    "dim_order": [
        ("m.empty(2, 3, 5, 7).dim_order()", (0, 1, 2, 3)),
        ("m.empty(2, 3, 5, 7).transpose(1, 2).dim_order()", (0, 2, 1, 3)),
        (
            "m.empty((2, 3, 5, 7), memory_format=m.channels_last).dim_order(ambiguity_check=True)",
            (0, 2, 3, 1),
        ),
        ("m.empty(1, 2, 3, 4).dim_order()", (0, 1, 2, 3)),
        ("m.empty(1, 2, 3, 4).dim_order(ambiguity_check=True)", RuntimeError),
        (
            "m.empty(1, 2, 3, 4).dim_order(ambiguity_check=[m.contiguous_format, m.channels_last])",
            (0, 1, 2, 3),
        ),
        ("m.empty(2, 1, 3, 4).dim_order(ambiguity_check=[m.channels_last])", RuntimeError),
        ("m.empty(2, 2, 3, 4).dim_order(ambiguity_check='x')", TypeError),
        ("m.empty(2, 2, 3, 4).dim_order(ambiguity_check=[1])", TypeError),
        (
            "(m.empty(()).dim_order(), m.empty(3).dim_order(), m.empty(1).expand(3, 4).dim_order())",
            ((), (0,), (0, 1)),
        ),
        ("m.empty(3, 1).expand(3, 4).dim_order(ambiguity_check=True)", RuntimeError),
        (
            "x = m.empty(2, 3, 4, 5, 6)\n"
            "[x.permute(p).dim_order(ambiguity_check=True) for p in [(4, 2, 0, 1, 3), (1, 0, 3, 2, 4)]]",
            [(2, 3, 1, 4, 0), (1, 0, 3, 2, 4)],
        ),
    ],
    "others": [
        ("x = m.arange(3.)\n(x.const_data_ptr() == x.data_ptr(), m.ones(0).const_data_ptr())", (True, 0)),
        (
            "x, y = m.ones(2, requires_grad=True), m.zeros(2)\n"
            "x.module_load(y, assign=True).data_ptr() == y.data_ptr()",
            True,
        ),
        (
            "x, y = m.ones(2), m.zeros(2)\n(x.module_load(y).data_ptr() == x.data_ptr(), x.tolist())",
            (True, [0, 0]),
        ),
        ("m.tensor([1, 2]).__rdiv__(2).tolist()", [2.0, 1.0]),
        (
            "x = m.ones(2)\nx.__setstate__((m.arange(4.).untyped_storage(), 1, (2,), (2,)))\nx.tolist()",
            [1, 3],
        ),
        (
            "x = m.ones(2)\nx.__setstate__((m.arange(4.), 0, None, True, None))\n"
            "(x.tolist(), x.requires_grad)",
            ([0, 1, 2, 3], True),
        ),
        ("x = m.ones(2)\nx.__setstate__((True, 0, None))\nx.requires_grad", True),
        ("(m.ones(2, requires_grad=True) * 2).__setstate__((True, 0, None))", RuntimeError),
    ],
}
CASES = [
    pytest.param(*case, id=f"{name}{i}") for name, cases in PROGRAMS.items() for i, case in enumerate(cases)
]


def outcome(program: str, library: Any) -> Any:
    """What the program's last line gives, or the class of the error it ends with."""
    *before, last = program.strip().splitlines()
    scope = {"m": library, "np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec("\n".join(before), scope)
            return eval(last, scope)
        except Exception as error:
            return type(error)


@pytest.mark.parametrize(("program", "expected"), CASES)
def test_here(program: str, expected: Any) -> None:
    assert outcome(program, tengen) == expected


@pytest.mark.oracle
@pytest.mark.parametrize(("program", "expected"), CASES)
def test_there(program: str, expected: Any, torch: Any) -> None:
    assert outcome(program, torch) == expected


def test_set_leaves_everything_after_an_error() -> None:
    x = tengen.arange(6.0)
    view = x.view(2, 3)
    for bad in [
        (tengen.arange(3),),
        (tengen.ones(2).set_(tengen.from_numpy(np.ones(2, np.float32))), 0, (99,)),
        (x, -1, (1,)),
        (3,),
    ]:
        with pytest.raises((RuntimeError, TypeError)):
            x.set_(*bad)
    assert x.tolist() == list(range(6)) and x._version == 0 and view._base is x


def test_views_keep_the_memory_that_a_tensor_leaves() -> None:
    """A write through one of them gives its history to what it is a view of, and not to the tensor."""
    x = tengen.arange(6.0)
    view = x.view(2, 3)
    x.set_(tengen.ones(2))
    view.mul_(tengen.ones(3, requires_grad=True))
    assert view.requires_grad and not x.requires_grad
    assert view._base is not x and view._base.shape == (6,)
    assert x.tolist() == [1, 1]


def test_set_shares_the_storage_in_copies() -> None:
    from copy import deepcopy

    source = tengen.arange(4.0)
    x = tengen.ones(2).set_(source, 1, (2,))
    copied, of_source = deepcopy([x, source])
    of_source[1] = 9.0
    assert copied.tolist() == [9, 2] and x.tolist() == [1, 2]


def test_set_is_refused_by_transforms() -> None:
    with pytest.raises(RuntimeError, match="under vmap"):
        tengen.vmap(lambda t: t.set_(tengen.ones(2)))(tengen.ones(2, 2))
    with pytest.raises(NotImplementedError, match="forward AD"):
        tengen.func.jvp(lambda t: t.set_(tengen.ones(2)), (tengen.ones(2),), (tengen.ones(2),))


def test_an_error_in_the_function_leaves_the_elements() -> None:
    def halved(value: float) -> float:
        if value == 2:
            raise KeyError(value)
        return value / 2

    x = tengen.arange(4.0)
    with pytest.raises(KeyError):
        x.apply_(halved)
    assert x.tolist() == [0, 1, 2, 3]


def test_elements_written_by_a_function_count_as_written() -> None:
    w, x = tengen.ones(2, requires_grad=True), tengen.ones(2)
    product = (w * x).sum()
    x.map_(x, lambda a, b: a + b)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_python_functions_are_refused_by_vmap() -> None:
    with pytest.raises(RuntimeError, match="vmap"):
        tengen.vmap(lambda t: t.apply_(abs))(tengen.ones(2, 2))
