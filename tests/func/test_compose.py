"""Transforms of transforms: identities between them, and tables of chains beside torch."""

from __future__ import annotations

import importlib
import itertools
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from chains import FUNCTIONS, INPUTS, TRANSFORMS, chain
from in_threads import in_threads

import tengen
from tengen.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

SMOOTH = [name for name in FUNCTIONS if name != "linear"]


def close(a: Any, b: Any) -> bool:
    return bool(tengen.allclose(a, b, rtol=1e-9, atol=1e-11)) and a.shape == b.shape


# -- identities, without torch --------------------------------------------------------------


# What is written under no_grad, forward mode sees, in PyTorch too.
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "written_under_no_grad"])
def test_forward_and_reverse_agree(name: str) -> None:
    f = lambda x: FUNCTIONS[name](tengen, x)  # noqa: E731
    x = INPUTS["vector"](tengen)
    rows = jacrev(f)(x)
    assert close(rows, jacfwd(f)(x))
    t = tengen.tensor([0.3, -0.7], dtype=tengen.float64)
    assert close(jvp(f, (x,), (t,))[1], (rows * t).sum(-1))
    c = f(x).cos()
    assert close(vjp(f, x)[1](c)[0], (rows.movedim(-1, 0) * c).flatten(1).sum(1))
    second = hessian(f)(x)
    for outer, inner in itertools.product((jacrev, jacfwd), repeat=2):
        assert close(outer(inner(f))(x), second)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("first", TRANSFORMS)
def test_examples_one_by_one(name: str, first: str) -> None:
    f = chain(tengen, (first,), lambda x: FUNCTIONS[name](tengen, x))
    xs = tengen.tensor([[0.5, -1.5], [1.0, 2.0], [0.1, 0.2]], dtype=tengen.float64)
    assert close(vmap(f)(xs), tengen.stack([f(x) for x in xs]))
    pairs = tengen.stack([xs, xs * 2])
    assert close(vmap(vmap(f))(pairs), tengen.stack([tengen.stack([f(x) for x in p]) for p in pairs]))
    assert close(vmap(f, in_dims=1, out_dims=-1)(xs.t()), tengen.stack([f(x) for x in xs], -1))


def test_examples_of_what_is_captured() -> None:
    """The differentiated tensor is the same for all examples, and the data are captured."""
    w = tengen.tensor([0.5, 2.0], dtype=tengen.float64)
    data = tengen.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=tengen.float64)
    loss = lambda w, x: ((w * x).sum()) ** 2  # noqa: E731
    expected = tengen.stack([2 * (w * x).sum() * x for x in data])
    assert close(vmap(lambda x: grad(lambda w: loss(w, x))(w))(data), expected)
    assert close(vmap(grad(loss), in_dims=(None, 0))(w, data), expected)
    assert close(
        vmap(lambda x: vjp(lambda w: loss(w, x), w)[1](tengen.ones((), dtype=w.dtype))[0])(data), expected
    )
    assert close(vmap(lambda x: jacfwd(loss)(w, x))(data), expected)
    second = tengen.stack([2 * x[:, None] * x for x in data])
    assert close(vmap(lambda x: hessian(loss)(w, x))(data), second)


def test_gradients_outside_and_inside_of_vmap() -> None:
    w = tengen.tensor([0.5, 2.0], dtype=tengen.float64, requires_grad=True)
    data = tengen.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=tengen.float64)
    found = vmap(grad(lambda w, x: (w**3 * x).sum()), in_dims=(None, 0))(w, data)
    assert found.requires_grad
    found.sum().backward()
    assert close(w.grad, (6 * w.detach() * data.sum(0)))


def test_a_vjp_of_a_vmap_that_is_over() -> None:
    def f(x: Any) -> Any:
        return vmap(lambda row: row * row.sum())(x)

    x = tengen.arange(6, dtype=tengen.float64).reshape(3, 2)
    _, pull = vjp(f, x)
    expected = tengen.stack([vjp(lambda r: r * r.sum(), r)[1](tengen.ones(2, dtype=x.dtype))[0] for r in x])
    assert close(pull(tengen.ones(3, 2, dtype=x.dtype))[0], expected)
    many = tengen.stack([tengen.ones(3, 2, dtype=x.dtype), tengen.zeros(3, 2, dtype=x.dtype)])
    assert close(vmap(pull)(many)[0], tengen.stack([expected, expected * 0]))


def test_a_vjp_inside_of_vmap_is_mapped_again() -> None:
    """The cotangents have examples of a newer level than the function's."""

    def rows(x: Any) -> Any:
        _, pull = vjp(lambda x: x * x.sum(), x)
        return vmap(pull)(tengen.eye(2, dtype=tengen.float64))[0]

    xs = tengen.tensor([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]], dtype=tengen.float64)
    assert close(vmap(rows)(xs), tengen.stack([jacfwd(lambda x: x * x.sum())(x) for x in xs]))
    pairs = tengen.stack([xs, xs + 1])
    assert close(vmap(vmap(rows))(pairs), tengen.stack([vmap(rows)(p) for p in pairs]))


FOLDED = {
    "conv1d": lambda x: tengen.nn.functional.conv1d(x.view(1, 1, 2), x.view(1, 1, 2)),
    "conv_transpose1d": lambda x: tengen.nn.functional.conv_transpose1d(x.view(1, 1, 2), x.view(1, 1, 2)),
    "avg_pool1d": lambda x: tengen.nn.functional.avg_pool1d(x.view(1, 1, 2), 2),
}


