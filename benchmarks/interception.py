"""What it costs that operators can be intercepted, and what a profile costs, against torch's.

Three parts. First, from the bytecode of all generated bindings: which objects they look at that can
change. Second, the time of a call while nothing intercepts, against a copy of the binding from which
the test was taken out. Third, a chain of operators forward and backward with and without a profile.
"""

from __future__ import annotations

import dis
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from chain import chain
from harness import Rival, in_turn, row, torch_or_none

import tengen
from tengen.core.interception import active
from tengen.generated import functions, tensor_methods

#: What cannot change, or is code: looking at it is no test for anything that may be on or off.
FIXED = (type, FunctionType, BuiltinFunctionType, ModuleType, frozenset, str, int, float, tuple, type(None))

LENGTH = 500


# -- what bindings look at -----------------------------------------------------------------


def bindings(module: ModuleType) -> Iterator[FunctionType]:
    """The generated functions of a module, methods too."""
    for value in vars(module).values():
        members = vars(value).values() if isinstance(value, type) else (value,)
        for member in members:
            if isinstance(member, FunctionType) and member.__module__ == module.__name__:
                yield member


def changeable(function: FunctionType) -> list[str]:
    """The globals that a function looks at and that may change, once for each time that it does."""
    found = []
    for instruction in dis.get_instructions(function):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            name = instruction.argval
            value = function.__globals__.get(name, getattr(__import__("builtins"), name, None))
            if not isinstance(value, FIXED):
                found.append(name)
    return found


def look(modules: tuple[ModuleType, ...]) -> None:
    """Print which objects that may change the bindings look at; AssertionError when not only ``active``."""
    for module in modules:
        seen: Counter[tuple[str, ...]] = Counter()
        for function in bindings(module):
            names = tuple(changeable(function))
            assert set(names) <= {"active"}, f"{module.__name__}.{function.__qualname__} looks at {names}"
            assert "active" not in names or function.__globals__["active"] is active
            seen[names] += 1
        name = module.__name__.rpartition(".")[2]
        counts = ", ".join(f"{n}: {' and '.join(k) or 'none'}" for k, n in sorted(seen.items()))
        print(f"  {name:20} {counts}")


# -- what the test costs ---------------------------------------------------------------------


def stripped(function: FunctionType) -> Callable[..., Any]:
    """The function without its test of ``active``."""
    source = textwrap.dedent(inspect.getsource(function))
    without = source.replace("if not active and ", "if ").replace("if not active:", "if True:")
    assert without != source and "active" not in without, f"{function.__name__}: no test to take out"
    scope: dict[str, Any] = {}
    exec(compile(without, f"<{function.__name__} without its test>", "exec"), function.__globals__, scope)
    made: Callable[..., Any] = scope[function.__name__]
    assert "active" not in changeable(made)  # type: ignore[arg-type]
    return made


def test_costs(rounds: int) -> None:
    """Print the time of calls with and without the test, nothing being active."""
    assert not active
    x, y = tengen.full((8, 8), 1.5), tengen.full((8, 8), 0.5)
    calls: dict[str, tuple[FunctionType, tuple[Any, ...]]] = {
        "Tensor.mul": (tensor_methods.TensorMethods.mul, (x, y)),
        "Tensor.exp": (tensor_methods.TensorMethods.exp, (x,)),
        "Tensor.t": (tensor_methods.TensorMethods.t, (x,)),
        "tengen.add": (functions.add, (x, y)),
        "tengen.cat": (functions.cat, ((x, y),)),
    }
    for name, (function, arguments) in calls.items():
        rivals = {
            "stripped": caller(stripped(function), arguments),
            "tengen": caller(function, arguments),
        }
        print(row("  " + name, in_turn(rivals, rounds=rounds, calls=500), "stripped"))


def caller(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Rival:
    return lambda: function(*arguments)


# -- what a profile costs ----------------------------------------------------------------------


def profiled(profile: Any, run: Rival, options: dict[str, bool]) -> Rival:
    """The same in a profile, which is begun and ended each time."""

    def profiled_run() -> None:
        with profile(**options):
            run()

    return profiled_run


def profile_costs(rounds: int) -> None:
    """Print the time of each operator of the chain in a profile, and the ratio to the time without."""
    modules = {"tengen": tengen, "torch": torch_or_none()}
    for options in ({}, {"record_shapes": True}, {"profile_memory": True}, {"with_stack": True}):
        rivals: dict[str, Rival] = {}
        for name, module in modules.items():
            if module is not None:
                profile = __import__(f"{name}.autograd.profiler", fromlist=["profile"]).profile
                rivals[f"{name} alone"] = chain(module, LENGTH)
                rivals[name] = profiled(profile, chain(module, LENGTH), options)
        seconds = {name: t / LENGTH for name, t in in_turn(rivals, rounds=rounds).items()}
        for name in modules:
            if name in seconds:
                pair = {"alone": seconds[f"{name} alone"], "profiled": seconds[name]}
                words = ", ".join(options) or "times only"
                print(row(f"  {name}: {words}", pair, "alone", "profiled"))


def main(rounds: int = 25) -> None:
    """Print all three parts."""
    print("objects that may change, and how many bindings look at them")
    look((tensor_methods, functions))
    print("a call, nothing intercepting: with the test, and stripped of it")
    test_costs(rounds)
    print(f"{LENGTH} operators forward and backward, per operator: in a profile, and alone")
    profile_costs(rounds)


if __name__ == "__main__":
    main()
