"""Forward mode: dual numbers, levels, in-place operators, views, and what they have to do with graphs."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import threading
import weakref
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.autograd.forward.forward_grad import ForwardLevel, forward_mode
from tengen.core.interception import active

Program = Callable[..., Any]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """No test leaves a level entered."""
    yield
    assert not active and forward_mode.enabled


@pytest.fixture
def ad(m: ModuleType) -> Any:
    """``autograd.forward_ad`` of the library that is tested."""
    return m.autograd.forward_ad


def values(m: ModuleType, *numbers: float, **options: Any) -> Any:
    return m.tensor(list(numbers), dtype=m.float64, **options)


def tangent(ad: Any, tensor: Any) -> list[Any] | Any:
    found = ad.unpack_dual(tensor).tangent
    return None if found is None else found.tolist()


# -- levels --------------------------------------------------------------------------------------


def test_without_a_level(m: ModuleType, ad: Any) -> None:
    x = values(m, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="create a dual Tensor for forward AD but no level exists"):
        ad.make_dual(x, x)
    found = ad.unpack_dual(x)
    assert found.primal is x and found.tangent is None
    with pytest.raises(RuntimeError):
        ad.exit_dual_level()
    with pytest.raises(RuntimeError, match="level with an invalid index"):
        ad.make_dual(x, x, level=0)


def test_levels_of_users_do_not_nest(m: ModuleType, ad: Any) -> None:
    with ad.dual_level() as level:
        assert level == 0
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            ad.enter_dual_level()
        with pytest.raises(RuntimeError, match="not the last one that was created"):
            ad.exit_dual_level(level=3)
    level = ad.enter_dual_level()
    ad.exit_dual_level(level=level)
    with pytest.raises(RuntimeError):
        ad.exit_dual_level()


def test_dual_and_unpacked(m: ModuleType, ad: Any) -> None:
    x, t = values(m, 1.0, 2.0), values(m, 3.0, 4.0)
    with ad.dual_level() as level:
        dual = ad.make_dual(x, t, level=level)
        assert dual.is_leaf and dual._is_view() and dual.tolist() == [1.0, 2.0]
        found = ad.unpack_dual(dual, level=level)
        assert type(found).__name__ == "UnpackedDualTensor" and found._fields == ("primal", "tangent")
        assert found.tangent is t  # which is laid out as x is
        assert tangent(ad, found.primal) is None and tangent(ad, found.primal[0]) is None
        assert tangent(ad, x) is None
        assert tangent(ad, dual.detach()) is None and tangent(ad, dual.data) is None
        assert tangent(ad, (dual * 1).detach_()) is None
        dual.mul_(2)
        assert x.tolist() == [2.0, 4.0] and t.tolist() == [6.0, 8.0]


def test_tangents_are_gone_after_their_level(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        dual = ad.make_dual(values(m, 1.0), values(m, 1.0))
        y = dual * 3
    assert ad.unpack_dual(y) == (y, None)
    with ad.dual_level():
        assert tangent(ad, y) is None and tangent(ad, dual * 2) is None


def test_tangents_are_gone_after_an_error(m: ModuleType, ad: Any) -> None:
    y = None
    with pytest.raises(ZeroDivisionError), ad.dual_level():
        y = ad.make_dual(values(m, 1.0), values(m, 1.0)) * 3
        1 / 0  # noqa: B018
    with ad.dual_level():
        assert tangent(ad, y) is None


def test_what_is_no_dual(m: ModuleType, ad: Any) -> None:
    x, t = values(m, 1.0, 2.0), values(m, 3.0, 4.0)
    with ad.dual_level():
        with pytest.raises(ValueError, match=r"primal to be floating point or complex.*int64"):
            ad.make_dual(m.tensor([1, 2]), t)
        with pytest.raises(ValueError, match=r"tangent to be floating point or complex.*int64"):
            ad.make_dual(x, m.tensor([1, 2]))
        with pytest.raises(RuntimeError, match=r"different size.*of size \[2\].*size \[1\]"):
            ad.make_dual(x, values(m, 1.0))
        with pytest.raises((TypeError, AttributeError)):
            ad.make_dual(1.0, t)
        with pytest.raises((TypeError, AttributeError)):
            ad.make_dual(x, 1.0)
        with pytest.raises(TypeError):
            ad.unpack_dual(1.0)
        dual = ad.make_dual(x, t)
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level"):
            ad.make_dual(dual, t)
        with pytest.raises(RuntimeError, match="that itself has a forward gradient at the same level"):
            ad.make_dual(x, dual)


def test_printing_shows_the_tangent(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        dual = ad.make_dual(m.tensor([1.0, 2.0]), m.tensor([3.0, 4.0]))
        assert repr(dual) == "tensor([1., 2.], tangent=tensor([3., 4.]))"
        leaf = ad.make_dual(m.tensor(1.0), m.tensor(3.0)).requires_grad_()
        assert repr(leaf) == "tensor(1., requires_grad=True, tangent=3.0)"
    assert repr(dual) == "tensor([1., 2.])"


# -- operators -------------------------------------------------------------------------------------


def slope(m: ModuleType, ad: Any, program: Program, *points: Any) -> tuple[Any, Any]:
    """The tangent of a program along ones, and the program's result."""
    with ad.dual_level():
        result = program(*[ad.make_dual(x, m.ones_like(x)) for x in points])
        found = ad.unpack_dual(result)
    return found.tangent, found.primal


