"""Profiles: the same programs in tengen and in torch, and what of a profile only we promise.

torch's operators call helpers of their own (``aten::fill_``, ``aten::as_strided``), which are no part
of what is compared: names are looked at without their namespace, and only those that a test asks for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from in_threads import in_threads
from profiles import named, plain

import tengen
from tengen.autograd import profiler as ours
from tengen.core import interception


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    assert not interception.active


def chosen(events: Any, *names: str) -> list[str]:
    return [plain(e) for e in events if plain(e) in names]


def parents(event: Any) -> list[str]:
    """In what an event ran, the innermost first."""
    found = []
    while event.cpu_parent is not None:
        event = event.cpu_parent
        found.append(plain(event))
    return found


# -- what is seen ----------------------------------------------------------------------------


def test_operators_in_order(m: Any, p: Any) -> None:
    x, y = m.ones(2, 3), m.ones(2, 3)
    with p.profile() as prof:
        (x * y).sum()
        x.exp()
        x.add_(y)
    assert chosen(prof.function_events, "mul", "sum", "exp", "add_") == ["mul", "sum", "exp", "add_"]
    assert all(e.count == 1 and e.cpu_time_total > 0 for e in prof.function_events)
    if m is tengen:  # torch gives the number that a Node would have
        assert all(e.sequence_nr == -1 for e in prof.function_events)


def test_nothing_is_seen_outside(m: Any, p: Any) -> None:
    x = m.ones(2)
    x.exp()
    with p.profile() as prof:
        x.cos()
    x.sin()
    assert chosen(prof.function_events, "exp", "cos", "sin") == ["cos"]


def test_parts_of_composites_are_children(m: Any, p: Any) -> None:
    with p.profile() as prof:
        m.einsum("ij,jk->ik", m.ones(2, 3), m.ones(3, 4))
        m.ones(2).dot(m.ones(2))
    einsum = named(prof.function_events, "einsum")
    assert einsum.cpu_parent is None and einsum.cpu_children
    assert all(child.cpu_parent is einsum for child in einsum.cpu_children)
    assert named(prof.function_events, "dot").cpu_parent is None


def test_self_time_is_without_children(m: Any, p: Any) -> None:
    with p.profile() as prof, p.record_function("outer"):
        m.ones(2).exp()
    for event in prof.function_events:
        inner = sum(child.cpu_time_total for child in event.cpu_children)
        assert event.self_cpu_time_total == pytest.approx(event.cpu_time_total - inner, abs=1e-6)
        assert event.cpu_time_total == event.time_range.elapsed_us()
        for child in event.cpu_children:
            assert event.time_range.start <= child.time_range.start
            assert child.time_range.end <= event.time_range.end
    outer = named(prof.function_events, "outer")
    assert prof.self_cpu_time_total == pytest.approx(outer.cpu_time_total, abs=1e-3)


def test_an_exception_in_an_operator_and_in_the_block(m: Any, p: Any) -> None:
    prof = p.profile()
    with pytest.raises(ZeroDivisionError), prof:
        with pytest.raises(RuntimeError):
            m.ones(2).dot(m.ones(3))
        with p.record_function("label"):
            m.ones(2).exp()
            raise ZeroDivisionError
    assert chosen(prof.function_events, "dot", "label", "exp") == ["dot", "label", "exp"]
    assert parents(named(prof.function_events, "exp")) == ["label"]
    assert named(prof.function_events, "dot").cpu_parent is None


def test_disabled(m: Any, p: Any) -> None:
    prof = p.profile(enabled=False)
    with prof:
        m.ones(2).exp()
    if m is tengen:  # torch's has no attributes then
        assert prof.function_events == [] and str(prof) == "" and prof.key_averages() == []


def test_a_profile_is_for_one_use(m: Any, p: Any) -> None:
    with p.profile() as prof:
        m.ones(2)
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"), prof:
        pass
    with pytest.raises(RuntimeError, match="not reentrant"), p.profile() as prof, prof:
        pass


def test_before_and_during(m: Any, p: Any) -> None:
    prof = p.profile()
    assert prof.function_events == [] and prof.table() == "" and prof.self_cpu_time_total == 0
    with prof:
        m.ones(2)
        assert prof.key_averages() == []
    assert len(prof.function_events) >= 1
    with p.profile() as prof:
        pass
    assert prof.function_events == [] and prof.total_average().count == 0


def test_options(m: Any, p: Any) -> None:
    with pytest.raises(AssertionError):
        p.profile(use_cpu=False)
    with pytest.raises(TypeError):
        p.profile(True, True)
    with p.profile() as prof:
        m.ones(2)
    with pytest.raises(AssertionError, match="requires with_stack=True"):
        prof.export_stacks("never", "self_cpu_time_total")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        prof.table(sort_by="nonsense")


def test_only_ours_refuses() -> None:
    with pytest.raises(NotImplementedError, match="with_flops"):
        ours.profile(with_flops=True)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        ours.profile(use_cuda=True)
    assert not hasattr(ours, "emit_nvtx") and not hasattr(ours, "emit_itt")
    with pytest.raises(RuntimeError, match="has not finished"):
        ours.profile().export_chrome_trace("never")


def test_nested_profiles_both_see() -> None:
    x = tengen.ones(2)
    with ours.profile() as outer:
        x.exp()
        with ours.profile() as inner:
            x.cos()
        x.sin()
    assert [plain(e) for e in inner.function_events] == ["cos"]
    assert [plain(e) for e in outer.function_events] == ["exp", "cos", "sin"]


# -- shapes, overloads, stacks -----------------------------------------------------------------


def test_shapes_and_values(m: Any, p: Any) -> None:
    x = m.ones(3, 4)
    with p.profile(record_shapes=True) as prof:
        x.sum(1, keepdim=True)
        m.cat([x, x], 0)
        m.addmm(m.ones(3, 3), x, x.t(), alpha=2)
        m.ones(()).exp()
        m.ones(0, 2).cos()
        x.t().sin()
    found = {plain(e): e for e in prof.function_events}
    assert found["sum"].input_shapes[:3] == [[3, 4], [], []]
    assert found["cat"].input_shapes == [[], []]
    assert found["cat"].structured_input_shapes == [[[3, 4], [3, 4]], []]
    assert found["cat"].concrete_inputs == [None, 0]
    assert found["cat"].input_dtypes == ["TensorList", "Scalar"]
    assert found["addmm"].input_shapes == [[3, 3], [3, 4], [4, 3], [], []]
    assert found["addmm"].concrete_inputs == [None, None, None, 1, 2]
    assert found["addmm"].structured_input_strides == [[3, 1], [4, 1], [1, 4], [], []]
    assert found["exp"].input_shapes == [[]] and found["exp"].structured_input_shapes == [[]]
    assert found["cos"].input_shapes == [[0, 2]]
    assert found["sin"].structured_input_strides == [[1, 4]]


def test_without_shapes(m: Any, p: Any) -> None:
    with p.profile() as prof:
        m.ones(3).exp()
    assert named(prof.function_events, "exp").input_shapes == []
    assert "Input Shapes" not in prof.table()


def test_overloads(m: Any, p: Any) -> None:
    if m is tengen:
        from tengen.profiler import _ExperimentalConfig as Config
    else:
        from torch._C._profiler import _ExperimentalConfig as Config
    x = m.ones(3, 4)
    with p.profile(experimental_config=Config(capture_overload_names=True)) as prof:
        x + x
        x.sum(0)
        x.exp()
    overloads = {plain(e): e.overload_name for e in prof.function_events}
    assert overloads["add"] == "Tensor" and overloads["sum"] == "dim_IntList" and overloads["exp"] == ""
    assert "Overload Name" in prof.key_averages(group_by_overload_name=True).table()
    assert "Overload Name" not in prof.key_averages().table()


def test_stacks() -> None:
    def callee(x: Any) -> Any:
        return (x * x).sum()

    x = tengen.ones(3, requires_grad=True)
    with ours.profile(with_stack=True) as prof:
        callee(x).backward()
    events = prof.function_events
    stack = named(events, "mul").stack
    assert stack[0].endswith(": callee") and stack[1].endswith(": test_stacks")
    assert "test_profiler.py(" in stack[0] and not any("runtime" in place for place in stack)
    # A Node has the stack of its operator, its turn that of the backward pass.
    assert named(events, "MulBackward0").stack == stack
    assert named(events, "turn of MulBackward0").stack[0].endswith(": test_stacks")
    assert named(events, "AccumulateGrad").stack == []


def test_what_runs_in_a_node_has_its_stack() -> None:
    def forward(x: Any) -> Any:
        return x * x

    x = tengen.ones(3, requires_grad=True)
    with ours.profile(with_stack=True) as prof:
        y = forward(x)
        tengen.autograd.grad(y.sum(), x, create_graph=True)
    node = named(prof.function_events, "MulBackward0")
    assert node.cpu_children
    assert all(
        child.stack == node.stack and child.stack[0].endswith(": forward") for child in node.cpu_children
    )


def test_group_by_stack(tmp_path: Any) -> None:
    def one(x: Any) -> None:
        x.exp()

    def other(x: Any) -> None:
        x.exp()

    x = tengen.ones(3)
    with ours.profile(with_stack=True) as prof:
        one(x)
        one(x)
        other(x)
    assert [e.count for e in prof.key_averages()] == [3]
    assert [e.count for e in prof.key_averages(group_by_stack_n=1)] == [2, 1]
    assert all(len(e.stack) == 2 for e in prof.key_averages(group_by_stack_n=2))
    assert "Source Location" in prof.key_averages(group_by_stack_n=1).table()
    assert "Source Location" not in prof.key_averages().table()
    prof.export_stacks(tmp_path / "stacks", "self_cpu_time_total")
    lines = (tmp_path / "stacks").read_text().splitlines()
    assert len(lines) == 3
    assert lines[0].rpartition(" ")[2].isdigit() and lines[0].partition(" ")[0].endswith("_one")
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "stacks", "nonsense")


# -- the backward pass -----------------------------------------------------------------------


NODES = ("turn of SumBackward0", "SumBackward0", "turn of MulBackward0", "MulBackward0")
LEAF = ("turn of AccumulateGrad", "AccumulateGrad")


def test_nodes(m: Any, p: Any) -> None:
    x = m.ones(3, requires_grad=True)
    with p.profile(record_shapes=True) as prof:
        (x * x).sum().backward()
    events = prof.function_events
    assert chosen(events, *NODES, *LEAF) == [*NODES, *LEAF]
    for name in ("SumBackward0", "MulBackward0", "AccumulateGrad"):
        node, turn = named(events, name), named(events, f"turn of {name}")
        assert node.cpu_parent is turn and turn.cpu_parent is None
        assert (node.scope, turn.scope) == (1, 0)
        assert node.sequence_nr == turn.sequence_nr and turn.input_shapes == []
    assert named(events, "MulBackward0").input_shapes == [[3]]
    assert named(events, "SumBackward0").input_shapes == [[]]
    assert named(events, "MulBackward0").sequence_nr == named(events[:3], "mul").sequence_nr >= 0
    assert named(events, "SumBackward0").sequence_nr == named(events, "sum").sequence_nr
    assert named(events, "AccumulateGrad").sequence_nr == -1
    assert named(events, "MulBackward0").fwd_thread == named(events, "sum").thread


def test_a_backward_pass_alone(m: Any, p: Any) -> None:
    x = m.ones(3, requires_grad=True)
    y = (x * x).sum()
    with p.profile() as prof:
        y.backward()
    assert chosen(prof.function_events, *NODES, *LEAF) == [*NODES, *LEAF]
    assert named(prof.function_events, "MulBackward0").sequence_nr >= 0


def test_hooks_run_in_the_turn_of_their_node(m: Any, p: Any) -> None:
    x = m.ones(3, requires_grad=True)
    y = x * 3
    y.register_hook(lambda g: g.exp())
    x.register_hook(lambda g: g.cos())
    with p.profile() as prof:
        y.sum().backward()
    assert parents(named(prof.function_events, "exp")) == ["turn of MulBackward0"]
    assert parents(named(prof.function_events, "cos")) == ["turn of AccumulateGrad"]


def test_nodes_with_hooks_of_their_own(m: Any, p: Any) -> None:
    x = m.ones(3, requires_grad=True)
    y = (x * x).sum()
    y.grad_fn.next_functions[0][0].register_prehook(lambda g: (g[0].exp(),))
    y.grad_fn.next_functions[0][0].register_hook(lambda gi, go: (gi[0].cos(), gi[1]))
    with p.profile() as prof:
        y.backward()
    assert parents(named(prof.function_events, "exp")) == ["turn of MulBackward0"]
    assert parents(named(prof.function_events, "cos")) == ["turn of MulBackward0"]
    assert chosen(prof.function_events, "MulBackward0") == ["MulBackward0"]


def test_functions(m: Any, p: Any) -> None:
    class Twice(m.autograd.Function):  # type: ignore[misc,name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.exp()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad.cos()

    x = m.ones(3, requires_grad=True)
    with p.profile(record_shapes=True) as prof:
        Twice.apply(x).sum().backward()
    events = prof.function_events
    assert parents(named(events, "exp")) == ["Twice"]
    assert parents(named(events, "cos"))[:2] == ["TwiceBackward", "turn of TwiceBackward"]
    assert named(events, "Twice").input_shapes == [[3]]
    assert named(events, "Twice").sequence_nr == named(events, "TwiceBackward").sequence_nr >= 0


def test_double_backward(m: Any, p: Any) -> None:
    x = m.ones(3, requires_grad=True)
    with p.profile() as prof:
        (g,) = m.autograd.grad((x * x).sum(), x, create_graph=True)
        g.sum().backward()
    node = next(e for e in prof.function_events if plain(e) == "MulBackward0")
    assert [plain(child) for child in node.cpu_children if plain(child) == "mul"] == ["mul", "mul"]
    made = {child.sequence_nr for child in node.cpu_children if plain(child) == "mul"}
    assert len(made) == 2
    later = {e.sequence_nr for e in prof.function_events if plain(e) == "MulBackward0"}
    assert made <= later


def test_several_roots(m: Any, p: Any) -> None:
    x = m.ones(3, requires_grad=True)
    a, b = x.exp().sum(), x.sum()
    with p.profile() as prof:
        m.autograd.backward([a, b])
    names = ("SumBackward0", "ExpBackward0", "AccumulateGrad")
    assert chosen(prof.function_events, *names) == ["SumBackward0", "SumBackward0", *names[1:]]


def test_a_failing_node(m: Any, p: Any) -> None:
    x = m.ones(3, requires_grad=True)
    y = x.exp()
    z = y.sum()
    y.detach().add_(1)
    with p.profile() as prof, pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()
    assert chosen(prof.function_events, "ExpBackward0", "AccumulateGrad") == ["ExpBackward0"]


@pytest.mark.parametrize("over_tensors", [False, True])
def test_gradients_are_what_they_were(over_tensors: bool) -> None:
    def run() -> list[Any]:
        x = tengen.arange(6.0).reshape(2, 3).requires_grad_()
        y = (x * x).t() @ x
        a, b = y.split([1, 2])
        z = (a.exp().sum() + b.sum()) * x.sum()
        x.register_hook(lambda g: g * 2)
        z.backward(create_graph=over_tensors)
        return [x.grad.tolist(), y.tolist()]

    expected = run()
    with ours.profile(profile_memory=True, record_shapes=True, with_stack=True) as prof:
        assert run() == expected
    assert len(prof.function_events) > 20


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_anomaly_mode_sees_too() -> None:
    x = tengen.zeros(2, requires_grad=True)
    with ours.profile() as prof, pytest.warns(UserWarning), tengen.autograd.detect_anomaly():
        y = (x / x).sum()
        with pytest.raises(RuntimeError, match=r"DivBackward0.*nan"):
            y.backward()
    assert chosen(prof.function_events, "DivBackward0", "AccumulateGrad") == ["DivBackward0"]


# -- named ranges ----------------------------------------------------------------------------


def test_ranges_nest(m: Any, p: Any) -> None:
    with p.profile() as prof:
        with p.record_function("outer"):
            with p.record_function("inner"):
                m.ones(2).exp()
            m.ones(2).cos()
        m.ones(2).sin()
    events = prof.function_events
    assert parents(named(events, "exp")) == ["inner", "outer"]
    assert parents(named(events, "cos")) == ["outer"] and parents(named(events, "sin")) == []
    assert named(events, "outer").is_user_annotation and not named(events, "exp").is_user_annotation
    assert named(events, "outer").scope == 7


def test_a_range_within_one_of_its_name_is_the_same(m: Any, p: Any) -> None:
    with p.profile() as prof:
        with p.record_function("a"), p.record_function("a"), p.record_function("a"):
            m.ones(2)
        with p.record_function("b"):
            with p.record_function("b"):
                m.ones(2)
            m.ones(2)
    assert chosen(prof.function_events, "a", "b") == ["a", "b", "b"]


def test_range_as_decorator(m: Any, p: Any) -> None:
    @p.record_function("count down")
    def count_down(n: int) -> Any:
        """Down to 0."""
        m.ones(2).exp()
        return count_down(n - 1) if n else m.ones(2).cos()

    with p.profile() as prof:
        count_down(2)
    assert count_down.__name__ == "count_down" and count_down.__doc__ == "Down to 0."
    assert chosen(prof.function_events, "count down") == ["count down"] * 3
    if m is tengen:  # in torch recursion ends the outer ranges early
        assert parents(named(prof.function_events, "cos")) == ["count down"] * 3


def test_ranges_of_generators(m: Any, p: Any) -> None:
    def generate() -> Iterator[int]:
        with p.record_function("generator"):
            m.ones(2).exp()
            yield 1
            m.ones(2).cos()
            yield 2

    with p.profile() as prof:
        steps = generate()
        next(steps)
        with p.record_function("outside"):
            m.ones(2).sin()
            assert list(steps) == [2]
    events = prof.function_events
    assert parents(named(events, "exp")) == ["generator"]
    # They overlap, so neither is in the other.
    assert parents(named(events, "outside")) == [] == parents(named(events, "generator"))
    assert parents(named(events, "sin")) == ["outside"]


def test_a_range_that_does_not_end(m: Any, p: Any) -> None:
    with p.profile() as prof:
        never = p.record_function("open")
        never.__enter__()
        m.ones(2).exp()
    assert named(prof.function_events, "open").is_async
    assert named(prof.function_events, "exp").cpu_parent is None
    never.__exit__(None, None, None)  # later, and without harm
    with pytest.raises((RuntimeError, AssertionError)):
        p.record_function("never entered").__exit__(None, None, None)


def test_range_that_ends_in_another_thread() -> None:
    with ours.profile() as prof:
        range_ = ours.record_function("wanders").__enter__()
        thread = threading.Thread(target=range_.__exit__, args=(None, None, None))
        thread.start()
        thread.join()
        tengen.ones(2)
    event = named(prof.function_events, "wanders")
    assert event.is_async and event.self_cpu_time_total == 0 and event.cpu_time_total > 0
    assert " 0  " in prof.table()


def test_names_of_ranges(m: Any, p: Any) -> None:
    with pytest.raises((TypeError, RuntimeError)), p.profile(), p.record_function(3):
        pass
    with p.record_function("outside of any profile"):
        m.ones(2)
    with p.profile(record_shapes=True) as prof, p.record_function("label", "text"):
        pass
    assert named(prof.function_events, "label").input_shapes == [[]]


# -- threads ---------------------------------------------------------------------------------


def in_thread(function: Callable[[], Any]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def test_other_threads_are_not_seen_unless_asked_for(m: Any, p: Any) -> None:
    if m is tengen:
        from tengen.profiler import _ExperimentalConfig as Config
    else:
        from torch._C._profiler import _ExperimentalConfig as Config
    x = m.ones(3, requires_grad=True)

    def other() -> None:
        x.exp().sum().backward()

    with p.profile() as prof:
        in_thread(other)
        x.cos()
    names = ("exp", "cos", "ExpBackward0")
    assert chosen(prof.function_events, *names) == ["cos"]
    with p.profile(experimental_config=Config(profile_all_threads=True)) as prof:
        in_thread(other)
        x.cos()
    events = prof.function_events
    assert sorted(chosen(events, *names)) == ["ExpBackward0", "cos", "exp"]
    exp, cos = named(events, "exp"), named(events, "cos")
    assert exp.thread != cos.thread and named(events, "ExpBackward0").thread == exp.thread
    assert named(events, "ExpBackward0").fwd_thread == exp.thread


def test_ranges_of_other_threads() -> None:
    from tengen.profiler import _ExperimentalConfig

    ready, done = threading.Event(), threading.Event()

    def other() -> None:
        ready.wait()
        with ours.record_function("theirs"):
            tengen.ones(2).exp()
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    config = _ExperimentalConfig(profile_all_threads=True)
    with ours.profile(experimental_config=config) as prof, ours.record_function("mine"):
        ready.set()
        done.wait()
    thread.join()
    assert parents(named(prof.function_events, "exp")) == ["theirs"]
    assert parents(named(prof.function_events, "theirs")) == []


def test_profiles_of_two_threads_do_not_meet() -> None:
    barrier = threading.Barrier(2)
    found: dict[str, list[str]] = {}

    def run(name: str) -> None:
        with ours.profile() as prof:
            barrier.wait()
            for _ in range(50):
                getattr(tengen.ones(2), name)()
            barrier.wait()
        found[name] = [plain(e) for e in prof.function_events]

    in_threads(run, ("exp", "cos"))
    assert found == {name: ["ones", name] * 50 for name in ("exp", "cos")}
