"""What ``save`` writes loads again: every kind of data, in every protocol, and is of use then."""

from __future__ import annotations

import io
import math
import pickle
from collections import OrderedDict, defaultdict, namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import jit
from tengen.jit.functionalize import functionalized

PROTOCOLS = (2, 3, 4, 5)
DTYPES = [d for name, d in tengen.dtype.registry.items() if name == d.name]


def again(value: Any, protocol: int = 4, **options: Any) -> Any:
    """What comes back out of a file."""
    file = io.BytesIO()
    tengen.save(value, file, pickle_protocol=protocol)
    file.seek(0)
    return tengen.load(file, **options)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_of_every_dtype(dtype: Any, protocol: int) -> None:
    x = tengen.tensor([[1, 0, 3], [4, 0, 6]]).to(dtype)
    for y in (x, x.t(), x[1:, ::2], x[0, 0], x[:0], x[:, :1].expand(2, 3), x.to("meta")):
        z = again(y, protocol)
        assert z.dtype is dtype and z.shape == y.shape and z.stride() == y.stride() and z.device == y.device
        assert y.is_meta or (z.tolist() == y.tolist() and z.storage_offset() == y.storage_offset())
        assert z.untyped_storage().nbytes() == y.untyped_storage().nbytes()


VALUES = [
    [None, True, False, 0, 255, 256, -1, 1 << 31, 1 << 63, -(1 << 2000), 1.5, -0.0, math.inf, 1 - 2j],
    ["", "ä€𝄞", "\ud800", "x" * 300, b"", b"ab\xff", b"x" * 300, bytearray(), bytearray(b"ab\xff")],
    [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [[]], {}, {"a": {"b": {}}}],
    [set(), {1, "a", (2, 3)}, frozenset(), frozenset({1, frozenset({2})})],
    {1: "int", "a": "str", (1, "a"): "tuple", None: 0, b"b": 1, 1.5: 2, tengen.float32: 3},
    [OrderedDict(b=1, a=OrderedDict()), defaultdict(None, a=1), defaultdict(OrderedDict, a=OrderedDict())],
    [tengen.Size([2, 0]), tengen.Size([]), tengen.device("cpu"), tengen.device("meta", 1), *DTYPES],
    [
        np.float32(1.5),
        np.int8(-1),
        np.bool_(True),
        np.complex128(1j),
        np.str_("ab"),
        np.bytes_(b"ab"),
        np.float16(2),
    ],
    [np.dtype("f4"), np.dtype(">i8"), np.dtype("U5"), np.dtype("?")],
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("number", range(len(VALUES)))
def test_numbers_strings_and_containers(number: int, protocol: int) -> None:
    value = VALUES[number]
    found = again(value, protocol)
    assert found == value and repr(found) == repr(value)


ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.arange(6.0).reshape(2, 3).T,
    np.arange(6)[::2],
    np.array(3.5),
    np.zeros((0, 3)),
    np.arange(3, dtype=">i2"),
    np.array([True, False]),
    np.array(["ab", "c", ""]),
    np.array([b"ab", b"c"]),
    np.array([1j], np.complex64),
    np.arange(100, dtype=np.uint16),
    np.asfortranarray(np.ones((3, 4, 5))),
    np.zeros((2, 0), "U0"),
    np.array([1.5], np.longdouble),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("number", range(len(ARRAYS)))
def test_arrays(number: int, protocol: int) -> None:
    array = ARRAYS[number]
    found = again(array, protocol)
    expected = pickle.loads(pickle.dumps(array, protocol))  # which gives bytes the machine's order
    assert found.dtype == expected.dtype and found.shape == array.shape and np.array_equal(found, array)
    assert found.strides == expected.strides and found.flags.writeable
    if found.size:
        found[(0,) * found.ndim] = found[(-1,) * found.ndim]


def test_what_contains_itself() -> None:
    own: Any = [1]
    own += [own, (own, 2), {"own": own}]
    for protocol in PROTOCOLS:
        found = again(own, protocol)
        assert found[1] is found and found[2][0] is found and found[3]["own"] is found
    both: Any = ([],)
    both[0].append(both)
    found = again(both)
    assert found[0][0] is found


def test_as_deep_as_it_was_written() -> None:
    deep: Any = 0
    for _ in range(250):
        deep = [deep]
    found = again(deep)
    for _ in range(250):
        (found,) = found
    assert found == 0


@pytest.mark.parametrize(
    "name",
    ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "NAdam", "RAdam", "ASGD", "Rprop", "LBFGS"],
)
def test_states_of_optimisers(name: str) -> None:
    def made(start: Any) -> tuple[Any, Any]:
        weight = start.clone().requires_grad_()
        return weight, getattr(tengen.optim, name)([weight], lr=0.05)

    def step(weight: Any, optimiser: Any) -> None:
        def closure() -> Any:
            optimiser.zero_grad()
            loss = (weight - 3).square().sum()
            loss.backward()
            return loss

        optimiser.step(closure)

    weight, optimiser = made(tengen.tensor([1.0, 2.0]))
    step(weight, optimiser)
    saved = again({"weight": weight.detach(), "state": optimiser.state_dict()})
    other, loaded = made(saved["weight"])
    loaded.load_state_dict(saved["state"])
    for _ in range(3):
        step(weight, optimiser)
        step(other, loaded)
    assert other.tolist() == weight.tolist()


