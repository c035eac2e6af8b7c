"""Traced functions as files: ``jit.save`` and ``jit.load``."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tengen
from tengen import jit

W = tengen.arange(6.0).reshape(3, 2).requires_grad_()


def branches(x: Any) -> Any:
    h = tengen.nn.functional.layer_norm((x @ W).relu(), (2,))
    return {"sum": h.sum(), "parts": [h.t(), tengen.cat([h, h], 1)[:, ::2]]}


def kinds(x: Any) -> Any:
    y = x.to(tengen.float64, memory_format=tengen.contiguous_format).clamp(max=float("inf"))
    return y.sum((0,), dtype=tengen.float32), tengen.zeros(2, device="cpu") + x.mean(), *x.split([1, 1])


def writing(x: Any) -> Any:
    y = x.clone()
    y[0].mul_(3)
    return y + W[0, 0]


PROGRAMS: list[Callable[[Any], Any]] = [branches, kinds, writing]


def again(traced: Any) -> Any:
    """What comes back out of a file."""
    file = io.BytesIO()
    jit.save(traced, file)
    return jit.load(io.BytesIO(file.getvalue()))


def leaves(tree: Any) -> list[Any]:
    return [t.tolist() for t in tengen.utils.pytree.tree_leaves(tree)]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_graph_comes_back(program: Any) -> None:
    x = tengen.arange(6.0).reshape(2, 3) - 2
    traced = jit.trace(program, (x,))
    found = again(traced)
    assert str(found.graph) == str(traced.graph)
    assert str(found.inlined_graph) == str(traced.inlined_graph)
    assert found.code == traced.code and found.name == traced.name
    result = found(x)
    assert type(result) is type(program(x)) and leaves(result) == leaves(program(x))
    assert str(again(found).graph) == str(traced.graph)


def test_gradients_flow_and_parameters_want_them() -> None:
    found = again(jit.trace(branches, (tengen.ones(2, 3),), parameters={"weight": W}))
    (weight,) = [c for c in found.graph.constants if c.named]
    assert weight.tensor.requires_grad and weight.tensor.is_leaf and weight.value.name == "weight"
    x = tengen.arange(6.0).reshape(2, 3).requires_grad_()
    expected = tengen.autograd.grad(branches(x)["parts"][1].square().sum(), (x, W))
    given = tengen.autograd.grad(found(x)["parts"][1].square().sum(), (x, weight.tensor))
    assert [g.tolist() for g in given] == [g.tolist() for g in expected]


def test_plain_inputs_stay_part_of_it() -> None:
    found = again(jit.trace(lambda x, n, *, s: x.sum(n) * s["scale"], (tengen.ones(2, 3), 1),
                            example_kwarg_inputs={"s": {"scale": 2.0}}))  # fmt: skip
    assert found(tengen.ones(4, 3), 1, s={"scale": 2.0}).tolist() == [6.0] * 4
    with pytest.raises(ValueError, match="was 1 when it was traced"):
        found(tengen.ones(2, 3), 0, s={"scale": 2.0})
    with pytest.raises(TypeError, match="structure"):
        found(tengen.ones(2, 3), 1)


def test_constants_that_share_memory_share_it_again() -> None:
    base = tengen.zeros(4)
    head, tail = base[:2], base[1:3]
    found = again(jit.trace(lambda x: x * head + tail, (tengen.ones(2),)))
    first, second = [c.tensor for c in found.graph.constants]
    first[1] = 5.0
    assert second.tolist() == [5.0, 0.0]


def test_in_a_new_process(tmp_path: Path) -> None:
    x = tengen.arange(6.0).reshape(2, 3)
    path = tmp_path / "branches.tg"
    jit.trace(branches, (x,)).save(path)
    program = (
        "import sys, tengen\n"
        "found = tengen.jit.load(sys.argv[1])\n"
        "print(found(tengen.arange(6.0).reshape(2, 3))['parts'][1].tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == str(branches(x)["parts"][1].tolist())


def test_on_another_device() -> None:
    file = io.BytesIO()
    jit.trace(branches, (tengen.ones(2, 3),)).save(file)
    file.seek(0)
    found = jit.load(file, map_location="meta")
    assert found(tengen.ones(2, 3, device="meta"))["sum"].is_meta


# -- what cannot be --------------------------------------------------------------------------

Pair = namedtuple("Pair", "a b")


def test_errors_in_saving(tmp_path: Path) -> None:
    path = tmp_path / "nothing"
    with pytest.raises(TypeError, match="expected a traced function, but got function"):
        jit.save(branches, path)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a Pair is part of an input or result"):
        jit.save(jit.trace(lambda x: Pair(x, x + 1), (tengen.ones(2),)), path)
    with pytest.raises(TypeError, match="has an argument that cannot be saved, a Generator"):
        generator = tengen.Generator()
        noisy = jit.trace(
            lambda x: x + tengen.rand(2, generator=generator), (tengen.ones(2),), check_trace=False
        )
        jit.save(noisy, path)
    assert not path.exists()


def test_errors_in_loading() -> None:
    def of(data: Any) -> io.BytesIO:
        file = io.BytesIO()
        tengen.save(data, file)
        return io.BytesIO(file.getvalue())

    with pytest.raises(RuntimeError, match=r"not written by tengen\.jit\.save"):
        jit.load(of({"weight": tengen.ones(2)}))
    with pytest.raises(pickle.UnpicklingError):
        jit.load(of(subprocess.run))
    file = io.BytesIO()
    jit.trace(lambda x: x.tanh(), (tengen.ones(2),)).save(file)
    data = tengen.load(io.BytesIO(file.getvalue()))
    node = data["nodes"][0] | {"arguments": ("tuple", [("constant", "load")])}
    with pytest.raises(RuntimeError, match="has a constant 'load', which there is not"):
        jit.load(of(data | {"nodes": [node]}))
    data["nodes"][0]["operator"] = "elsewhere::tanh"
    with pytest.raises(RuntimeError, match="elsewhere::tanh, an operator that is not declared"):
        jit.load(of(data))