@pytest.mark.parametrize("name", FOLDED)
def test_derivatives_of_what_is_reshaped_under_vmap(name: str) -> None:
    """A tangent need not have the strides of expanded memory, which its view in another shape allows."""
    first = grad(lambda x: (FOLDED[name](x) ** 3).sum())
    x = tengen.tensor([2.0, -3.0], dtype=tengen.float64)
    assert close(jacfwd(jacfwd(first))(x), jacrev(jacrev(first))(x))


@pytest.mark.parametrize("first", sorted(set(TRANSFORMS) - {"jacfwd", "hessian"}))  # their own vmap refuses
def test_each_example_draws_its_own_in_every_transform(first: str) -> None:
    """Or all the same, as the vmap around was told; the numbers are those of one call each."""

    def noise(x: Any) -> Any:
        draws.append(1)
        return x * x * tengen.rand(x.shape, dtype=x.dtype)

    xs = tengen.ones(4, 2, dtype=tengen.float64)
    for randomness in ("same", "different"):
        draws: list[int] = []
        if "vmap" in first:  # an inner one says itself what it wants
            inner = lambda x: vmap(noise, randomness="different")(tengen.stack([x, x]))  # noqa: E731
            found = vmap(inner, randomness=randomness)(xs)
            assert (found[:, 0] != found[:, 1]).all()
        else:
            found = vmap(chain(tengen, (first,), noise), randomness=randomness)(xs)
        assert len(draws) == 1
        alike = [bool((found[i] == found[0]).all()) for i in range(1, 4)]
        assert alike == [randomness == "same"] * 3


def test_exceptions_leave_no_level() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("stop")

    x = tengen.ones(2)
    for first, second in itertools.product(TRANSFORMS, repeat=2):
        with pytest.raises(KeyError):
            chain(tengen, (first, second), fails)(x)
    from tengen.core.interception import active

    assert not active and tengen.is_grad_enabled()
    assert grad(lambda x: (x * x).sum())(x).tolist() == [2.0, 2.0]


def test_threads() -> None:
    """Each has its own levels, while the others have theirs."""
    found: list[Any] = [None] * 8
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            x = tengen.arange(12, dtype=tengen.float64).reshape(4, 3) + number
            for _ in range(5):
                gradients = vmap(grad(lambda x: (x**3).sum()))(x)
                curvature = vmap(hessian(lambda x: (x**3).sum()))(x)
            found[number] = (x, gradients, curvature)
        except BaseException as error:
            failed.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # each is interrupted everywhere
    try:
        in_threads(work, range(8))
    finally:
        sys.setswitchinterval(before)
    assert not failed
    for x, gradients, curvature in found:
        assert close(gradients, 3 * x * x)
        assert close(curvature, tengen.stack([tengen.diag(6 * row) for row in x]))


# -- tables, beside torch --------------------------------------------------------------------


def outcome(m: Any, names: Sequence[str], f: str, given: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return chain(m, names, lambda x: FUNCTIONS[f](m, x))(INPUTS[given](m))
        except Exception as error:
            return error


def compare(names: Sequence[str], functions: Sequence[str], inputs: Sequence[str]) -> None:
    """What torch computes, we do, and as it is: shape, dtype, values, and no history."""
    torch: Any = importlib.import_module("torch")
    wrong = []
    for f, given in itertools.product(functions, inputs):
        if f == "written_under_no_grad" and "linearize" in names:
            continue  # it is a product with reverse mode's Jacobian here: docs/differences.md
        theirs = outcome(torch, names, f, given)
        if isinstance(theirs, Exception):
            continue
        ours = outcome(tengen, names, f, given)
        if isinstance(ours, Exception):
            wrong.append((f, given, repr(ours)))
            continue
        made = torch.tensor(ours.tolist(), dtype=theirs.dtype).reshape(theirs.shape)
        same = (
            tuple(ours.shape) == tuple(theirs.shape) and str(ours.dtype) == f"tengen.{str(theirs.dtype)[6:]}"
        )
        if (
            not same
            or ours.requires_grad
            or not torch.allclose(made, theirs, rtol=1e-8, atol=1e-10, equal_nan=True)
        ):
            wrong.append((f, given, f"{ours} but {theirs}"))
    assert not wrong


@pytest.mark.oracle
@pytest.mark.parametrize("names", [(name,) for name in TRANSFORMS], ids="-".join)
def test_single(names: Sequence[str]) -> None:
    pytest.importorskip("torch")
    compare(names, list(FUNCTIONS), list(INPUTS))


@pytest.mark.oracle
@pytest.mark.parametrize("names", list(itertools.product(TRANSFORMS, repeat=2)), ids="-".join)
def test_pairs(names: Sequence[str]) -> None:
    pytest.importorskip("torch")
    compare(names, list(FUNCTIONS), list(INPUTS))


TRIPLES = list(itertools.product(TRANSFORMS, repeat=3))


@pytest.mark.oracle
@pytest.mark.parametrize("start", range(0, len(TRIPLES), 50))
def test_triples(start: int) -> None:
    pytest.importorskip("torch")
    for index, names in enumerate(TRIPLES[start : start + 50]):
        compare(names, [SMOOTH[(start + index) % len(SMOOTH)]], ["vector"])