def test_attributes_of_dicts_and_tensors() -> None:
    state = OrderedDict(a=tengen.ones(2))
    state._metadata = {"version": 1}  # type: ignore[attr-defined]
    state["a"].note = [state["a"][0]]
    for protocol in PROTOCOLS:
        found = again(state, protocol)
        assert found._metadata == {"version": 1} and found["a"].note[0].item() == 1.0
        found["a"][0] = 5.0
        assert found["a"].note[0].item() == 5.0


def test_paths_and_streams(tmp_path: Path) -> None:
    """Paths of both kinds, open files, streams with ``read`` alone, and what stands before the archive."""
    large = tengen.arange(600_000.0)
    for path in (tmp_path / "a.pt", str(tmp_path / "b.tar.gz")):
        tengen.save([large, large[:2]], path)
        whole, head = tengen.load(path)
        head[0] = 7.0
        assert whole[0].item() == 7.0 and whole[1:].equal(large[1:])

    class Few:
        """Gives few bytes at a time, and has no readinto."""

        def __init__(self, data: bytes) -> None:
            self.file = io.BytesIO(data)
            self.seek, self.tell = self.file.seek, self.file.tell

        def read(self, size: int = -1) -> bytes:
            return self.file.read(min(size, 100_000) if size >= 0 else -1)

    file = io.BytesIO()
    file.write(b"what stands before")
    tengen.save(large, file)
    file.seek(len(b"what stands before"))
    assert tengen.load(file).equal(large)
    assert tengen.load(Few((tmp_path / "a.pt").read_bytes()))[0].equal(large)  # type: ignore[arg-type]


def test_to_pipes_and_not_from_them() -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.data += bytes(data)
            return len(bytes(data))

    pipe = Pipe()
    tengen.save([tengen.arange(3.0)], pipe)  # type: ignore[arg-type]
    assert tengen.load(io.BytesIO(pipe.data))[0].tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(AttributeError, match=r"read it into an io.BytesIO first \(Pipe"):
        tengen.load(pipe)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="must be a path or have a method write: int"):
        tengen.save(1, 2)  # type: ignore[arg-type]


