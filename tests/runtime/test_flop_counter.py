"""``utils.flop_counter`` and ``utils.module_tracker``: counts of operations, beside PyTorch's."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import tengen
from tengen.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula
from tengen.utils.module_tracker import ModuleTracker


def counted(torch: ModuleType, program: Callable[[], Any], **options: Any) -> Any:
    """A counter, after the program has run in it, and the backward pass of what it gave."""
    module = importlib.import_module(f"{torch.__name__}.utils.flop_counter")
    with module.FlopCounterMode(display=False, **options) as counter:
        result = program()
        if result is not None and result.requires_grad:
            result.sum().backward()
    return counter


def by_module(counter: Any) -> dict[str, int]:
    return {name: sum(counts.values()) for name, counts in counter.get_flop_counts().items()}


def random(torch: ModuleType) -> Callable[..., Any]:
    return lambda *shape: torch.randn(*shape, dtype=torch.float64, requires_grad=True)


PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "mm": lambda t, r: r(2, 3) @ r(3, 4),
    "mm into out": lambda t, r: t.mm(r(2, 3).detach(), r(3, 4).detach(), out=t.empty(2, 4, dtype=t.float64)),
    "mm without gradients": lambda t, r: r(2, 3).detach() @ r(3, 4).detach(),
    "of one gradient": lambda t, r: r(2, 3) @ r(3, 4).detach(),
    "in place": lambda t, r: t.zeros(2, 4, dtype=t.float64).addmm_(r(2, 3), r(3, 4)),
    "matrix and vector": lambda t, r: r(2, 3) @ r(3),
    "vector and matrix": lambda t, r: r(3) @ r(3, 4),
    "vectors": lambda t, r: r(3) @ r(3),
    "batches and vector": lambda t, r: r(5, 2, 3) @ r(3),
    "batches and matrix": lambda t, r: r(5, 2, 3) @ r(3, 4),
    "matrix and batches": lambda t, r: r(2, 3) @ r(5, 3, 4),
    "batches that broadcast": lambda t, r: r(6, 1, 2, 3) @ r(5, 3, 4),
    "bmm": lambda t, r: t.bmm(r(5, 2, 3), r(5, 3, 4)),
    "addmm": lambda t, r: t.addmm(r(4), r(2, 3), r(3, 4), beta=2, alpha=3),
    "baddbmm": lambda t, r: t.baddbmm(r(2, 4), r(5, 2, 3), r(5, 3, 4)),
    "addbmm": lambda t, r: t.addbmm(r(2, 4), r(5, 2, 3), r(5, 3, 4)),
    "addmv": lambda t, r: t.addmv(r(2), r(2, 3), r(3)),
    "nothing": lambda t, r: r(2, 0) @ r(0, 4),
    "einsum": lambda t, r: t.einsum("bij,bjk->bik", r(5, 2, 3), r(5, 3, 4)),
    "tensordot": lambda t, r: t.tensordot(r(2, 3, 4), r(4, 3, 5), dims=([1, 2], [1, 0])),
    "multi_dot": lambda t, r: t.linalg.multi_dot([r(2, 3), r(3, 4), r(4, 5)]),
    "inv": lambda t, r: t.linalg.inv(r(3, 3)),
    "linear": lambda t, r: t.nn.functional.linear(r(5, 2, 3), r(4, 3), r(4)),
    "linear of a vector": lambda t, r: t.nn.functional.linear(r(3), r(4, 3)),
    "vmap": lambda t, r: t.func.vmap(lambda a, b: a @ b)(r(5, 2, 3), r(5, 3, 4)),
    "vmap of one": lambda t, r: t.func.vmap(lambda a, b: a @ b, in_dims=(0, None))(r(5, 2, 3), r(3, 4)),
    "func.grad": lambda t, r: t.func.grad(lambda a: (a @ a.T).sum())(r(4, 3).detach()),
}


def convolution(name: str, input: tuple[int, ...], weight: tuple[int, ...], **options: Any) -> Any:
    return lambda t, r: getattr(t.nn.functional, name)(r(*input), r(*weight), **options)


CONVOLUTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "1d": convolution("conv1d", (2, 4, 9), (6, 4, 3), stride=2),
    "2d": convolution("conv2d", (2, 4, 6, 6), (6, 4, 3, 3), padding=1),
    "3d": convolution("conv3d", (2, 4, 5, 6, 5), (6, 4, 3, 2, 3)),
    "groups": convolution("conv2d", (2, 4, 6, 6), (6, 2, 3, 3), groups=2),
    "no batch": convolution("conv2d", (4, 6, 6), (6, 4, 3, 3)),
    "same": convolution("conv2d", (2, 4, 6, 6), (6, 4, 3, 2), padding="same", dilation=2),
    "of the weight alone": lambda t, r: t.nn.functional.conv2d(r(2, 4, 6, 6).detach(), r(6, 4, 3, 3)),
    "of the input alone": lambda t, r: t.nn.functional.conv2d(r(2, 4, 6, 6), r(6, 4, 3, 3).detach()),
    "transposed 1d": convolution("conv_transpose1d", (2, 4, 9), (4, 6, 3), stride=2),
    "transposed 2d": convolution("conv_transpose2d", (2, 4, 6, 6), (4, 6, 3, 3), padding=1, output_padding=0),
    "transposed 3d": convolution("conv_transpose3d", (2, 4, 3, 4, 3), (4, 6, 3, 2, 3), stride=2),
    "transposed groups": convolution("conv_transpose2d", (2, 4, 6, 6), (4, 3, 3, 3), groups=2, stride=2),
    "transposed, no batch": convolution("conv_transpose2d", (4, 6, 6), (4, 6, 3, 3), dilation=2),
}


def attention(*shapes: tuple[int, ...], **options: Any) -> Callable[[Any, Any], Any]:
    return lambda t, r: t.nn.functional.scaled_dot_product_attention(*[r(*s) for s in shapes], **options)


def layer(name: str, *sizes: int, input: tuple[int, ...], several: int = 1, **options: Any) -> Any:
    """A module of ``nn``, and what it gives first for so many inputs."""

    def program(t: Any, r: Any) -> Any:
        module = getattr(t.nn, name)(*sizes, **options).double()
        given = module(*[r(*input) for _ in range(several)])
        return given[0] if isinstance(given, tuple) else given

    return program


def packed(t: Any, r: Any) -> Any:
    lstm = t.nn.LSTM(3, 4, bidirectional=True).double()
    return lstm(t.nn.utils.rnn.pack_sequence([r(4, 3), r(2, 3), r(1, 3)]))[0].data


MODULES: dict[str, Callable[[Any, Any], Any]] = {
    "attention": attention((2, 2, 5, 8), (2, 2, 7, 8), (2, 2, 7, 3)),
    "attention that is causal": attention((2, 2, 5, 8), (2, 2, 5, 8), (2, 2, 5, 8), is_causal=True),
    "attention in groups": attention((2, 4, 5, 8), (2, 2, 5, 8), (2, 2, 5, 8), enable_gqa=True),
    "MultiheadAttention": layer("MultiheadAttention", 8, 2, input=(5, 2, 8), several=3),
    "TransformerEncoderLayer": layer("TransformerEncoderLayer", 8, 2, 16, input=(5, 2, 8)),
    "RNN": layer("RNN", 3, 4, input=(5, 2, 3)),
    "GRU": layer("GRU", 3, 4, input=(5, 2, 3), bidirectional=True, num_layers=2),
    "LSTM": layer("LSTM", 3, 4, input=(5, 2, 3), bidirectional=True, num_layers=2),
    "LSTM with projection": layer("LSTM", 3, 4, input=(5, 2, 3), proj_size=2),
    "LSTM of packed sequences": packed,
    "GRUCell": layer("GRUCell", 3, 4, input=(2, 3)),
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", [*PRODUCTS, *CONVOLUTIONS, *MODULES])
def test_the_total_is_pytorchs(torch: Any, name: str) -> None:
    program = (PRODUCTS | CONVOLUTIONS | MODULES)[name]
    attend = torch.nn.attention
    with attend.sdpa_kernel(attend.SDPBackend.MATH):  # the others count nothing on the CPU
        theirs = counted(torch, lambda: program(torch, random(torch))).get_total_flops()
    assert counted(tengen, lambda: program(tengen, random(tengen))).get_total_flops() == theirs


def network(t: Any) -> Any:
    """Modules in modules, one of them twice, and a parameter's product outside of them."""

    class Net(t.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.features = t.nn.Sequential(
                t.nn.Conv2d(1, 2, 3), t.nn.ReLU(), t.nn.ConvTranspose2d(2, 1, 3, stride=2)
            )
            self.head = t.nn.Sequential(
                t.nn.Linear(81, 4), t.nn.Sequential(t.nn.Linear(4, 4), t.nn.Linear(4, 3))
            )

        def forward(self, x: Any) -> Any:
            y = self.features(x).flatten(1)
            return self.head[1](self.head(y)[:, [0, 1, 2, 0]]) @ t.ones(3, 2)

    return Net()


@pytest.mark.oracle
@pytest.mark.parametrize("wanted", [False, True])
def test_each_module_counts_as_in_pytorch(torch: Any, wanted: bool) -> None:
    """Also in the backward pass, and where that of a module has no end, as its input asks for no gradient."""

    def counts(t: Any) -> list[dict[str, int]]:
        net, x = network(t), t.ones(2, 1, 6, 6, requires_grad=wanted)
        with t.no_grad():
            forward = by_module(counted(t, lambda: net(x)))
        return [forward, by_module(counted(t, lambda: net(x)))]

    ours = counts(tengen)
    assert ours == counts(torch)
    assert all("Net.head.1.0" in each for each in ours)


@pytest.mark.oracle
def test_the_table_is_that_of_pytorch(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the rows of operators, which are others."""

    def table(values: Any, headers: Any, colalign: Any) -> str:
        return "\n".join("  ".join(row) for row in (headers, *values))

    monkeypatch.setitem(sys.modules, "tabulate", SimpleNamespace(tabulate=table))

    def lines(t: Any, depth: int | None) -> list[list[str]]:
        net, x = network(t), t.ones(2, 1, 6, 6)
        with t.no_grad():
            made = counted(t, lambda: (net(x), t.ones(90, 70) @ t.ones(70, 80))[0]).get_table(depth)
        rows = [line for line in made.splitlines() if not line.lstrip().startswith("-")]
        return [[str(len(row) - len(row.lstrip())), *row.split()] for row in rows]

    for depth in (None, 0, 1, 3):
        assert lines(tengen, depth) == lines(torch, depth)


def test_the_table_and_its_depth(capsys: pytest.CaptureFixture[str]) -> None:
    net = tengen.nn.Sequential(tengen.nn.Linear(30, 40), tengen.nn.Sequential(tengen.nn.Linear(40, 10)))
    with FlopCounterMode() as counter:
        net(tengen.ones(5, 30))
    shown = capsys.readouterr().out.splitlines()
    first, second = 2 * 5 * 30 * 40, 2 * 5 * 40 * 10
    assert counter.get_total_flops() == first + second
    assert [line.split()[0] for line in shown[2:] if "-" not in line] == [
        "Sequential",
        "Sequential.0",
        "Sequential.1",
    ]
    assert f"{(first + second) / 1000:.3f}K" in shown[2] and "100.00%" in shown[2]
    assert shown[4].startswith(" Sequential.0") and f"{first / (first + second):.2%}" in shown[4]
    assert len({len(line) for line in shown}) == 1
    assert len(counter.get_table(1).splitlines()) == 4
    assert "Sequential.1.0" in counter.get_table(3)
    everything = counter.get_table(0).splitlines()
    assert everything[2].startswith("Global ") and everything[3].startswith(" - aten.linear ")


def test_nothing_is_a_table_too() -> None:
    counter = FlopCounterMode(display=False)
    assert counter.get_total_flops() == 0
    with counter:
        tengen.ones(2) + 1
    assert counter.get_total_flops() == 0 and not any(by_module(counter).values())
    assert counter.get_table().splitlines()[-1].split() == ["Global", "0", "0%"]


def test_a_counter_begins_anew_and_stops() -> None:
    counter = FlopCounterMode(display=False)
    for rows in (2, 5):
        with counter:
            tengen.ones(rows, 3) @ tengen.ones(3, 4)
        assert counter.get_total_flops() == 2 * rows * 3 * 4
    tengen.ones(2, 3) @ tengen.ones(3, 4)
    assert counter.get_total_flops() == 2 * 5 * 3 * 4
    net = tengen.nn.Linear(3, 4)
    with pytest.raises(ZeroDivisionError), counter:
        net(tengen.ones(2, 3))
        raise ZeroDivisionError
    total = counter.get_total_flops()
    net(tengen.ones(2, 3)).sum().backward()
    assert counter.get_total_flops() == total


def test_both_of_two_counters_count() -> None:
    with FlopCounterMode(display=False) as outer, FlopCounterMode(display=False) as inner:
        tengen.ones(2, 3) @ tengen.ones(3, 4)
    assert outer.get_total_flops() == inner.get_total_flops() == 2 * 2 * 3 * 4


def test_formulas_of_one_counter() -> None:
    """They are given what differs from the schema's defaults, and shapes for tensors; parts count no more."""
    given: list[Any] = []

    def add(*args: Any, out_shape: Any = None, **kwargs: Any) -> int:
        given.append((args, out_shape, kwargs))
        return 7

    aten = tengen.ops.aten
    own = {aten.add: add, aten.scaled_dot_product_attention: lambda *a, out_shape: 1000}
    x = tengen.ones(2, 3)
    with FlopCounterMode(display=False, custom_mapping=own) as counter:
        tengen.add(x, x)
        tengen.add(x, x, alpha=3)
        tengen.nn.functional.scaled_dot_product_attention(x, x, x)
    assert given == [((x.shape, x.shape), x.shape, {}), ((x.shape, x.shape), x.shape, {"alpha": 3})]
    assert counter.get_flop_counts()["Global"] == {aten.add: 14, aten.scaled_dot_product_attention: 1000}
    with FlopCounterMode(display=False) as counter:
        tengen.add(x, x)
    assert counter.get_total_flops() == 0


@pytest.fixture
def own_operator() -> Iterator[Any]:
    before = dict(flop_registry)
    made = tengen.library.Library("flops_of_tests", "FRAGMENT")
    made.define("twice(Tensor x) -> Tensor")
    made.impl("twice", lambda x: x @ x + x @ x, "CPU")
    yield tengen.ops.flops_of_tests.twice
    made._destroy()
    flop_registry.clear()
    flop_registry.update(before)


def test_a_formula_is_registered(own_operator: Any) -> None:
    """What the operator of a program does inside is not seen, and counts as the formula says."""
    x = tengen.ones(3, 3)
    with FlopCounterMode(display=False) as counter:
        own_operator(x)
    assert counter.get_total_flops() == 0

    @register_flop_formula(own_operator, get_raw=True)
    def of_tensors(x: Any, out_val: Any = None) -> int:
        return 2 * int(x.numel() + out_val.numel())

    with FlopCounterMode(display=False) as counter:
        own_operator(x)
    assert counter.get_flop_counts()["Global"] == {own_operator: 2 * (9 + 9)}
    with pytest.raises(RuntimeError, match=r"duplicate registrations for flops_of_tests\.twice"):
        register_flop_formula([own_operator])(of_tensors)


def test_what_cannot_be_registered() -> None:
    with pytest.raises(RuntimeError, match=r"duplicate registrations for aten\.mm"):
        register_flop_formula(tengen.ops.aten.mm)(lambda *a: 1)
    for wrong in (tengen.add, "aten.mm", tengen.ops.aten.mm.default):
        with pytest.raises(ValueError, match="expected each target to be an operator"):
            register_flop_formula(wrong)(lambda *a: 1)
    with pytest.warns(UserWarning, match="mods argument is not needed"):
        FlopCounterMode(tengen.nn.Linear(2, 2))


def test_a_registered_formula_is_called_by_users_too() -> None:
    mm = flop_registry[tengen.ops.aten.mm]
    assert mm(tengen.ones(2, 3), tengen.ones(3, 4)) == 2 * 2 * 3 * 4


def test_the_tracker_tells_which_modules_run() -> None:
    seen: list[tuple[set[str], bool]] = []

    class Watched(tengen.nn.Module):
        def forward(self, x: tengen.Tensor) -> tengen.Tensor:
            y = x * 2
            y.register_hook(lambda grad: note())
            note()
            return y * 3

    def note() -> None:
        seen.append((set(tracker.parents), tracker.is_bw))

    net = tengen.nn.Sequential(tengen.nn.Identity(), Watched())
    with ModuleTracker() as tracker:
        note()
        net(tengen.ones(2, requires_grad=True)).sum().backward()
        note()
    inside = {"Global", "Sequential", "Sequential.1"}
    assert seen == [({"Global"}, False), (inside, False), (inside, True), ({"Global"}, False)]
    net(tengen.ones(2, requires_grad=True)).sum().backward()
    assert seen[-2:] == [({"Global"}, False), ({"Global"}, True)]
