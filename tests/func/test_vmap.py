"""``vmap``: the same programs in tengen and in torch."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import tengen


def matrix(m: ModuleType) -> Any:
    return m.arange(6.0).reshape(2, 3)


# -- arguments and results ----------------------------------------------------------------


def test_each_row(m: ModuleType) -> None:
    x = matrix(m)
    assert m.vmap(lambda row: row * 2 + row.sum())(x).tolist() == [[3, 5, 7], [18, 20, 22]]
    assert m.vmap is m.func.vmap or m.vmap(m.sum)(x).tolist() == m.func.vmap(m.sum)(x).tolist()


@pytest.mark.parametrize("in_dims", [0, 1, -1, -2, (1,)])
def test_in_dims(m: ModuleType, in_dims: Any) -> None:
    x = matrix(m)
    dim = in_dims if isinstance(in_dims, int) else in_dims[0]
    assert m.vmap(lambda v: v.sum(), in_dims=in_dims)(x).tolist() == x.sum(1 - dim % 2).tolist()


@pytest.mark.parametrize("in_dim", range(4))
@pytest.mark.parametrize(
    "function",
    [
        lambda m, v: v.sin(),
        lambda m, v: v.sum(0),
        lambda m, v: v.reshape(-1),
        lambda m, v: v.transpose(0, 1) + 1,
        lambda m, v: v[0].cumsum(-1),
        lambda m, v: m.cat([v, v], 1),
        lambda m, v: v @ m.ones(v.shape[-1], 2),
        lambda m, v: v.clone().mul_(m.arange(float(v.shape[-1]))),
        lambda m, v: m.stack([v.amax(0), v.amin(0)], -1),
    ],
)
def test_every_dimension_of_many(m: ModuleType, function: Any, in_dim: int) -> None:
    """The others keep their order, before the function and behind it."""
    x = m.arange(120.0).reshape(2, 3, 4, 5)
    examples = [function(m, v) for v in x.unbind(in_dim)]
    for out_dim in range(examples[0].ndim + 1):
        for dims in ((in_dim, out_dim), (in_dim - 4, out_dim - examples[0].ndim - 1)):
            found = m.vmap(lambda v: function(m, v), *dims)(x)
            assert m.allclose(found, m.stack(examples, out_dim)) and found.ndim == examples[0].ndim + 1


def test_trees_of_arguments(m: ModuleType) -> None:
    x = matrix(m)

    def total(pair: Any, table: Any, number: float) -> Any:
        return pair[0] + pair[1] * number + table["a"]

    found = m.vmap(total, in_dims=((0, None), {"a": 1}, None))((x, x[0]), {"a": x.t()}, 10.0)
    assert found.tolist() == (x + x[0] * 10 + x).tolist()
    assert m.vmap(lambda a, b: a * b)(x, b=x[0]).tolist() == (x * x[0]).tolist()
    assert m.vmap(lambda a, b: a * b)(x, b=3).tolist() == (x * 3).tolist()


@pytest.mark.parametrize(
    ("out_dims", "shapes"), [(0, [[2, 3], [2]]), ((1, 0), [[3, 2], [2]]), ((-1, -1), [[3, 2], [2]])]
)
def test_out_dims(m: ModuleType, out_dims: Any, shapes: Any) -> None:
    found = m.vmap(lambda v: (v, v.sum()), out_dims=out_dims)(matrix(m))
    assert isinstance(found, tuple) and [list(t.shape) for t in found] == shapes


def test_trees_of_results(m: ModuleType) -> None:
    x = matrix(m)
    found = m.vmap(lambda v: {"a": v, "b": [v, v.sum()]}, out_dims={"a": 1, "b": 0})(x)
    assert found["a"].shape == (3, 2) and isinstance(found["b"], list) and found["b"][1].shape == (2,)
    assert m.vmap(lambda v: v, out_dims=(1,))(x).shape == (3, 2)
    assert m.vmap(lambda v: m.ones(2))(x).shape == (2, 2)
    assert m.vmap(lambda v: m.ones(2), out_dims=None)(x).shape == (2,)


def test_levels_nest(m: ModuleType) -> None:
    x, y = matrix(m), m.arange(4.0)
    product = m.vmap(m.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))
    assert product(m.arange(3.0), y).tolist() == (m.arange(3.0)[:, None] * y).tolist()
    triple = m.vmap(m.vmap(m.vmap(lambda v: v.exp()), in_dims=1), out_dims=1)
    assert m.allclose(triple(x.reshape(1, 2, 3)), x.reshape(1, 2, 3).exp().permute(2, 0, 1))


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7])
def test_chunks(m: ModuleType, chunk_size: int) -> None:
    x = m.arange(14.0).reshape(7, 2)
    found = m.vmap(lambda v: (v * 2, v.sum()), out_dims=(1, 0), chunk_size=chunk_size)(x)
    assert found[0].tolist() == (x * 2).t().tolist() and found[1].tolist() == x.sum(1).tolist()


# -- errors -------------------------------------------------------------------------------

BAD_CALLS: list[tuple[str, type[Exception], str, Callable[[ModuleType, Any], Any]]] = [
    ("no inputs", ValueError, "no inputs", lambda m, x: m.vmap(lambda: 3)()),
    ("a number", ValueError, "cannot vmap over non-Tensor", lambda m, x: m.vmap(lambda v: v)(3)),
    ("a list", ValueError, "`in_dims` to be int", lambda m, x: m.vmap(m.sin, in_dims=[0])(x)),
    ("structure", ValueError, "not compatible", lambda m, x: m.vmap(m.sin, in_dims=(0, 0))(x)),
    ("no int", ValueError, "either an integer", lambda m, x: m.vmap(m.sin, in_dims=("a",))(x)),
    ("range", ValueError, "-2 <= in_dim < 2", lambda m, x: m.vmap(m.sin, in_dims=2)(x)),
    ("0-d", ValueError, "dimensionality 0", lambda m, x: m.vmap(m.sin)(x.sum())),
    ("nothing", ValueError, "at least one Tensor", lambda m, x: m.vmap(m.add, in_dims=(None, None))(x, x)),
    ("sizes", ValueError, r"same size in the mapped dim.* \[2, 3\]", lambda m, x: m.vmap(m.add)(x, x.t())),
    ("result", ValueError, "must only return Tensors", lambda m, x: m.vmap(lambda v: 3)(x)),
    ("results", ValueError, "must only return Tensors", lambda m, x: m.vmap(lambda v: (v, None))(x)),
    ("out structure", ValueError, "not compatible", lambda m, x: m.vmap(m.sin, out_dims=(0, 0))(x)),
    ("out no int", ValueError, "must be an int, None or", lambda m, x: m.vmap(m.sin, out_dims="a")(x)),
    ("out range", IndexError, r"range of \[-2, 1\], but got 2", lambda m, x: m.vmap(m.sin, out_dims=2)(x)),
    ("out None", ValueError, "when out_dim is None", lambda m, x: m.vmap(m.sin, out_dims=None)(x)),
    ("chunk", ValueError, "None or greater", lambda m, x: m.vmap(m.sin, chunk_size=0)(x)),
    ("random", RuntimeError, "allowed values", lambda m, x: m.vmap(m.sin, randomness="x")(x)),
]  # fmt: skip


@pytest.mark.parametrize(("error", "text", "call"), [b[1:] for b in BAD_CALLS], ids=[b[0] for b in BAD_CALLS])
def test_bad_calls(m: ModuleType, error: type[Exception], text: str, call: Any) -> None:
    with pytest.raises(error, match=text):
        call(m, matrix(m))


BAD_BODIES: dict[str, tuple[str, Callable[[ModuleType, Any], Any]]] = {
    "item": (r"calling .item\(\)", lambda m, v: v.sum().item()),
    "float": (r"calling .item\(\)", lambda m, v: float(v.sum())),
    "index": (r"calling .item\(\)", lambda m, v: [1, 2][v.sum().long()]),
    "tensor": (r"calling .item\(\)", lambda m, v: m.tensor([v[0], v[1]])),
    "bool": ("data-dependent control flow", lambda m, v: v if v.sum() else -v),
    "tolist": ("data pointer", lambda m, v: v.tolist()),
    "numpy": ("data pointer", lambda m, v: v.numpy()),
    "data_ptr": ("data pointer", lambda m, v: v.data_ptr()),
    "nonzero": ("dynamic shape", lambda m, v: v.nonzero()),
    "unique": ("dynamic shape", lambda m, v: v.unique()),
    "mask": ("boolean mask", lambda m, v: v[v > 1]),
    "masked_select": ("differently shaped", lambda m, v: v.masked_select(v > 1)),
    "requires_grad_": (r"requires_grad_\(\)", lambda m, v: v.requires_grad_()),
    "backward": ("functorch transform", lambda m, v: (v.sum().backward(), v)[1]),
    "in place": ("not possible because there exists a Tensor", lambda m, v: m.zeros(3).copy_(v)),
    "setitem": ("not possible because there exists a Tensor", lambda m, v: m.zeros(3).__setitem__(0, v[0])),
    "rand": ("randomness error mode", lambda m, v: m.rand(3)),
    "dropout": ("randomness error mode", lambda m, v: m.nn.functional.dropout(v)),
}  # fmt: skip


@pytest.mark.parametrize("body", BAD_BODIES)
def test_what_depends_on_the_elements_is_refused(m: ModuleType, body: str) -> None:
    text, function = BAD_BODIES[body]
    x = matrix(m)
    with pytest.raises(RuntimeError, match=text):
        m.vmap(lambda v: function(m, v))(x)
    assert m.vmap(m.sin)(x).shape == (2, 3)  # the level is gone


def test_copies_are_refused(m: ModuleType) -> None:
    with pytest.raises(NotImplementedError):
        m.vmap(copy.deepcopy)(matrix(m))


# -- what a function sees -----------------------------------------------------------------


def test_what_an_example_says_of_itself(m: ModuleType) -> None:
    seen: list[Any] = []

    def look(v: Any) -> Any:
        seen.append((tuple(v.shape), v.ndim, v.dtype is m.float32, v.stride(), len(v), v.is_contiguous()))
        return v

    m.vmap(look)(matrix(m))
    m.vmap(look, in_dims=1)(matrix(m))
    assert seen == [((3,), 1, True, (1,), 3, True), ((2,), 1, True, (3,), 2, False)]


def test_repr(m: ModuleType) -> None:
    seen: list[str] = []
    m.vmap(m.vmap(lambda v: (seen.append(repr(v)), v)[1]))(matrix(m))
    text = "BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0, value=\n        tensor("
    assert seen[0].startswith(text)


def test_type_promotion_looks_at_the_example(m: ModuleType) -> None:
    """A 0-d example does not promote others, though its value has a dimension."""
    scalars, vector = m.ones(2, dtype=m.float64), m.ones(3)
    assert m.vmap(lambda a: a + vector)(scalars).dtype is m.float32
    assert m.vmap(lambda a: a * m.ones(3, dtype=m.int64))(scalars).dtype is m.float64


def test_views_stay_views(m: ModuleType) -> None:
    x = matrix(m)
    m.vmap(lambda v: v[1:].mul_(10))(x)
    assert x.tolist() == [[0, 10, 20], [3, 40, 50]]
    m.vmap(lambda v: v.unsqueeze(0).t().fill_(7), in_dims=1)(x)
    assert x.tolist() == [[7] * 3] * 2


def test_indices(m: ModuleType) -> None:
    x = m.arange(24.0).reshape(2, 3, 4)
    i = m.tensor([[0, 2], [1, 1]])
    assert m.vmap(lambda v, j: v[j])(x, i).tolist() == m.stack([x[0][i[0]], x[1][i[1]]]).tolist()
    assert m.vmap(lambda v, j: v[:, j])(x, i).tolist() == m.stack([x[0][:, i[0]], x[1][:, i[1]]]).tolist()
    both = m.vmap(lambda v, j: v[None, j, :, m.tensor([0, 1])][..., 1:], in_dims=(None, 0))
    want = m.stack([x.unsqueeze(0)[None, j % 1, :, m.tensor([0, 1])][..., 1:] for j in i])
    assert both(x.unsqueeze(0), i % 1).tolist() == want.tolist()


def test_writes_at_indices(m: ModuleType) -> None:
    def write(v: Any, j: Any, values: Any) -> Any:
        out = v.clone()
        out[j] = values
        out[..., 0] = 9
        return out

    x, i, values = matrix(m), m.tensor([[0, 2], [1, 2]]), m.tensor([[10.0, 20.0], [30.0, 40.0]])
    assert m.vmap(write)(x, i, values).tolist() == [[9, 1, 20], [9, 30, 40]]
    with pytest.raises(RuntimeError, match="not possible because there exists a Tensor"):
        m.vmap(write, in_dims=(None, 0, None))(x[0], i, values[0])


def test_einsum_and_matmul(m: ModuleType) -> None:
    a, b = m.arange(12.0).reshape(2, 2, 3), m.arange(24.0).reshape(2, 3, 4)
    assert m.vmap(lambda p, q: m.einsum("ij,jk->ki", p, q))(a, b).tolist() == (a @ b).mT.tolist()
    assert m.vmap(m.matmul, in_dims=(None, 0))(a[0], b).tolist() == (a[0] @ b).tolist()
    assert m.vmap(m.dot)(a[0], a[1]).tolist() == (a[0] * a[1]).sum(1).tolist()


def test_a_tensor_that_escapes(m: ModuleType) -> None:
    kept: list[Any] = []
    m.vmap(lambda v: (kept.append(v), v)[1])(matrix(m))
    assert "BatchedTensor" in repr(kept[0]) and tuple(kept[0].shape) == (3,)
    with pytest.raises(RuntimeError, match="escaped"):
        kept[0] + 1
    other = m.zeros(2)
    view = other[1:]
    assert other.resize_(9).shape == (9,)  # memory that is moved asks whose it is, of all tensors there are
    assert view.tolist() == [0]


# -- randomness ---------------------------------------------------------------------------


def test_randomness(m: ModuleType) -> None:
    x = m.zeros(3, 4)
    same = m.vmap(lambda v: v + m.rand(4), randomness="same")(x)
    other = m.vmap(lambda v: v + m.rand(4), randomness="different")(x)
    assert same[0].tolist() == same[1].tolist() == same[2].tolist()
    assert other[0].tolist() != other[1].tolist()
    assert m.vmap(lambda v: v.clone().uniform_(), randomness="same")(x).unique(dim=0).shape == (1, 4)
    with pytest.raises(RuntimeError, match="different inplace randomness on an unbatched"):
        m.vmap(lambda v: m.zeros(4).uniform_(), randomness="different")(x)


# -- gradients ----------------------------------------------------------------------------


def test_gradients_pass_through(m: ModuleType) -> None:
    x = matrix(m).requires_grad_()
    w = m.ones(3, requires_grad=True)
    out = m.vmap(lambda v: (v * w).exp().sum(), in_dims=0)(x)
    found = m.autograd.grad(out.sum(), (x, w))
    assert m.allclose(found[0], x.detach().exp()) and m.allclose(found[1], (x * x.exp()).detach().sum(0))


def test_gradients_of_many(m: ModuleType) -> None:
    x = m.arange(1.0, 7.0).reshape(2, 3).requires_grad_()
    y = x.clone()
    y[0].mul_(x[1])
    z = (y.t()[1:].softmax(0) @ x).cumsum(0)
    each = m.eye(z.numel()).reshape(z.numel(), *z.shape)
    (found,) = m.autograd.grad(z, x, each, is_grads_batched=True, retain_graph=True)
    one_by_one = [m.autograd.grad(z, x, g, retain_graph=True)[0] for g in each]
    assert m.allclose(found, m.stack(one_by_one))
    missing = m.autograd.grad(
        z, (x, m.ones(1, requires_grad=True)), each, is_grads_batched=True, allow_unused=True
    )
    assert missing[1] is None
    with pytest.raises(RuntimeError, match="is_grads_batched=True"):
        m.autograd.grad(x * 2, x, m.ones(2, 3), is_grads_batched=True)


def test_gradients_of_many_have_gradients(m: ModuleType) -> None:
    x = m.tensor([1.0, 2.0], requires_grad=True)
    (jacobian,) = m.autograd.grad(x**3, x, m.eye(2), is_grads_batched=True, create_graph=True)
    assert m.autograd.grad(jacobian.sum(), x)[0].tolist() == [6.0, 12.0]


# -- custom functions ---------------------------------------------------------------------


def cube(m: ModuleType, **attributes: Any) -> Any:
    class Cube(m.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x**3 * y, x + 1

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.power = 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * ctx.power * x**2 * y + h, g * x**3

    for name, value in attributes.items():
        setattr(Cube, name, value)
    return Cube


@pytest.mark.parametrize("in_dims", [(0, None), (1, 0), (0, 1)])
def test_a_rule_that_is_made(m: ModuleType, in_dims: Any) -> None:
    function = cube(m, generate_vmap_rule=True)
    x = matrix(m).requires_grad_()
    y = m.arange(1.0, 4.0) if in_dims[1] is None or in_dims == (1, 0) else m.arange(1.0, 7.0).reshape(3, 2)
    y.requires_grad_()
    plain = m.vmap(lambda a, b: (a**3 * b, a + 1), in_dims=in_dims)(x, y)
    made = m.vmap(function.apply, in_dims=in_dims)(x, y)
    for a, b in zip(made, plain, strict=True):
        assert m.allclose(a, b)
    wanted = m.autograd.grad((plain[0] * 2 + plain[1].sum()).sum(), (x, y))
    for a, b in zip(m.autograd.grad((made[0] * 2 + made[1].sum()).sum(), (x, y)), wanted, strict=True):
        assert m.allclose(a, b)
    nested = m.vmap(m.vmap(function.apply), in_dims=(0, None))(x, m.arange(1.0, 4.0))
    assert m.allclose(nested[0], x**3 * m.arange(1.0, 4.0))


def test_a_rule_of_its_own(m: ModuleType) -> None:
    told: list[Any] = []

    def rule(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
        told.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
        return function.apply(x, y), (0, 0)

    function = cube(m, vmap=staticmethod(rule))
    x = matrix(m)
    found = m.vmap(function.apply, in_dims=(0, None), randomness="same")(x, m.ones(3))
    assert found[1].tolist() == (x + 1).tolist() and told == [(2, "same", (0, None), (2, 3))]


def test_functions_without_a_rule(m: ModuleType) -> None:
    x = matrix(m)
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        m.vmap(cube(m).apply)(x, x)
    both = cube(m, generate_vmap_rule=True, vmap=staticmethod(lambda *args: None))
    with pytest.raises(RuntimeError, match="both generate_vmap_rule=True"):
        m.vmap(both.apply)(x, x)


# -- tengen alone -------------------------------------------------------------------------


def test_threads_do_not_see_each_others_levels() -> None:
    found: list[Any] = []
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        inside.wait(10)
        found.append((tengen.ones(3) * 2).tolist())
        done.set()

    thread = threading.Thread(target=other)
    thread.start()

    def body(v: tengen.Tensor) -> tengen.Tensor:
        inside.set()
        assert done.wait(10)
        return v * 2

    assert tengen.vmap(body)(tengen.ones(2, 3)).tolist() == [[2.0] * 3] * 2
    thread.join()
    assert found == [[2.0] * 3]


def test_out_goes_into_each_example() -> None:
    x = tengen.arange(6.0).reshape(2, 3)

    def body(v: tengen.Tensor) -> tengen.Tensor:
        out = tengen.zeros_like(v)
        assert tengen.add(v, v, out=out) is out
        return out

    assert tengen.vmap(body)(x).tolist() == (x * 2).tolist()
    with pytest.raises(RuntimeError, match="not resized"):
        tengen.vmap(lambda v: tengen.add(v, v, out=tengen.zeros_like(v[:1])))(x)
    with pytest.raises(RuntimeError, match="not possible"):
        tengen.vmap(lambda v: tengen.add(v, v, out=tengen.zeros(3)))(x)


def test_of_several_out_all_fit_or_none_is_written() -> None:
    x = tengen.arange(6.0).reshape(2, 3)

    def body(v: tengen.Tensor) -> tengen.Tensor:
        values, places = v.sum() * 0 - 1, (v.sum() * 0).bool()
        with pytest.raises(RuntimeError, match="can't be cast to"):
            tengen.max(v, 0, out=(values, places))
        with pytest.raises(RuntimeError, match="not resized"):
            tengen.max(v, 0, out=(values, v.long()))
        return values

    assert tengen.vmap(body)(x).tolist() == [-1, -1]


@pytest.mark.parametrize("extra", [(1, 3), (1, 1, 3), (2, 3)], ids=str)
def test_what_is_written_keeps_its_shape(extra: tuple[int, ...]) -> None:
    """An operand of more dimensions does not fit, even of size 1."""
    x, wide = tengen.zeros(4, 3), tengen.ones(extra)
    for write in ("add_", "mul_", "div_"):
        with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape"):
            tengen.vmap(lambda v, write=write: getattr(v, write)(wide))(x)
    assert x.tolist() == tengen.zeros(4, 3).tolist()


@pytest.mark.parametrize("size", [(-1,), (-1, 2), (2, -1), (1, -1, 4)], ids=str)
def test_sizes_are_inferred_of_one_example(size: tuple[int, ...]) -> None:
    """Also where there is none."""
    for n in (0, 1, 3):
        x = tengen.arange(4.0 * n).reshape(n, 4)
        expected = tengen.zeros(4).reshape(size).shape
        for function in (lambda v: v.view(size), lambda v: v.reshape(size), lambda v: v.t().reshape(size)):
            assert tengen.vmap(function)(x).shape == (n, *expected)


def test_no_examples_at_all() -> None:
    """Operators that are run for one example after the other too: their results' shapes are known."""
    assert tengen.vmap(lambda v: v.sum() + v)(tengen.zeros(0, 3)).shape == (0, 3)
    with pytest.warns(UserWarning, match="performance drop"):
        assert tengen.vmap(lambda v: v.histc(5))(tengen.zeros(0, 3)).shape == (0, 5)


