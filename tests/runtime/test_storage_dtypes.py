"""Dtypes that hold numbers and compute little: what tensors of them do, and refuse, as in PyTorch."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pytest

import tengen

DTYPES = [
    d.name
    for d in dict.fromkeys(tengen.dtype.registry.values())
    if d.category in ("float8", "reduced_complex")
]

SAVED = "(lambda b: (m.save({'a': x}, b), b.seek(0), m.load(b, weights_only=True))[2]['a'])(io.BytesIO())"
GRADIENT = (
    "(lambda r, t: (r.backward(m.ones_like(r)), q(t.grad))[1])(*(lambda t: (%s, t))(x.requires_grad_()))"
)
META = "m.empty(2, 2, dtype=d, device='meta')"
EXPRESSIONS = [
    # making
    "q(m.tensor([1., 2.5, -3.], dtype=d))",
    "q(m.tensor([True, False], dtype=d))",
    "q(m.tensor([1000], dtype=d))",
    "q(m.tensor([1e9, float('inf'), float('nan')], dtype=d))",
    "q(m.tensor(np.array([1, 2]), dtype=d))",
    "q(m.as_tensor([1., 2.], dtype=d))",
    "q(m.asarray(x))",
    "q(m.frombuffer(bytearray(range(4)), dtype=d))",
    "q(m.zeros(2, dtype=d))",
    "q(m.ones(2, dtype=d))",
    "q(m.full((2,), 3, dtype=d))",
    "q(m.eye(3, dtype=d))",
    "q(m.full((2,), 449.0, dtype=d))",
    "q(m.full((2,), -2.5, dtype=d))",
    "q(m.full((2,), float('inf'), dtype=d))",
    "q(m.zeros_like(x))",
    "q(m.ones_like(x))",
    "q(m.full_like(x, 3))",
    "q(x.new_tensor([1.]))",
    "q(x.new_full((2,), 3))",
    "m.empty(2, 3, dtype=d).shape",
    "m.arange(3, dtype=d)",
    "m.linspace(0, 1, 3, dtype=d)",
    # moving, and other dtypes
    "q(x.T)",
    "q(x.T.float())",
    "q(x.expand(3, 2, 2).half())",
    "q(x[:, ::2].double())",
    "q(x.T.clone())",
    "q(x.T.contiguous())",
    "q(x[[1, 0]])",
    "q(x[x == 2])",
    "q(x.roll(1))",
    "q(x.repeat(2, 2))",
    "q(m.cat([x, x]))",
    "q(m.stack([x, x]))",
    "q(x.index_select(0, m.tensor([1, 0])))",
    "q(m.where(x == 2, x, x.T))",
    "q(x.long())",
    "q(x.masked_select(x == 2))",
    "q(x.to(m.complex64))",
    "q(m.zeros(2, 2).copy_(x))",
    "q(x.copy_(m.ones(2)))",
    "q(m.zeros(2, 2, dtype=m.int32).copy_(x))",
    "q(x.fill_(2))",
    "q(x.zero_())",
    "q(x.fill_(m.tensor(2.3)))",
    "q((x.__setitem__((0, 0), 1e9), x)[1])",
    "q((x.__setitem__(0, m.tensor([3., 4.])), x)[1])",
    "m.cat([x, x.float()])",
    "q(x.view(m.uint8))",
    "q(x.view(m.int16))",
    "q(x.view(m.uint8).view(d))",
    "x.tolist()",
    "x[0, 1].item()",
    "float(x[0, 0]), int(x[0, 1]), bool(x[0, 0]), complex(x[0, 0])",
    "str(x)",
    "f'{x[0, 0]:.2f}'",
    "x.element_size(), x.nbytes, x.type()",
    "x.__dlpack_device__()",
    "q(m.from_dlpack(x))",
    "q(m.utils.dlpack.from_dlpack(m.utils.dlpack.to_dlpack(x)))",
    f"q({SAVED})",
    "q(copy.deepcopy(x))",
    # comparing
    "x == x.T",
    "x != x.T",
    "x == 2",
    "x == 2.3",
    "x == x.float()",
    "x < x",
    "x.isnan()",
    "x.all(), x.any(0)",
    "m.promote_types(d, m.float32)",
    "m.result_type(x, 1), m.result_type(x, 1.5)",
    "m.result_type(x, 1j)",
    "m.can_cast(d, m.float32), m.can_cast(m.float32, d), m.can_cast(d, m.int8), m.can_cast(m.complex64, d)",
    # computing
    "q(x * x)",
    "q(x.abs())",
    "q(x @ x)",
    "q(m.addmm(x, x, x))",
    "x + x",
    "x + 1",
    "x - x",
    "-x",
    "x / 2",
    "x * 2",
    "m.ones(2, 2) + x",
    "x.sum()",
    "x.mean()",
    "x.max()",
    "x.argmax()",
    "x.sort()",
    "x.sqrt()",
    "x.square()",
    "x.softmax(0)",
    "x.clamp(0, 1)",
    "x.cumsum(0)",
    "x.tril()",
    "x.unique()",
    "x.gather(0, m.tensor([[0, 1]]))",
    "m.bmm(x[None], x[None])",
    "m.nn.functional.relu(x)",
    "m.allclose(x, x)",
    "m.ones(2).sum(dtype=d)",
    "m.ones(2).mean(dtype=d)",
    "m.ones(2).cumsum(0, dtype=d)",
    "m.tensor([1, 2]).sum(dtype=d)",
    # random numbers
    "m.rand(3, dtype=d)",
    "m.randn(3, dtype=d)",
    "m.randint(0, 3, (3,), dtype=d)",
    "x.uniform_()",
    "x.normal_()",
    "x.random_()",
    "x.bernoulli_()",
    # gradients
    GRADIENT % "t.float() * 2",
    GRADIENT % "t.half()",
    GRADIENT % "t[0]",
    GRADIENT % "t.clone()",
    GRADIENT.replace("x.req", "m.ones(3).req") % "t.to(d).float()",
    # no data
    f"s({META})",
    f"s({META}.float())",
    f"s({META}.clone())",
    f"s({META} * {META})",
    f"s({META} == 1)",
    # the dtype itself
    "m.set_default_dtype(d)",
    "m.iinfo(d)",
    "d.to_complex()",
    "d.abbr",
]


#: What gives random complex32 numbers, or refuses them with another error than PyTorch.
OTHERWISE = {
    "complex32": ["rand", "randn", "randint", "uniform_", "normal_", "argmax", "sort"],
}


def outcome(library: Any, name: str, expression: str) -> Any:
    """What an expression gives: dtype, shape, strides and numbers of a tensor; or the class of its error."""

    def layout(t: Any) -> Any:
        return str(t.dtype).partition(".")[2], tuple(t.shape), t.stride()

    def described(t: Any) -> Any:
        return *layout(t), repr(t.detach().to(library.complex128).tolist())

    kind = getattr(library, name)
    x = library.tensor([[1.0, 2.0], [3.0, 0.5]]).to(kind)
    names = {"m": library, "d": kind, "x": x, "q": described, "s": layout, "io": io, "np": np, "copy": copy}
    try:
        found = eval(expression, names)
    except Exception as error:
        return next(c for c in (NotImplementedError, type(error)) if isinstance(error, c))
    return str(found).replace("torch.", "tengen.")


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DTYPES)
def test_as_in_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    left_out = tuple(f".{word}(" for word in OTHERWISE.get(name, ()))
    for expression in [e for e in EXPRESSIONS if not any(word in e for word in left_out)]:
        assert outcome(tengen, name, expression) == outcome(torch, name, expression), expression


@pytest.mark.parametrize("name", DTYPES)
def test_round_trips(name: str) -> None:
    """Every number is the same after a copy, a pickle, DLPack and a view."""
    kind = getattr(tengen, name)
    codes = tengen.arange(256 * kind.itemsize, dtype=tengen.int64).to(tengen.uint8)
    x = codes.view(kind)
    for other in (
        x.clone(),
        copy.deepcopy(x),
        pickle.loads(pickle.dumps(x)),
        tengen.from_dlpack(x),
        tengen.from_numpy(x.numpy()),
        tengen.tensor(x.numpy()),
        tengen.cat([x[:100], x[100:]]),
        x.reshape(16, 16).T.contiguous().T.reshape(256),
    ):
        assert other.dtype is kind and other.view(tengen.uint8).equal(codes)


@pytest.mark.parametrize("name", DTYPES)
def test_what_is_refused_says_so(name: str) -> None:
    kind = getattr(tengen, name)
    x = tengen.ones(2, dtype=kind)
    with pytest.raises(NotImplementedError, match=rf'"sin" not implemented for \'{kind.type_name}\''):
        x.sin()
    with pytest.raises(RuntimeError, match=rf"Promotion for .*{kind.type_name} and UInt16"):
        x + tengen.ones(2, dtype=tengen.uint16)
    with pytest.raises(NotImplementedError, match=r"sum.*not computed in"):
        tengen.ones(2).sum(dtype=kind)
    with pytest.raises(RuntimeError, match=r"full.*without overflow"):
        tengen.full((2,), 1e39, dtype=kind)


FLOAT8 = [name for name in DTYPES if getattr(tengen, name).category == "float8"]
NUMBERS = [float("inf"), float("-inf"), float("nan"), 1e300, -1e39, 1e6, 480.0, 449.0, -1.0, 0.0]
FILLED = {
    "full": lambda m, n, kind: m.full((1,), n, dtype=kind),
    "scalar_tensor": lambda m, n, kind: m.scalar_tensor(n, dtype=kind),
    "new_full": lambda m, n, kind: m.ones(1).new_full((1, 1), n, dtype=kind),
    "full_like": lambda m, n, kind: m.full_like(m.ones(1), n, dtype=kind),
    "fill_": lambda m, n, kind: m.empty((), dtype=kind).fill_(n),
}


@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize("function", FILLED)
def test_one_element_is_filled_as_by_a_cast(name: str, function: str) -> None:
    kind = getattr(tengen, name)
    for number in NUMBERS:
        found = FILLED[function](tengen, number, kind)
        cast = tengen.tensor([number], dtype=tengen.float64).to(kind)
        assert found.dtype is kind and found.view(tengen.uint8).item() == cast.view(tengen.uint8).item(), (
            number
        )


@pytest.mark.oracle
@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize("function", FILLED)
def test_torch_fills_one_element_so(name: str, function: str) -> None:
    torch = pytest.importorskip("torch")
    for number in NUMBERS:
        found, expected = (FILLED[function](m, number, getattr(m, name)) for m in (tengen, torch))
        assert found.view(tengen.uint8).item() == expected.view(torch.uint8).item(), number