PROGRAMS: dict[str, Program] = {
    "chain": lambda m, x: (x.sin() * 2 + x).exp(),
    "constant": lambda m, x: x * 3 + m.ones_like(x),
    "reduction": lambda m, x: (x * x).sum() / x.mean(),
    "indexing": lambda m, x: x[1] * x[0],
    "mask": lambda m, x: x[x > 0.4] ** 2,
    "gather": lambda m, x: x[m.tensor([2, 0, 2])] * x,
    "cat": lambda m, x: m.cat([x, m.zeros(2, dtype=x.dtype), x * x]),
    "stack": lambda m, x: m.stack([x, m.ones_like(x)]).prod(0),
    "matmul": lambda m, x: x.outer(x) @ x,
    "softmax": lambda m, x: x.softmax(0)[0],
    "sort": lambda m, x: (x * x).sort(descending=True)[0],
    "split": lambda m, x: x.split(2)[1] * x.unbind()[0],
    "where": lambda m, x: m.where(x > 0.4, x * x, x),
    "einsum": lambda m, x: m.einsum("i,j->ij", x, x),
    "to": lambda m, x: (x.to(m.float32) * 2).double(),
    "complex": lambda m, x: (x * (1 + 2j)).abs(),
    "parts": lambda m, x: m.view_as_real(m.complex(x, x * x)).prod(1),
    "max": lambda m, x: x.max() * x.max(0).values,
    "norm": lambda m, x: (x * x).norm(),
    "linear": lambda m, x: m.nn.functional.linear(x, x.expand(2, 3), x[:2]),
    "layer_norm": lambda m, x: m.nn.functional.layer_norm(x, (3,), x, x),
    "broadcast": lambda m, x: x[:, None] + x,
    "pow": lambda m, x: x**x,
    "T": lambda m, x: x.outer(x).T[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(m: ModuleType, ad: Any, name: str) -> None:
    """Forward mode against differences."""
    x, step = values(m, 0.3, 0.5, 0.7), 1e-3 if name == "to" else 1e-6
    found, result = slope(m, ad, lambda x: PROGRAMS[name](m, x), x)
    ahead, behind = (PROGRAMS[name](m, x + s) for s in (step, -step))
    expected = (ahead - behind) / (2 * step)
    assert result.tolist() == PROGRAMS[name](m, x).tolist()
    assert found.dtype == result.dtype and found.shape == result.shape
    np.testing.assert_allclose(found.tolist(), expected.tolist(), rtol=1e-3, atol=1e-6)


#: Second derivatives that PyTorch 2.13 does not get right through tangents.
IN_PLACE_IN_TORCH = {"softmax", "layer_norm"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_over_reverse_and_reverse_over_forward(m: ModuleType, ad: Any, name: str) -> None:
    """The Hessian times ones, three ways."""

    def program(x: Any) -> Any:
        return PROGRAMS[name](m, x).sum() * x.prod()

    if m is not tengen and name in IN_PLACE_IN_TORCH:
        pytest.skip("PyTorch writes into what the tangent's graph has saved, or computes something else")
    x = values(m, 0.3, 0.5, 0.7, requires_grad=True)
    twice = m.autograd.grad(m.autograd.grad(program(x), x, create_graph=True)[0].sum(), x)[0]
    with ad.dual_level():
        dual = ad.make_dual(x, m.ones_like(x))
        (gradient,) = m.autograd.grad(program(dual), dual)
        forward_over_reverse = ad.unpack_dual(gradient).tangent
        along = ad.unpack_dual(program(dual)).tangent
        reverse_over_forward = m.autograd.grad(along, x)[0]
    tolerance = 1e-3 if name == "to" else 1e-9
    np.testing.assert_allclose(forward_over_reverse.tolist(), twice.tolist(), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(reverse_over_forward.tolist(), twice.tolist(), rtol=tolerance, atol=tolerance)


def test_no_grad_keeps_tangents(m: ModuleType, ad: Any) -> None:
    with ad.dual_level(), m.no_grad():
        x = values(m, 2.0, requires_grad=True)
        y = ad.make_dual(x, values(m, 1.0)) ** 2
        assert tangent(ad, y) == [4.0] and not y.requires_grad


def test_inference_mode_has_no_tangents(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        dual = ad.make_dual(values(m, 2.0), values(m, 1.0))
        with m.inference_mode():
            y = dual * 2
            assert tangent(ad, y) is None
        assert tangent(ad, dual) == [1.0]


def test_switched_off(m: ModuleType, ad: Any) -> None:
    assert ad._is_fwd_grad_enabled()
    with ad.dual_level():
        dual = ad.make_dual(values(m, 2.0), values(m, 1.0))
        with ad._set_fwd_grad_enabled(False):
            assert not ad._is_fwd_grad_enabled()
            y = dual * 2
            assert tangent(ad, dual) is None
        assert ad._is_fwd_grad_enabled()
        assert tangent(ad, y) is None and tangent(ad, dual * 2) == [2.0]


def test_results_without_derivative(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        dual = ad.make_dual(values(m, 1.0, 3.0), values(m, 1.0, 1.0))
        for result in (dual.argmax(), dual > 2, dual.long(), m.zeros_like(dual), dual.isnan()):
            assert tangent(ad, result) is None
        assert dual.max(0).indices.tolist() == 1
        assert dual.tolist() == [1.0, 3.0] and dual[1].item() == 3.0


def test_out_is_refused(m: ModuleType, ad: Any) -> None:
    x = values(m, 1.0)
    out = values(m, 7.0)
    with ad.dual_level():
        dual = ad.make_dual(x, x)
        with pytest.raises(NotImplementedError, match=r"forward AD with sin_out.*it is an out= function"):
            m.sin(dual, out=out)
        with pytest.raises(NotImplementedError, match="out= function"):
            m.sin(x, out=dual)
        m.sin(x, out=out)
    assert out.tolist() == x.sin().tolist()


def test_operator_without_forward_formula(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        dual = ad.make_dual(values(m, 1.0, 3.0), values(m, 1.0, 1.0))
        with pytest.raises(NotImplementedError, match=r"forward AD with .*heaviside.* does not support it"):
            m.heaviside(dual, dual)
        assert tangent(ad, dual * 2) == [2.0, 2.0]  # and all is as before


def test_tangent_of_another_dtype(m: ModuleType, ad: Any) -> None:
    """The result's tangent has the result's dtype, whatever those of the operands are."""
    with ad.dual_level():
        dual = ad.make_dual(values(m, 2.0), m.tensor([3.0]))
        y = dual * m.tensor([1.0 + 1.0j], dtype=m.complex128)
        assert ad.unpack_dual(y).tangent.dtype == m.complex128 and tangent(ad, y) == [3.0 + 3.0j]
        mixed = ad.make_dual(m.tensor([2.0]), m.tensor([3.0])) * values(m, 4.0)
        assert ad.unpack_dual(mixed).tangent.dtype == m.float64 and tangent(ad, mixed) == [12.0]


def test_expanded_tangent(m: ModuleType, ad: Any) -> None:
    one = values(m, 1.0)
    with ad.dual_level():
        dual = ad.make_dual(values(m, 1.0, 2.0, 3.0), one.expand(3))
        dual[0].mul_(5)
        assert tangent(ad, dual) == [5.0, 1.0, 1.0]
    assert one.tolist() == [1.0]


def test_layout_of_the_tangent_is_the_primals(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        primal = m.zeros(3, 2, dtype=m.float64).T
        given = m.arange(6, dtype=m.float64).reshape(2, 3)
        dual = ad.make_dual(primal, given)
        assert ad.unpack_dual(dual).tangent.stride() == primal.stride()
        assert tangent(ad, dual.T.view(6)) == given.T.reshape(6).tolist()


def test_scalars_and_empty_tensors(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        scalar = ad.make_dual(m.tensor(2.0), m.tensor(1.0))
        assert tangent(ad, scalar * scalar) == 4.0
        empty = ad.make_dual(m.zeros(0, 3), m.zeros(0, 3))
        assert tangent(ad, empty.exp().sum()) == 0.0
        assert tuple(ad.unpack_dual(empty @ m.ones(3, 2)).tangent.shape) == (0, 2)


def test_copies_that_leave_the_program(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        dual = ad.make_dual(values(m, 1.0), values(m, 1.0))
        assert tangent(ad, copy.deepcopy(dual)) is None
        assert tangent(ad, pickle.loads(pickle.dumps(dual))) is None


# -- in place, and views ------------------------------------------------------------------------------


def test_in_place(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        x = ad.make_dual(values(m, 1.0, 2.0), values(m, 1.0, 1.0))
        y = x * 1
        if m is tengen:  # PyTorch takes the new value of y for the old one
            y.mul_(y)
        else:
            y = y * y
        assert y.tolist() == [1.0, 4.0] and tangent(ad, y) == [2.0, 4.0]
        y += x
        assert tangent(ad, y) == [3.0, 5.0]
        y.exp_()
        np.testing.assert_allclose(tangent(ad, y), [3 * math.exp(2.0), 5 * math.exp(6.0)])
        y.zero_()
        assert tangent(ad, y) == [0.0, 0.0]
        y.copy_(x)
        assert tangent(ad, y) == [1.0, 1.0]
        y.fill_(3.0)
        assert tangent(ad, y) == [0.0, 0.0] and tangent(ad, x) == [1.0, 1.0]
        y[0] = x[1] * 5
        assert tangent(ad, y) == [5.0, 0.0]
        y[m.tensor([True, False])] = x[0]
        assert tangent(ad, y) == [1.0, 0.0]


def test_in_place_on_what_had_no_tangent(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        x = ad.make_dual(values(m, 1.0, 2.0), values(m, 1.0, 1.0))
        y = m.ones(2, dtype=m.float64)
        y.mul_(x)
        assert tangent(ad, y) == [1.0, 1.0]
        y.mul_(2)
        assert tangent(ad, y) == [2.0, 2.0] and tangent(ad, x) == [1.0, 1.0]
        counts = m.ones(2, dtype=m.int64)
        counts.copy_(x)
        assert counts.tolist() == [1, 2] and tangent(ad, counts) is None


def test_in_place_does_not_write_into_others_tangents(m: ModuleType, ad: Any) -> None:
    """A sum with a constant has the tangent of its operand, but not in the same memory."""
    with ad.dual_level():
        x = ad.make_dual(values(m, 1.0, 2.0), values(m, 1.0, 1.0))
        y, z = x + 1, x.clone()
        y.mul_(3)
        z.mul_(4)
        assert tangent(ad, x) == [1.0, 1.0]
        assert tangent(ad, y) == [3.0, 3.0] and tangent(ad, z) == [4.0, 4.0]


def test_view_shares_its_tangent(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        x = ad.make_dual(m.zeros(2, 3, dtype=m.float64), m.ones(2, 3, dtype=m.float64)) * 1
        row, column = x[0], x[:, 1]
        row.mul_(2)
        assert tangent(ad, x) == [[2.0, 2.0, 2.0], [1.0, 1.0, 1.0]] and tangent(ad, column) == [2.0, 1.0]
        x.mul_(3)
        assert tangent(ad, row) == [6.0, 6.0, 6.0] and tangent(ad, column) == [6.0, 3.0]
        column.zero_()
        assert tangent(ad, x) == [[6.0, 0.0, 6.0], [3.0, 0.0, 3.0]]


def test_write_into_a_view_of_what_had_no_tangent(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        base = m.zeros(2, 3, dtype=m.float64)
        row, other, transposed = base[0], base[1], base.T
        row.copy_(ad.make_dual(values(m, 1.0, 2.0, 3.0), values(m, 4.0, 5.0, 6.0)))
        assert tangent(ad, base) == [[4.0, 5.0, 6.0], [0.0, 0.0, 0.0]]
        assert tangent(ad, other) == [0.0, 0.0, 0.0]
        assert tangent(ad, transposed) == [[4.0, 0.0], [5.0, 0.0], [6.0, 0.0]]
        other.add_(row)
        assert tangent(ad, base)[1] == [4.0, 5.0, 6.0] and tangent(ad, transposed[0]) == [4.0, 4.0]


def test_write_into_a_view_made_before(m: ModuleType, ad: Any) -> None:
    """Also where the base is not contiguous, and views look at it as other numbers."""
    with ad.dual_level():
        base = m.zeros(4, 2, dtype=m.complex128).T[:, 1:3]
        parts = m.view_as_real(base)
        base.copy_(ad.make_dual(m.ones(2, 2, dtype=m.float64), m.ones(2, 2, dtype=m.float64)))
        assert tangent(ad, parts) == [[[1.0, 0.0]] * 2] * 2
        parts[0, 0, 1] = ad.make_dual(m.tensor(2.0), m.tensor(7.0))
        assert tangent(ad, base) == [[1.0 + 7.0j, 1.0], [1.0, 1.0]]


def test_setitem_builds_up_a_result(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        x = ad.make_dual(values(m, 2.0, 3.0), values(m, 1.0, 1.0))
        y = m.zeros(3, dtype=m.float64)
        y[0], y[1:] = x[0] * x[1], x * x
        assert y.tolist() == [6.0, 4.0, 9.0] and tangent(ad, y) == [5.0, 4.0, 6.0]


def test_dual_is_written_and_its_views_follow(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        x, t = m.ones(3, dtype=m.float64), m.ones(3, dtype=m.float64)
        dual = ad.make_dual(x, t)
        part = dual[:2]
        part.mul_(ad.make_dual(m.ones(2, dtype=m.float64), m.ones(2, dtype=m.float64)))
        assert tangent(ad, dual) == [2.0, 2.0, 1.0] and tangent(ad, x) is None


@pytest.mark.parametrize(
    "name, shape",
    [("t_", (3, 2)), ("unsqueeze_", (1, 2, 3)), ("transpose_", (3, 2)), ("squeeze_", (2, 3))],
)
def test_views_in_place(m: ModuleType, ad: Any, name: str, shape: tuple[int, ...]) -> None:
    given = {"unsqueeze_": (0,), "transpose_": (0, 1)}.get(name, ())
    with ad.dual_level():
        x = ad.make_dual(m.ones(2, 3), m.arange(6.0).reshape(2, 3)) * 1
        expected = getattr(m.arange(6.0).reshape(2, 3), name)(*given).tolist()
        getattr(x, name)(*given)
        assert tuple(x.shape) == shape and tangent(ad, x) == expected
        x.mul_(2)
        assert tangent(ad, x) == (m.tensor(expected) * 2).tolist()


def test_resize_is_refused(m: ModuleType, ad: Any) -> None:
    with ad.dual_level():
        dual = ad.make_dual(values(m, 1.0, 2.0), values(m, 1.0, 1.0))
        with pytest.raises(RuntimeError, match="cannot resize variables that has a forward grad"):
            dual.resize_(1)


def test_in_place_with_a_graph(m: ModuleType, ad: Any) -> None:
    """Forward over reverse through in-place operators and views of the program."""

    def program(x: Any) -> Any:
        y = x.exp()
        y = y * 1
        y[:2].mul_(x[1:])
        z = m.zeros(3, dtype=m.float64)
        z[1:] = y[1:] * x[0]
        z.mul_(x.sin())
        return z.sum() + y.prod()

    x = values(m, 0.3, 0.5, 0.7, requires_grad=True)
    twice = m.autograd.grad(m.autograd.grad(program(x), x, create_graph=True)[0].sum(), x)[0]
    with ad.dual_level():
        dual = ad.make_dual(x, m.ones_like(x))
        (gradient,) = m.autograd.grad(program(dual), dual)
        np.testing.assert_allclose(tangent(ad, gradient), twice.tolist())


# -- inside of tengen ---------------------------------------------------------------------------------


def derivative(function: Program) -> Program:
    """The derivative of a function, in a level of its own."""

    def derived(x: Any) -> Any:
        with ForwardLevel() as level:
            found = level.unpack(function(level.make_dual(x, tengen.ones_like(x))))[1]
        return tengen.zeros_like(x) if found is None else found

    return derived


def test_levels_nest() -> None:
    x = tengen.tensor(0.7, dtype=tengen.float64)

    def function(x: Any) -> Any:
        y = (x**3).sin()
        y.mul_(x.exp())
        return y.float().double() * 1

    def exact(x: float) -> float:
        # d2/dx2 of sin(x^3) e^x
        s, c = math.sin(x**3), math.cos(x**3)
        return math.exp(x) * (s + 6 * x**2 * c + 6 * x * c - 9 * x**4 * s)

    found = derivative(derivative(function))(x)
    np.testing.assert_allclose(found.item(), exact(0.7), rtol=1e-5)


def test_levels_are_not_confused() -> None:
    """d/dx (x * d/dy (x + y)) is 1: the inner level has nothing of the outer one."""
    x = tengen.tensor(3.0)
    outer = derivative(lambda x: x * derivative(lambda y: x + y)(tengen.tensor(1.0)))
    assert outer(x).item() == 1.0
    mixed = derivative(lambda x: derivative(lambda y: x * x * y * y)(tengen.tensor(5.0)))
    assert mixed(x).item() == 2 * 3.0 * 2 * 5.0


def test_backward_accumulates_duals() -> None:
    """PyTorch's ``grad`` has no tangent."""
    x = tengen.tensor([2.0], requires_grad=True)
    with ForwardLevel() as level:
        dual = level.make_dual(x, tengen.ones(1))
        (dual**3).sum().backward()
        (dual**2).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [16.0] and level.unpack(x.grad)[1].tolist() == [14.0]


def test_third_derivative() -> None:
    x = tengen.tensor(2.0, dtype=tengen.float64)
    assert derivative(derivative(derivative(lambda x: x**5)))(x).item() == 60 * 4.0


def test_forward_over_reverse_over_forward() -> None:
    def gradient(function: Program) -> Program:
        def found(x: Any) -> Any:
            x = x.view_as(x) if x.requires_grad else x.clone().requires_grad_()
            return tengen.autograd.grad(function(x), x, create_graph=True)[0]

        return found

    x = tengen.tensor(2.0, dtype=tengen.float64)
    for program in (
        derivative(gradient(derivative(lambda x: x**5))),
        gradient(derivative(gradient(lambda x: x**5))),
    ):
        assert program(x).item() == 60 * 4.0


def test_no_cycle_after_the_level() -> None:
    gc.collect()
    gc.disable()
    try:
        with ForwardLevel() as level:
            x = tengen.ones(3, requires_grad=True)
            y = level.make_dual(x, tengen.ones(3)).exp().sigmoid()
            z = y.sum()
            dead = weakref.ref(y), weakref.ref(z), weakref.ref(x)
        del x, y, z
        assert [ref() for ref in dead] == [None, None, None]
    finally:
        gc.enable()


def test_level_forgets_dead_tensors() -> None:
    with ForwardLevel() as level:
        dual = level.make_dual(tengen.ones(2), tengen.ones(2))
        for _ in range(2000):
            dual * 2
        assert len(level._tracked) < 500


def test_levels_belong_to_threads() -> None:
    found = []
    with ForwardLevel() as level:
        dual = level.make_dual(tengen.ones(2), tengen.ones(2))
        thread = threading.Thread(target=lambda: found.append(level.unpack(dual * 2)[1]))
        thread.start()
        thread.join()
    assert found == [None]


def test_error_in_an_operator_leaves_all_as_it_was() -> None:
    with ForwardLevel() as level:
        dual = level.make_dual(tengen.ones(2), tengen.ones(2))
        with pytest.raises(RuntimeError):
            dual.mul_(tengen.ones(3))
        assert not level.disabled_depth and level.unpack(dual)[1].tolist() == [1.0, 1.0]
        assert level.unpack(dual * 2)[1].tolist() == [2.0, 2.0]


def test_saved_with_hooks_keeps_its_tangent() -> None:
    with ForwardLevel() as level, tengen.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        x = level.make_dual(tengen.tensor([2.0], requires_grad=True), tengen.ones(1))
        (found,) = tengen.autograd.grad(x.exp() * x, x)
        expected = math.exp(2.0) * 4
        np.testing.assert_allclose(level.unpack(found)[1].tolist(), [expected], rtol=1e-6)


def test_very_deep_program() -> None:
    with ForwardLevel() as level:
        x = level.make_dual(tengen.tensor(0.0), tengen.tensor(1.0))
        for _ in range(5000):
            x = x + 1
        assert level.unpack(x)[1].item() == 1.0
