"""The same small programs in torch and here: values, flags, names of Nodes, and what is an error.

Each program takes the module, ``torch`` or ``tengen``, and a leaf; what it returns, or the class
of what it raises, must agree.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

Program = Callable[[Any, Any], Any]
PROGRAMS: list[Program] = []


def program(function: Program) -> Program:
    PROGRAMS.append(function)
    return function


def described(value: Any) -> Any:
    """What is compared of a result."""
    if isinstance(value, torch.Tensor | tengen.Tensor):
        flags = (value.requires_grad, value.is_leaf, value.output_nr)
        return ("tensor", value.tolist(), str(value.dtype).rpartition(".")[2], flags)
    if isinstance(value, list | tuple):
        return [described(v) for v in value]
    if hasattr(value, "next_functions"):
        return value.name().rpartition("::")[2]
    return value


def outcome(function: Program, module: Any) -> Any:
    x = module.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return described(function(module, x))
        except Exception as error:
            return type(error).__name__


@program
def write_into_a_row(m: Any, x: Any) -> Any:
    y = x * 2
    v = y[0]
    v.mul_(3)
    (y * y).sum().backward()
    return x.grad, y, v, y.grad_fn, v.grad_fn, y._version, v._version, v._is_view(), y._is_view()


@program
def write_into_a_column_of_a_transpose(m: Any, x: Any) -> Any:
    y = x * 2
    v = y.t()[:, 1]
    v.mul_(y.detach()[0, 0].item())
    (v * v).sum().backward()
    return x.grad, v


@program
def write_into_the_base(m: Any, x: Any) -> Any:
    y = x * 2
    a, b = y[0], y[:, 1:]
    y.mul_(x)
    (a.sum() * b.sum()).backward()
    return x.grad, a.grad_fn, b.grad_fn, a, b


@program
def write_other_rows_of_one_base(m: Any, x: Any) -> Any:
    y = x + 0
    for i in range(2):
        y[i].mul_(i + 2).add_(1)
    g = m.autograd.grad((y * y).sum(), x, create_graph=True)[0]
    return y, g, m.autograd.grad(g.sum(), x)


@program
def base_without_gradient(m: Any, x: Any) -> Any:
    base = m.zeros(3)
    before, after = base[0], base[1:]
    after.mul_(x[0, 1:])
    return base, before, after, base.grad_fn, before.grad_fn


@program
def setitem_with_a_tensor(m: Any, x: Any) -> Any:
    y = m.zeros(2, 3)
    y[:, 1] = x[:, 0] * 2
    y[0] = 5.0
    y.sum().backward()
    return x.grad, y


@program
def setitem_of_a_leaf(m: Any, x: Any) -> Any:
    x[0] = 1.0


@program
def setitem_of_a_leaf_without_gradients(m: Any, x: Any) -> Any:
    with m.no_grad():
        x[0] = 1.0
    return x, x._version


@program
def in_place_on_a_detached_view(m: Any, x: Any) -> Any:
    y = x * 2
    d = y.detach()
    d[0].mul_(5)
    y.sum().backward()
    return x.grad, y, d, d._version, d._is_view(), d[0]._is_view(), (d[0]._base is d)


@program
def in_place_on_a_detached_view_of_what_was_saved(m: Any, x: Any) -> Any:
    y = x * 2
    z = y * y
    y.detach()[0].mul_(5)
    z.sum().backward()


@program
def data_of_what_was_saved(m: Any, x: Any) -> Any:
    y = x * 2
    z = y * y
    y.data.mul_(5)
    z.sum().backward()
    return x.grad, y._version


@program
def unbound_rows(m: Any, x: Any) -> Any:
    (x * 2).unbind(0)[1].mul_(2)


@program
def unbound_rows_without_gradients(m: Any, x: Any) -> Any:
    y = x.detach().unbind(0)
    y[1].mul_(2)
    return y, x


@program
def unbound_rows_after_a_write(m: Any, x: Any) -> Any:
    y = x * 2
    a, _ = y.unbind(0)
    y.mul_(2)
    return a.grad_fn


@program
def backward_through_unbound_rows_after_a_write(m: Any, x: Any) -> Any:
    y = x * 2
    a, _ = y.unbind(0)
    y.mul_(2)
    a.sum().backward()


@program
def unbound_rows_with_gradients(m: Any, x: Any) -> Any:
    a, b = (x * 2).unbind(0)
    (a * a).sum().backward()
    return x.grad, a, b


@program
def no_grad_view_written_outside(m: Any, x: Any) -> Any:
    y = x * 2
    with m.no_grad():
        v = y[0]
    v.mul_(2)


@program
def no_grad_view_written_inside(m: Any, x: Any) -> Any:
    y = x * 2
    with m.no_grad():
        v = y[0]
        v.mul_(2)
    y.sum().backward()
    return x.grad, y


@program
def no_grad_view_of_a_leaf_written_inside(m: Any, x: Any) -> Any:
    with m.no_grad():
        x[0].mul_(2)
    (x * x).sum().backward()
    return x.grad, x


@program
def no_grad_view_whose_base_was_written(m: Any, x: Any) -> Any:
    y = x * 2
    with m.no_grad():
        v = y[0]
    y.mul_(2)
    return v.grad_fn


@program
def leaf_in_place(m: Any, x: Any) -> Any:
    x.mul_(2)


@program
def view_of_a_leaf_in_place(m: Any, x: Any) -> Any:
    x[0].mul_(2)


@program
def transposed_leaf_in_place(m: Any, x: Any) -> Any:
    x.t().mul_(2)


@program
def detach_a_view_in_place(m: Any, x: Any) -> Any:
    (x * 2)[0].detach_()


@program
def retained_gradients_through_writes(m: Any, x: Any) -> Any:
    y = x * 2
    y.retain_grad()
    y[0].mul_(3)
    y.mul_(2)
    (y * y).sum().backward()
    return y.grad, x.grad, y.retains_grad


@program
def hooks_and_writes(m: Any, x: Any) -> Any:
    seen: list[Any] = []
    y = x * 2
    y.register_hook(lambda g: seen.append(("first", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("second", g.tolist())))
    y[0].mul_(5)
    y.register_hook(lambda g: seen.append(("third", g.tolist())))
    y.sum().backward()
    return seen


@program
def captures_and_hooks(m: Any, x: Any) -> Any:
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g * 100)
    return m.autograd.grad((y * 3).sum(), [y, x])


@program
def backward_into_an_intermediate(m: Any, x: Any) -> Any:
    y = x * 2
    (y * y).sum().backward(inputs=[y])
    return y.grad, x.grad, y.retains_grad


@program
def gradients_accumulate_in_place(m: Any, x: Any) -> Any:
    (x * 2).sum().backward()
    first = x.grad
    (x * 2).sum().backward()
    return first is x.grad, first


@program
def gradients_accumulate_out_of_place(m: Any, x: Any) -> Any:
    (x * x).sum().backward(create_graph=True)
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    return first is x.grad, first.tolist(), x.grad.tolist(), x.grad.requires_grad


@program
def the_second_backward(m: Any, x: Any) -> Any:
    y = (x * x).sum()
    y.backward()
    y.backward()


@program
def the_second_backward_of_a_sum(m: Any, x: Any) -> Any:
    y = (x + 1).sum()
    y.backward()
    y.backward()
    return x.grad


@program
def the_second_backward_of_half_a_graph(m: Any, x: Any) -> Any:
    y = x * x
    z = (y + 1).sum()
    z.backward()
    return m.autograd.grad(z, y)


@program
def own_operand_in_place(m: Any, x: Any) -> Any:
    y = x * 2
    y.mul_(y)
    y.sum().backward()


@program
def result_written_after(m: Any, x: Any) -> Any:
    y = x.exp()
    y[0, 0] = 1.0
    y.sum().backward()


@program
def in_place_then_saved(m: Any, x: Any) -> Any:
    y = x * 1
    y.exp_()
    z = y * 2
    y.detach()
    z.sum().backward()
    return x.grad.shape, y._version


@program
def zero_in_place(m: Any, x: Any) -> Any:
    y = x * 2
    y[0].zero_()
    y.sum().backward()
    return x.grad, y


@program
def copy_from_another_dtype(m: Any, x: Any) -> Any:
    y = m.zeros(2, 3, dtype=m.float64)
    y.copy_(x)
    y.sum().backward()
    return x.grad, y


@program
def comparison_in_place(m: Any, x: Any) -> Any:
    y = x * 1
    y.eq_(2.0)
    return y, y.grad_fn


@program
def overlapping_views(m: Any, x: Any) -> Any:
    y = x * 1
    windows = y.as_strided((2, 3, 2), (2, 1, 1), 0)
    y.mul_(2)
    (windows * windows).sum().backward()
    return x.grad


@program
def expanded_in_place(m: Any, x: Any) -> Any:
    m.ones(1).expand(3).add_(1)


@program
def views_of_both_parts_of_complex(m: Any, x: Any) -> Any:
    z = m.complex(x, x * 2)
    y = z * 1
    re, im = m.real(y), m.imag(y)
    re.mul_(3)
    im[0].mul_(x[1])
    m.real(y * y.conj()).sum().backward()
    return x.grad, y.grad_fn


@program
def several_outputs_and_one_input(m: Any, x: Any) -> Any:
    y = x * x
    return m.autograd.grad([y.sum(), y], x, [None, m.ones(2, 3)])


@program
def a_graph_of_casts(m: Any, x: Any) -> Any:
    w = m.tensor([1.0, 2.0, 3.0], dtype=m.float64, requires_grad=True)
    y = x * w
    g = m.autograd.grad((y * y).sum(), [x, w], create_graph=True)
    h = m.autograd.grad(g[0].sum(), [x, w])
    return [v.tolist() for v in (*g, *h)], [str(v.dtype)[-7:] for v in (*g, *h)]


@program
def set_grad_of_another_shape(m: Any, x: Any) -> Any:
    x.grad = m.ones(2)


@program
def set_data(m: Any, x: Any) -> Any:
    y = (x * 2).sum()
    x.data = m.ones(2)
    return x, y


@program
def name_is_read_only(m: Any, x: Any) -> Any:
    x.name = "x"


@program
def requires_grad_of_a_result(m: Any, x: Any) -> Any:
    (x * 2).requires_grad_(False)


@program
def out_with_gradients(m: Any, x: Any) -> Any:
    m.add(x, 1, out=m.zeros(2, 3))


@program
def out_resized(m: Any, x: Any) -> Any:
    whole = m.zeros(8)
    out = whole[:3]
    m.add(m.ones(2, 2), 1, out=out)
    return out, whole


@program
def out_of_another_layout(m: Any, x: Any) -> Any:
    out = m.zeros(3, 2).t()
    m.add(m.ones(2, 3), 1, out=out)
    return out


@program
def layout_of_gradients(m: Any, x: Any) -> Any:
    leaf = m.ones(3, 2).t().requires_grad_()
    if not leaf.is_leaf:
        return None
    (leaf * m.ones(2, 3)).sum().backward()
    return leaf.grad.stride()


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_same_as_torch(function: Program) -> None:
    assert outcome(function, tengen) == outcome(function, torch)