# -- on another device -----------------------------------------------------------------------

Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize("weights_only", [True, False])
def test_tensors_move_wherever_they_are(weights_only: bool) -> None:
    x = tengen.arange(6.0).reshape(2, 3).requires_grad_()
    value: dict[Any, Any] = {
        "tuple": (x, [x.detach().t()], (1, (x.detach()[1:],))),
        "dict": OrderedDict(a={"b": x}),
        "bytes": b"x",
        "default": defaultdict(None, a=x),
        "device": tengen.device("cpu"),
    }
    if not weights_only:
        value["pair"] = Pair(x, [x])
    value["own"] = value
    found = again(value, map_location="meta", weights_only=weights_only)
    first, (transposed,), (_, (row,)) = found["tuple"]
    assert first.is_meta and first.requires_grad and first.is_leaf and found["dict"]["a"]["b"] is first
    assert transposed.is_meta and transposed.stride() == (1, 3) and row.storage_offset() == 3
    assert first.untyped_storage() is row.untyped_storage() is transposed.untyped_storage()
    assert (
        found["default"]["a"] is first and found["own"] is found and found["device"] == tengen.device("cpu")
    )
    assert weights_only or (
        type(found["pair"]) is Pair and found["pair"].first is found["pair"].second[0] is first
    )


def test_shared_memory_is_shared_on_the_device() -> None:
    x = tengen.zeros(4)
    a, (b,) = again((x[:3], (x[1:],)), map_location="cpu")
    a[1] = 5.0
    assert b.tolist() == [5.0, 0.0, 0.0] and b._version == 1


def test_what_has_no_data_stays_where_it_is() -> None:
    """As in PyTorch: there is nothing that could go anywhere."""
    assert again(tengen.ones(2, device="meta"), map_location="cpu").is_meta
    with pytest.raises(RuntimeError, match="tpu"):
        again(tengen.ones(2), map_location="tpu")


# -- and then used ---------------------------------------------------------------------------


def test_loaded_tensors_are_tensors_like_others() -> None:
    x = tengen.arange(6.0).reshape(2, 3)
    w = tengen.ones(3, 2, requires_grad=True)
    a, (b, bias) = again([x.t(), (w, tengen.zeros(2))])
    loss = (a.t() @ b + bias).square().sum()
    loss.backward()
    expected = tengen.autograd.grad((x @ w).square().sum(), w)[0]
    assert b.grad.tolist() == expected.tolist() and b.grad is not None
    with tengen.no_grad():
        b -= 0.1 * b.grad
    assert b._version == 1 and b.tolist() == (w.detach() - 0.1 * expected).tolist()
    view = a[1:]
    a.mul_(2)
    assert view.tolist() == (2 * x.t()[1:]).tolist() and view._version == 1
    a.requires_grad_()
    saved = a.square()
    with tengen.no_grad():
        view.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.sum().backward()
    assert tengen.func.grad(lambda t: (t * t).sum())(b.detach()).tolist() == (2 * b).tolist()
    assert tengen.func.vmap(lambda row: row.sum())(a.detach()).tolist() == a.sum(1).tolist()


def writes(x: Any, w: Any) -> Any:
    y = x.clone()
    y[:, 0].mul_(3)
    z = y.t()
    z.add_(w)
    return y.relu().sum(0), [z[0]]


def test_a_loaded_graph_can_be_differentiated_and_functionalised() -> None:
    x, w = tengen.arange(6.0).reshape(3, 2) - 2, tengen.tensor([1.0, 2.0, 3.0])
    traced = jit.trace(writes, (x, w))
    file = io.BytesIO()
    traced.save(file)
    found = jit.load(io.BytesIO(file.getvalue()))
    for one, other in ((traced, found), (found, traced)):
        assert [t.tolist() for t in tengen.utils.pytree.tree_leaves(one(x, w))] == [
            t.tolist() for t in tengen.utils.pytree.tree_leaves(other(x, w))
        ]
    flat, expected = (functionalized(f.graph, (x, w)) for f in (found, traced))
    assert str(flat) == str(expected) and not any(n.operator.base for n in flat.walk())
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    found(a, w)[0].sum().backward()
    writes(b, w)[0].sum().backward()
    assert a.grad.tolist() == b.grad.tolist()
    meta = jit.load(io.BytesIO(file.getvalue()), map_location="meta")
    assert meta(x.to("meta"), w.to("meta"))[0].shape == (2,)
