"""Operators of nested tensors, and their gradients, are those of a loop over the parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from called import Called
from loops import B3, BOTH, BY_NUMBER, LAYOUTS, SIZES, compare, parts

import tengen
from tengen import nested
from tengen.nn import functional as F
from tengen.testing import declared

#: Of jagged tensors alone, as in PyTorch: with strided tensors that broadcast, and reductions.
JAGGED: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "row": (lambda x: x + B3, lambda p, i: p + B3),
    "row before": (lambda x: B3 - x, lambda p, i: B3 - p),
    "by part": (lambda x: x * BY_PART, lambda p, i: p * BY_PART[i]),
    "number by part": (lambda x: x * BY_PART[:, :, :1], lambda p, i: p * BY_PART[i][:, :1]),
    "ragged sum": (lambda x: x.sum(1), lambda p, i: p.sum(0)),
    "ragged mean": (lambda x: x.mean(1), lambda p, i: p.mean(0)),
    "ragged amax": (lambda x: x.amax(1), lambda p, i: p.amax(0)),
    "ragged max": (lambda x: x.max(1).values, lambda p, i: p.max(0).values),
    "ragged min": (lambda x: x.min(1, keepdim=True).values, lambda p, i: p.min(0, keepdim=True).values),
    "ragged prod": (lambda x: x.prod(1), lambda p, i: p.prod(0)),
    "last max": (lambda x: x.max(-1).values, lambda p, i: p.max(-1).values),
    "last prod": (lambda x: x.prod(-1), lambda p, i: p.prod(-1)),
    "row of a mask": (lambda x: x.masked_fill(B3 > 0, 2.0), lambda p, i: p.masked_fill(B3 > 0, 2.0)),
    "ragged sum kept": (lambda x: x.sum(1, keepdim=True), lambda p, i: p.sum(0, keepdim=True)),
    "last sum": (lambda x: x.sum(-1), lambda p, i: p.sum(-1)),
    "last mean": (lambda x: x.mean(2), lambda p, i: p.mean(-1)),
    "square": (lambda x: x.transpose(1, 2) @ x, lambda p, i: p.t() @ p),
    "by one matrix": (lambda x: x @ B3.reshape(1, 3, 1), lambda p, i: p @ B3.reshape(3, 1)),
    "one matrix by each": (
        lambda x: B3.reshape(1, 1, 3) @ x.transpose(1, 2),
        lambda p, i: B3.reshape(1, 3) @ p.t(),
    ),
    "softmax of the transpose": (lambda x: x.transpose(1, 2).softmax(-1), lambda p, i: p.t().softmax(-1)),
    "expand": (lambda x: x.unsqueeze(-1).expand(3, -1, 3, 2), lambda p, i: p.unsqueeze(-1).expand(-1, 3, 2)),
}
BY_PART = tengen.linspace(1, 3, 9, dtype=tengen.float64).reshape(3, 1, 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", BOTH)
def test_loop(name: str, layout: str) -> None:
    f, g = BOTH[name]
    compare(f, BY_NUMBER.get(name, lambda p, i: g(p)), LAYOUTS[layout])


@pytest.mark.parametrize("name", JAGGED)
def test_loop_jagged(name: str) -> None:
    f, g = JAGGED[name]
    compare(f, g, tengen.jagged)


WHOLE = ("sum", "mean", "amax", "amin", "max", "min", "prod")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", WHOLE)
def test_reductions_of_all_elements(name: str, layout: str) -> None:
    """As of all elements in one tensor, also where there are zeros, and equal ones."""
    for change in (lambda x: x, lambda x: (x - 1).relu()):
        leaves = [p.requires_grad_() for p in parts()]
        whole = tengen.cat([change(p).reshape(-1) for p in leaves])
        expected = getattr(whole, name)()
        found = getattr(change(nested.as_nested_tensor(leaves, layout=LAYOUTS[layout])), name)()
        tengen.testing.assert_close(found, expected)
        grads = [tengen.autograd.grad(one, leaves) for one in (found, expected)]
        for a, b in zip(*grads, strict=True):
            tengen.testing.assert_close(a, b)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["argmax", "argmin", "any", "all"])
def test_reductions_without_gradient(name: str, keepdim: bool) -> None:
    tensors = [(p - 1).relu() for p in parts()]
    whole = tengen.cat([p.reshape(-1) for p in tensors])
    for layout in LAYOUTS.values():
        x = nested.nested_tensor(tensors, layout=layout)
        assert tengen.equal(getattr(x, name)(), getattr(whole, name)())
        for dim in (1, 2) if layout is tengen.jagged else (2,) * keepdim:
            found = getattr(x, name)(dim, keepdim=keepdim)
            for a, p in zip(found.unbind(), tensors, strict=True):
                assert tengen.equal(a, getattr(p, name)(dim - 1, keepdim=keepdim))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["any", "all"])
def test_tests_over_no_dimensions_are_of_each_element(name: str, layout: str) -> None:
    given = [part > 1 for part in parts()]
    n = nested.nested_tensor(given, layout=LAYOUTS[layout])
    found = getattr(tengen, name)(n, ())
    assert found.is_nested and found.dtype is tengen.bool
    for one, part in zip(found.unbind(), given, strict=True):
        assert tengen.equal(one, getattr(tengen, name)(part, ()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_padding_to_a_larger_size(layout: str) -> None:
    leaves = [part.requires_grad_() for part in parts()]
    n = nested.as_nested_tensor(leaves, layout=LAYOUTS[layout])
    weights = tengen.arange(3.0 * 6 * 5, dtype=tengen.float64).reshape(3, 6, 5)
    (nested.to_padded_tensor(n, 7.0, (3, 6, 5)) * weights).sum().backward()
    for i, one in enumerate(leaves):
        assert tengen.equal(one.grad, weights[i, : one.shape[0], :3])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_transforms(layout: str) -> None:
    """Forward mode and gradients are those of the parts."""
    n = nested.nested_tensor(parts(), layout=LAYOUTS[layout])
    value, tangent = tengen.func.jvp(lambda t: t * t, (n,), (n,))
    (grad,) = tengen.func.vjp(lambda t: t * t, n)[1](n)
    for made in (tangent, grad, 2 * value):
        for one, part in zip(made.unbind(), parts(), strict=True):
            tengen.testing.assert_close(one, 2 * part * part)


def test_every_operator_is_called() -> None:
    """Those of nested tensors alone, which have no samples; each is compared with a loop above."""
    operators = declared.declared_operators().items()
    wanted = {n for n, o in operators if "other_layout" in o.tags and "nested" in o.place.file}
    with Called() as called:
        for name in BOTH:
            for layout in LAYOUTS:
                test_loop(name, layout)
        for name in JAGGED:
            test_loop_jagged(name)
        strided = nested.as_nested_tensor(parts())
        assert strided._nested_tensor_size().tolist() == [[n, 3] for n in SIZES]
        assert nested.to_padded_tensor(strided, 0.0).shape == (3, 4, 3)
        leaf = nested.nested_tensor(parts(), layout=tengen.jagged, requires_grad=True)
        leaf.values().sum().backward()
        assert tengen.equal(leaf.grad.values(), tengen.ones_like(leaf.detach().values()))
        batch = nested.nested_tensor_from_jagged(tengen.rand(7, 3), tengen.tensor([0, 2, 6, 7]))
        assert batch.offsets().tolist() == [0, 2, 6, 7] and batch.lengths() is None
    assert wanted and wanted - called.names == set()


#: What draws each element by itself, of a tensor like the one given: the values are as those of one tensor.
DRAWN: dict[str, Callable[[Any], Any]] = {
    "rand_like": tengen.rand_like,
    "randn_like": tengen.randn_like,
    "randint_like": lambda x: tengen.randint_like(x, 2, 9),
    "normal_": lambda x: x.clone().normal_(1, 2),
    "uniform_": lambda x: x.clone().uniform_(1, 2),
    "random_": lambda x: x.clone().random_(),
    "random_.to": lambda x: x.clone().random_(5),
    "random_.from": lambda x: x.clone().random_(2, 5),
    "exponential_": lambda x: x.clone().exponential_(2),
    "cauchy_": lambda x: x.clone().cauchy_(),
    "geometric_": lambda x: x.clone().geometric_(0.3),
    "log_normal_": lambda x: x.clone().log_normal_(0, 1),
    "bernoulli": lambda x: tengen.bernoulli(x / 2),
    "bernoulli.p": lambda x: tengen.bernoulli(x, 0.5),
    "bernoulli_": lambda x: x.clone().bernoulli_(0.5),
    "poisson": tengen.poisson,
    "normal of means": lambda x: tengen.normal(x, 2.0),
    "dropout": lambda x: F.dropout(x, 0.5, True),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.5, True),
}


@pytest.mark.parametrize("dtype", [tengen.float64, tengen.float32, tengen.float16, tengen.bfloat16])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DRAWN)
def test_what_is_drawn_by_element(name: str, layout: str, dtype: tengen.dtype) -> None:
    given = [part.to(dtype) for part in parts()]
    x = nested.nested_tensor(given, layout=LAYOUTS[layout])
    found = []
    for one in (x, tengen.cat(given)):
        tengen.manual_seed(7)
        found.append(DRAWN[name](one))
    assert found[0].is_nested and found[0].layout is x.layout and found[0].dtype is dtype
    assert tengen.equal(tengen.cat(list(found[0].unbind())), found[1])
    assert [p.shape for p in found[0].unbind()] == [p.shape for p in given]


def test_operators_that_draw_by_element_are_those_above() -> None:
    """All of the tag, in place or not, but for those of two tensors."""
    wanted = {n for n, o in declared.declared_operators().items() if "drawn_by_element" in o.tags}
    with Called() as called:
        for name in DRAWN:
            test_what_is_drawn_by_element(name, "strided", tengen.float64)
    of_two = {"binomial", "normal.Tensor_Tensor", "normal.float_Tensor", "bernoulli_.Tensor"}
    assert of_two < wanted
    assert {n for n in wanted - of_two if called.names.isdisjoint((n, f"{n}_"))} == set()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize(
    "module", ["Dropout", "AlphaDropout", "FeatureAlphaDropout", "Dropout1d", "Dropout2d"]
)
@pytest.mark.filterwarnings("ignore:dropout2d")
def test_dropout_of_everything(module: str, inplace: bool, layout: str) -> None:
    """With p=1 all elements are 0, as their gradients are."""
    leaf = nested.nested_tensor(parts(), layout=LAYOUTS[layout], requires_grad=True)
    found = getattr(tengen.nn, module)(1.0, inplace=inplace)(leaf.clone())
    assert all([not one.any() for one in found.unbind()])
    (grad,) = tengen.autograd.grad(sum([one.sum() for one in found.unbind()]), leaf)
    assert all([not one.any() for one in grad.unbind()])
