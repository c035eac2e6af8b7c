"""Writes to tensors whose arrays cannot change: each program gives what it gives on the CPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tengen

PROGRAMS: list[Callable[[str], list[Any]]] = []


def program(function: Callable[[str], list[Any]]) -> Callable[[str], list[Any]]:
    """A program that is run on the CPU and on another device; what it returns is compared."""
    PROGRAMS.append(function)
    return function


def counted(device: str, *shape: int) -> Any:
    """The numbers from 0 on, in a shape."""
    size = 1
    for n in shape:
        size *= n
    return tengen.arange(float(size)).reshape(shape).to(device)


@program
def detached_handles(device: str) -> list[Any]:
    x = tengen.arange(3.0, device=device)
    same, data = x.detach(), x.data
    x.add_(1)
    same.mul_(2)
    versions = [x._version, same._version, data._version]
    data.sub_(5)
    x.data[0] = 7
    return [x, same, data, tengen.tensor(versions)]


@program
def indices(device: str) -> list[Any]:
    x = tengen.zeros(3, 4, device=device)
    x[0] = 1
    x[1:, ::2] = tengen.tensor([5.0, 6.0], device=device)
    x[tengen.tensor([0, 2], device=device), tengen.tensor([3, 3], device=device)] = 7
    x[x > 6] = -1
    x[..., 1] += 3
    x[2, None, 1:3] = x[0, 0:2]
    x[0:0] = 5
    return [x]


@program
def gradients_through_writes(device: str) -> list[Any]:
    leaf = counted(device, 4).requires_grad_()
    x = leaf * 2
    x[1:3] = leaf[:2] * leaf[:2]
    x.mul_(leaf)
    x.sum().backward()
    return [x, leaf.grad]


@program
def views_see_the_base_and_each_other(device: str) -> list[Any]:
    x = counted(device, 2, 3, 4)
    views = [
        x[0], x[:, 1], x.view(-1), x.view(6, 4)[1:], x.transpose(0, 2),
        x.permute(2, 0, 1)[1:3], x.diagonal(0, 1, 2), x[..., None].squeeze(-1), x.unsqueeze(0)[0, :, ::2],
        *x.unbind(1), *x.split(1, 2), x.unfold(2, 2, 2), x.expand(2, 3, 4), x[1].detach()[0],
        x.narrow(2, 1, 2),
    ]  # fmt: skip
    x.add_(1)
    for number, view in enumerate(views):
        view.mul_(2 + number % 3)
    x[1, 2] -= 100
    versions = tengen.tensor([t._version for t in (x, *views)])
    layouts = tengen.tensor([[t.is_contiguous(), t.stride(0), t.storage_offset()] for t in views])
    return [x, *views, versions, layouts]


@program
def other_dtypes(device: str) -> list[Any]:
    x = tengen.complex(tengen.arange(4.0), tengen.ones(4)).to(device)
    parts = tengen.view_as_real(x)
    parts[1:, 0] = 9
    x.mul_(2)
    pairs = counted(device, 3, 2)
    numbers = tengen.view_as_complex(pairs)
    numbers.mul_(1j)
    whole = tengen.arange(4).to(device)
    whole[1::2].fill_(-1)
    truth = tengen.zeros(3, dtype=tengen.bool, device=device)
    truth[0].logical_not_()
    return [tengen.view_as_real(x), parts, pairs, tengen.view_as_real(numbers), whole, truth]


@program
def copies_share_nothing(device: str) -> list[Any]:
    x = counted(device, 3, 3)
    turned, flat, other = x.t().contiguous(), x.t().reshape(-1), x[:, 1].clone()
    turned.add_(1)
    flat.add_(1)
    other.add_(1)
    rows = x.reshape(-1)
    rows[0] = 50
    return [x, turned, flat, other, rows]


@program
def gradients_through_views(device: str) -> list[Any]:
    leaf = counted(device, 3, 4).requires_grad_()
    x = leaf * 1
    row, flat, windows, wide = x[1], x.view(-1), x.unfold(1, 3, 1), x.unsqueeze(0).expand(2, 3, 4)
    row.mul_(leaf[0])
    flat[5:7] = leaf[2, :2] ** 2
    x.diagonal().mul_(x[:, 3].clone())
    x.t()[2].sin_()
    loss = (x * leaf).sum() + (row**2).sum() + windows.sum() + (wide * 3).sum() + flat[6] * 2
    first = tengen.autograd.grad(loss, leaf, create_graph=True)[0]
    second = tengen.autograd.grad(first[1:].cos().sum(), leaf)[0]
    return [x, row, first, second]


@program
def shapes_in_place(device: str) -> list[Any]:
    leaf = counted(device, 2, 3).requires_grad_()
    x = leaf * 2
    row = x[1]
    x.t_()
    row.mul_(3)
    x[0, 1] = 5
    y = counted(device, 1, 3)
    y.squeeze_().unsqueeze_(1)
    y[1] = 9
    (x * x).sum().backward()
    return [x, row, y, leaf.grad]


@program
def without_recording(device: str) -> list[Any]:
    with tengen.inference_mode():
        first = counted(device, 3, 2)
        a, b = first[0:2], first[1:3]
        a.add_(10)
        b.view(-1)[1:].mul_(2)
    leaf = counted(device, 3).requires_grad_()
    with tengen.no_grad():
        leaf[0] = 4
        leaf[1:].mul_(3)
    return [first, a, b, leaf]


@program
def other_data(device: str) -> list[Any]:
    x, y = counted(device, 2, 2), tengen.full((2, 2), 7.0).to(device)
    row = x[0]
    x.data = y
    y[1] = 3
    row.add_(1)
    out = tengen.empty(2, device=device)
    part = counted(device, 4)[1:3]
    tengen.add(part, part, out=out)
    tengen.mul(out, 2, out=part)
    return [x, y, row, out, part]


@program
def a_tensor_in_many_views(device: str) -> list[Any]:
    x = tengen.zeros(5, 2, device=device)
    for number, row in enumerate(x):
        row += number
    kept = [x[i % 5] for i in range(40)]
    x.add_(1)
    return [x, *kept]


@program
def trained_parameters(device: str) -> list[Any]:
    w = tengen.ones(3).to(device).requires_grad_()
    optimiser = tengen.optim.SGD([w], lr=0.125, momentum=0.5)
    for _ in range(3):
        (w * w).sum().backward()
        (w * 2).sum().backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=False)
    return [w]


#: What is run on other libraries, too, which compile or plan each operator.
ELSEWHERE = (detached_handles, gradients_through_writes, shapes_in_place, other_data, trained_parameters)


@pytest.fixture(scope="module", params=["strict", "jax", "dask"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "strict":
        yield request.getfixturevalue("strict")
        return
    pytest.importorskip(request.param)
    importlib.import_module(f"tengen.array_libraries.{request.param}")
    yield request.param


@pytest.mark.parametrize("run", PROGRAMS, ids=lambda p: p.__name__)
def test_it_gives_what_it_gives_on_the_cpu(run: Callable[[str], list[Any]], device: str) -> None:
    if device != "strict" and run not in ELSEWHERE:
        pytest.skip("other libraries differ by how they put values into an array alone")
    compare(run, device)


def compare(run: Callable[[str], list[Any]], device: str) -> None:
    """AssertionError where a program does not give on a device what it gives on the CPU."""
    there, here = run(device), run("cpu")
    for number, (ours, theirs) in enumerate(zip(there, here, strict=True)):
        assert ours.shape == theirs.shape
        tengen.testing.assert_close(
            ours.detach().cpu(), theirs.detach(), msg=lambda m, n=number: f"[{n}]: {m}"
        )


@pytest.mark.oracle
@pytest.mark.parametrize("run", PROGRAMS, ids=lambda p: p.__name__)
def test_it_gives_what_it_gives_in_pytorch(
    run: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    ours = run("cpu")
    monkeypatch.setitem(globals(), "tengen", torch)
    for mine, theirs in zip(ours, run("cpu"), strict=True):
        assert mine.detach().numpy() == pytest.approx(theirs.detach().numpy(), rel=1e-5)


#: Writes that PyTorch refuses, and so do we, with the tensors as they were.
REFUSED = {
    "expanded": (lambda x: x[0].expand(3, 2).add_(1), "more than one element of the written-to tensor"),
    "leaf": (lambda x: x.requires_grad_()[0].add_(1), "a view of a leaf Variable that requires grad"),
    "several": (lambda x: (x.requires_grad_() * 1).unbind(0)[0].add_(1), "returns multiple views"),
    "parts": (lambda x: x.view(-1)[1:].copy_(x.view(-1)[:-1]), "refer to a single memory location"),
    "shape": (lambda x: x[0].add_(x.clone()[:, :, None]), "doesn't match the broadcast shape"),
    "mixed": (lambda x: x[0].add_(1j), "can't be cast to the desired output type"),
    "turned": (lambda x: x.t().view(-1).add_(1), "view"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_write_that_is_refused_changes_nothing(name: str, strict: str) -> None:
    write, text = REFUSED[name]
    for device in (strict, "cpu"):
        x = counted(device, 2, 2)
        with pytest.raises(RuntimeError, match=text):
            write(x)
        assert x.tolist() == [[0, 1], [2, 3]] and x._version == 0
