"""Indices under ``vmap``: any part of an index, the tensor and the value may be of examples, or of none.

What ``vmap`` gives is what the function gives of one example after the other, in tengen and in torch.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import tengen

EXAMPLES = 3

#: Parts: ``i``, ``j`` are another number in each example, ``t`` another list; ``u``, ``k``, ``mask`` not.
INDICES = [
    "i", ":,i", "...,i", "i,...", "i,j", "i,:,j", "i,None", "None,i", "i,None,j", "i,2:,j", "i,...,j",
    "i,j,i", "i,1", "1,i", "1,:,i", "k,i", "i,k", "i,:,k", "i,t", "t,i", ":,i,t", ":,t,i", "t,:,i", "i,u",
    "u,i", "u,:,i", ":,i,u", "i,[0,1]", "[0,1],i", "mask,i", "mask,:,i", "True,i", "i,True", "False,i",
    "i.int()", "t", ":,t", "t,t", "t,:,t", "t,None,j", "t[:,None],t", "u,t", "mask,t",
]  # fmt: skip
#: Where an index of numbers stands apart from another one, torch puts the dimensions of that in front.
APART = ["i,:,t", "i,:,u", "i,:,[0,1]", "i,::2,t", "i,None,t"]


def made(m: ModuleType) -> dict[str, Any]:
    """The tensor and the parts of indices."""
    return {
        "x": m.arange(3 * 4 * 5 * 6, dtype=m.float64).reshape(3, 4, 5, 6),
        "i": m.tensor([0, 2, -1]),
        "j": m.tensor([1, 0, 3]),
        "t": m.tensor([[0, 1], [1, 2], [3, -1]]),
        "v": m.tensor([7.0, 8.0, 9.0], dtype=m.float64),
    }


def key(m: ModuleType, text: str, parts: dict[str, Any]) -> Any:
    """The index that is written ``x[text]``."""
    shared = {"u": m.tensor([0, 2]), "k": m.tensor(2), "mask": m.tensor([True, False, True, False])}

    class Getter:
        def __getitem__(self, index: Any) -> Any:
            return index

    return eval(f"key[{text}]", {"key": Getter(), **shared, **parts})


def by_vmap_and_by_loop(m: ModuleType, function: Any, columns: dict[str, Any]) -> tuple[Any, Any]:
    """All at once, and one example after the other."""
    names = list(columns)
    together = m.vmap(lambda *row: function(dict(zip(names, row, strict=True))))(*columns.values())
    single = [function({name: column[n] for name, column in columns.items()}) for n in range(EXAMPLES)]
    return together, m.stack(single)


def same(m: ModuleType, function: Any, columns: dict[str, Any]) -> bool:
    together, single = by_vmap_and_by_loop(m, function, columns)
    return together.shape == single.shape and together.tolist() == single.tolist()


#: Writes of tensors that torch does not find to fit.
UNFIT = [":,i,t", ":,t,i", ":,i,u", ":,t"]


def skip_what_torch_does_not(m: ModuleType, index: str, value: str = "") -> None:
    if m.__name__ == "torch" and index in APART:
        pytest.skip("torch puts the dimensions of the other index in front")
    if m.__name__ == "torch" and index in UNFIT and value in ("shared", "own"):
        pytest.skip("torch lays the value out as if the index came first")


@pytest.mark.parametrize("index", [*INDICES, *APART])
@pytest.mark.parametrize("own", [True, False], ids=["x", "shared"])
def test_reading(m: ModuleType, index: str, own: bool) -> None:
    """The tensor is of the examples, or is the same for all."""
    skip_what_torch_does_not(m, index)
    columns = made(m)
    x = columns.pop("x")
    if own:
        columns["x"] = x
    assert same(m, lambda row: (row.get("x", x[0]))[key(m, index, row)], columns)


@pytest.mark.parametrize("index", [*INDICES, *APART])
@pytest.mark.parametrize("value", ["number", "own number", "shared", "own"])
def test_writing(m: ModuleType, index: str, value: str) -> None:
    """The value is a number, or a tensor of each example's own, or the same for all, of the index's shape."""
    skip_what_torch_does_not(m, index, value)

    def write(row: dict[str, Any]) -> Any:
        x, at = row["x"].clone(), key(m, index, row)
        shape = x[at].shape
        ramp = m.arange(float(shape.numel()), dtype=m.float64).reshape(shape)
        values = {"number": 9, "own number": row["v"], "shared": -ramp, "own": ramp * row["v"]}
        if (
            "t" in index or index == "i,j,i"
        ):  # numbers that may be twice in an index: which is last is not said
            values |= {"shared": m.ones_like(ramp), "own": m.ones_like(ramp) * row["v"]}
        x[at] = values[value]
        return x

    assert same(m, write, made(m))


def test_gradients_of_what_is_read_and_written() -> None:
    m = tengen

    def loss(x: Any, i: Any) -> Any:
        y = x.clone()
        y[i, 0] = x[i, 1] * x[:, i].sum()
        return (y * y).sum()

    x, i = m.arange(12.0).reshape(3, 2, 2), m.tensor([0, 1, -1])
    together = m.vmap(m.func.grad(loss))(x, i)
    assert together.tolist() == [m.func.grad(loss)(x[n], i[n]).tolist() for n in range(3)]
    tangents = m.vmap(lambda v, k: m.func.jvp(lambda w: loss(w, k), (v,), (m.ones(2, 2),))[1])(x, i)
    assert m.allclose(tangents, together.sum((1, 2)))


def test_levels_of_vmap(m: ModuleType) -> None:
    x, i, j = m.arange(24.0).reshape(2, 3, 4), m.tensor([0, -1]), m.tensor([1, 3, 0])
    found = m.vmap(lambda row, a: m.vmap(lambda b: row[a, b])(j))(x, i)
    assert found.tolist() == x[m.arange(2)[:, None], i[:, None], j].tolist()


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ("b", IndexError), (":,b", IndexError), ("b,t", IndexError), ("i,i,i,i", IndexError),
        ("i:", RuntimeError), (":i", RuntimeError), ("::i", RuntimeError), ("m", RuntimeError),
        ("i > 0", RuntimeError), ("f", IndexError),
    ],
)  # fmt: skip
def test_errors(m: ModuleType, index: str, error: type[Exception]) -> None:
    """Out of range in one example, slices and masks of each example's own, too many, and floats."""
    columns = made(m) | {"b": m.tensor([0, 1, 7]), "f": m.tensor([0.0, 1.0, 2.0])}
    columns["m"] = m.tensor([[True, False, True, False]] * 2 + [[True] * 4])
    with pytest.raises(error):
        by_vmap_and_by_loop(m, lambda row: row["x"][key(m, index, row)], columns)

    def write(row: dict[str, Any]) -> Any:
        x = row["x"].clone()
        x[key(m, index, row)] = row["v"].reshape(1)
        return x

    with pytest.raises(error):
        by_vmap_and_by_loop(m, write, columns)


def test_what_no_example_owns_is_not_written_to(m: ModuleType) -> None:
    x = m.zeros(4)

    def write(i: Any) -> Any:
        x[i] = 1
        return x

    with pytest.raises(RuntimeError, match="not possible because there exists a Tensor"):
        m.vmap(write)(m.tensor([0, 1]))
    assert x.tolist() == [0.0] * 4
