"""Profiles summed up: memory, averages and tables; the same programs in tengen and in torch."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from profiles import named, plain

import tengen
from tengen.autograd import profiler as ours

# -- memory ----------------------------------------------------------------------------------


def test_memory(m: Any, p: Any) -> None:
    x = m.ones(10)
    with p.profile(profile_memory=True) as prof:
        with p.record_function("within"):
            y = m.ones(100)
            v = y.view(10, 10)
            y.add_(y)
            z = y.exp()
            del z
        del y, v
        x.view(2, 5)
        m.empty(0)
    events = prof.function_events
    assert named(events, "exp").cpu_memory_usage == 400
    assert [e.cpu_memory_usage for e in events if plain(e) == "view"] == [0, 0]
    assert named(events, "add_").cpu_memory_usage == 0
    within = named(events, "within")
    assert within.cpu_memory_usage == 400 and within.self_cpu_memory_usage == -400
    assert [e.cpu_memory_usage for e in events if e.name == "[memory]"] == [-400]
    table = prof.key_averages().table(sort_by="self_cpu_memory_usage")
    assert "CPU Mem" in table and "Self CPU Mem" in table and "400 B" in table


def test_memory_of_composites_and_their_temporaries() -> None:
    with ours.profile(profile_memory=True) as prof:
        x = tengen.ones(4, 4)
        tengen.einsum("ij,jk,kl->il", x, x, x)
    einsum = named(prof.function_events, "einsum")
    products = [e.cpu_memory_usage for e in prof.function_events if plain(e) in ("mm", "bmm")]
    assert products == [64, 64]
    assert einsum.cpu_memory_usage == 64 and einsum.self_cpu_memory_usage == -64


def test_memory_of_a_backward_pass() -> None:
    x = tengen.ones(100, requires_grad=True)
    with ours.profile(profile_memory=True) as prof:
        (x * 2.0).sum().backward()
        x.grad = None
    events = prof.function_events
    assert named(events, "MulBackward0").cpu_memory_usage == 400
    assert named(events, "AccumulateGrad").cpu_memory_usage == 0  # it takes the gradient over
    assert events[-1].name == "[memory]" and events[-1].cpu_memory_usage == -400


def test_an_accumulator_that_copies() -> None:
    x = tengen.ones(100, requires_grad=True)
    with ours.profile(profile_memory=True) as prof:
        x.sum().backward()
        x.sum().backward()
    usage = [e.cpu_memory_usage for e in prof.function_events if plain(e) == "AccumulateGrad"]
    assert usage == [400, 0]


def test_saved_values_are_freed_in_the_turn_of_their_node() -> None:
    x = tengen.ones(100, requires_grad=True)
    with ours.profile(profile_memory=True) as prof:
        x.exp().sum().backward()
    assert named(prof.function_events, "turn of ExpBackward0").self_cpu_memory_usage == -400


def test_memory_that_is_not_ours_to_see() -> None:
    with ours.profile(profile_memory=True) as prof:
        tengen.empty(1000, device="meta").exp()
    assert all(e.cpu_memory_usage == 0 for e in prof.function_events)


# -- sums and tables ---------------------------------------------------------------------------


def test_averages(m: Any, p: Any) -> None:
    x, y = m.ones(2, 3), m.ones(4)
    with p.profile(record_shapes=True) as prof:
        for _ in range(3):
            x.exp()
        y.exp()
        with p.record_function("exp"):
            x.cos()
    averages = {(plain(e), e.is_user_annotation): e for e in prof.key_averages()}
    exp = averages["exp", False]
    single = [e for e in prof.function_events if plain(e) == "exp" and not e.is_user_annotation]
    assert exp.count == 4 and averages["exp", True].count == 1
    assert exp.cpu_time_total == pytest.approx(sum(e.cpu_time_total for e in single))
    assert exp.self_cpu_time_total == pytest.approx(sum(e.self_cpu_time_total for e in single))
    assert exp.cpu_time == pytest.approx(exp.cpu_time_total / 4) and exp.input_shapes == ""
    shaped = [(e.count, e.input_shapes) for e in prof.key_averages(True) if plain(e) == "exp"]
    assert shaped == [(3, [[2, 3]]), (1, [[4]]), (1, [])]
    total = prof.total_average()
    assert total.key == "Total" and total.count == len(prof.function_events)
    assert total.self_cpu_time_total == pytest.approx(prof.self_cpu_time_total)
    assert prof.key_averages().total_average().count == total.count


def test_adding_events_of_two_keys() -> None:
    a, b = ours.FunctionEvent(1, "a", 1, 0, 1), ours.FunctionEvent(2, "b", 1, 0, 1)
    with pytest.raises(ValueError, match="expected an event 'a', but got 'b'"):
        ours.FunctionEventAvg().add(a).add(b)
    with pytest.raises(TypeError, match="expected an event, but got int"):
        ours.FunctionEventAvg().add(3)


def events_of(m: Any) -> Any:
    """The same events in either library: times, memory, shapes, stacks and names that are long."""
    util = importlib.import_module(f"{m.__name__}.autograd.profiler_util")
    common = {"is_user_annotation": False, "overload_name": ""}
    events = [
        util.FunctionEvent(1, "outer", 1, 0, 3_500_000, cpu_memory_usage=3 << 20, stack=["a.py(1): f", "b"],
                           input_shapes=[[2, 3], []], **common),
        util.FunctionEvent(2, "in" * 40, 1, 5, 2005, cpu_memory_usage=-12, stack=["c" * 100],
                           input_shapes=[[1] * 40], **common),
        util.FunctionEvent(3, "leaf", 1, 2100, 2100.25, cpu_memory_usage=2048, stack=[],
                           input_shapes=[], **common),
        util.FunctionEvent(4, "wandering", 2, 7, 9, is_async=True, stack=[], input_shapes=[], **common),
    ]  # fmt: skip
    for child in events[1:3]:
        events[0].append_cpu_child(child)
        child.set_cpu_parent(events[0])
    made = util.EventList(events, use_device=None, profile_memory=True)
    made._tree_built = True
    return made


TABLES: list[dict[str, Any]] = [
    {},
    {"sort_by": "self_cpu_time_total"},
    {"sort_by": "cpu_memory_usage", "row_limit": 2},
    {"row_limit": -1},
    {"row_limit": 0},
    {"max_name_column_width": 20},
    {"max_name_column_width": None, "max_src_column_width": None, "max_shapes_column_width": None},
    {"max_src_column_width": 30, "max_shapes_column_width": 15},
    {"header": "A title", "top_level_events_only": True},
    {"time_unit": "us"},
    {"time_unit": "ms", "header": ""},
    {"time_unit": "s"},
]


@pytest.mark.oracle
@pytest.mark.parametrize("options", TABLES, ids=str)
@pytest.mark.parametrize("averaged", [False, True])
def test_tables_are_laid_out_alike(options: dict[str, Any], averaged: bool) -> None:
    torch = pytest.importorskip("torch")
    tables = []
    for m in (torch, tengen):
        events = events_of(m)
        if averaged:
            events = events.key_averages(group_by_stack_n=1, group_by_input_shapes=True)
        tables.append(events.table(**options))
    assert tables[0] == tables[1]


def test_the_table_of_a_profile() -> None:
    with ours.profile(record_shapes=True) as prof:
        tengen.ones(2, 3).exp()
    lines = str(prof).splitlines()
    words = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
    assert all(word in lines[1] for word in [*words, "Input Shapes"])
    assert lines[-1].startswith("Self CPU time total: ")
    assert repr(prof).startswith("[<FunctionEvent id=") and "tengen::exp" in repr(prof)