def test_promotion_in_where_looks_at_the_example() -> None:
    found = tengen.vmap(lambda a: tengen.where(a > 0, a, tengen.zeros(3)))(
        tengen.ones(2, dtype=tengen.float64)
    )
    assert found.dtype is tengen.float32 and found.tolist() == [[1.0] * 3] * 2


def test_shapes_change_in_place() -> None:
    def body(v: tengen.Tensor) -> tengen.Tensor:
        w = v.clone()
        assert w.unsqueeze_(0).t_().transpose_(0, 1).shape == (1, 3) and w.squeeze_().shape == (3,)
        return w

    x = tengen.arange(6.0).reshape(2, 3)
    assert tengen.vmap(body)(x).tolist() == tengen.vmap(body, in_dims=1)(x.t()).tolist() == x.tolist()


def test_running_statistics_of_each_example() -> None:
    x, mean, var = tengen.randn(2, 4, 3), tengen.zeros(2, 3), tengen.ones(2, 3)

    def norm(v: tengen.Tensor, a: tengen.Tensor, b: tengen.Tensor) -> tengen.Tensor:
        return tengen.nn.functional.batch_norm(v, a, b, training=True)

    found = tengen.vmap(norm)(x, mean, var)
    for i in range(2):
        a, b = tengen.zeros(3), tengen.ones(3)
        # Elements near the mean have the rounding of the subtraction, which is that of numbers near 1.
        assert tengen.allclose(found[i], norm(x[i], a, b), atol=16 * tengen.finfo(tengen.float32).eps)
        assert tengen.allclose(mean[i], a) and tengen.allclose(var[i], b)


def test_debug_unwrap(m: ModuleType) -> None:
    seen = []

    def inner(y: Any) -> Any:
        seen.append(m.func.debug_unwrap(y))
        seen.append(m.func.debug_unwrap(m.func.debug_unwrap(y, recurse=False), recurse=False))
        return y

    x = m.arange(24.0).reshape(2, 3, 4)
    m.func.vmap(lambda y: m.func.vmap(inner, in_dims=1)(y))(x)
    assert [t.shape for t in seen] == [(2, 3, 4)] * 2
    assert [t.tolist() for t in seen] == [x.tolist()] * 2
    assert m.func.debug_unwrap(x) is x
