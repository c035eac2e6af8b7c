"""What makes the house hard to live in, counted: numbers that may only fall.

A number that a change makes smaller is written down smaller, so that no later change undoes it.
"""

from __future__ import annotations

import ast
import functools
import importlib
import re
from collections.abc import Callable, Iterator

import pytest
from syntax_trees import modules, nodes, tree
from test_layers import PROJECT, module_name, runtime_imports, strongly_connected

from tengen import fast_paths
from tengen.testing.declared import declarations

#: What cannot be far above what is counted, or the number would say nothing: a hundredth, or so many.
SLACK = 2


def kernels_without_a_body() -> int:
    """Operators whose CPU kernel is the name of a function."""
    kernels = [o.kernels.get("CPU") for o in declarations().operators]
    return sum(kernel is not None and kernel.function is not None for kernel in kernels)


def native_kernels_apart() -> int:
    """Native kernels that are declared apart from their operators."""
    return len(declarations().native_kernels)


def formulas_with_helpers() -> int:
    """Derivatives with a formula that calls a function by hand."""
    return sum(bool(d.helpers) for d in declarations().derivatives)


def thresholds() -> int:
    """The numbers of core/costs.py from which on something else is done."""
    return len(cost_names())


@functools.cache
def cost_names() -> frozenset[str]:
    found = tree(PROJECT / "runtime" / "core" / "costs.py").body
    return frozenset(
        target.id
        for node in found
        for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
        if isinstance(target, ast.Name) and target.id.isupper()
    )


def functions(folder: str) -> Iterator[ast.FunctionDef]:
    """The functions of a folder of the runtime."""
    for path in modules(f"runtime/{folder}"):
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef):
                yield node


def functions_that_fork() -> int:
    """Kernels that do something else from a number of elements on, or where there are native ones."""
    forks = cost_names() | {"kernels"}
    return sum(
        any(
            isinstance(part, ast.Name) and part.id in forks
            for test in ast.walk(function)
            if isinstance(test, ast.If | ast.IfExp)
            for part in ast.walk(test.test)
        )
        for function in functions("kernels")
    )


def fast_paths_by_hand() -> int:
    """Fast paths of the C machine that are written by hand."""
    for path in modules("runtime/kernels") + modules("runtime/composite") + modules("runtime/tensors"):
        if "@fast_path(" in path.read_text(encoding="utf-8"):
            importlib.import_module(f"tengen.{module_name(path)}")
    # Tests write some too, where the same process has imported those.
    return sum(function.__module__.startswith("tengen.") for function, _ in fast_paths.by_hand)


def texts_read_back() -> int:
    """Regular expressions by which the generator reads text that it wrote itself."""
    return sum(
        len(re.findall(r"\bre\.\w+\(", path.read_text(encoding="utf-8")))
        for path in modules("codegen/specialise")
    )


def largest_ring() -> int:
    """Modules of the runtime that import each other in a ring; imports for type checkers count."""
    return max(map(len, strongly_connected(runtime_imports(for_types=True))))


def lines_by_hand() -> int:
    """Hand-written lines of the runtime, without those of the compiler, which no operator needs."""
    compiler = {*modules("runtime/compilation"), PROJECT / "runtime" / "compiler.py"}
    paths = [path for path in modules("runtime") if path not in compiler]
    return sum(len(path.read_bytes().splitlines()) for path in paths)


def raises_in_silence(folder: str) -> int:
    """Public functions that raise, and whose docstring does not say so."""
    return sum(
        not function.name.startswith("_")
        and not is_abstract(function)
        and any(isinstance(part, ast.Raise) and part.exc is not None for part in ast.walk(function))
        and not re.search(r"[Rr]aise|[Ee]rror", ast.get_docstring(function) or "")
        for function in functions(folder)
    )


def is_abstract(function: ast.FunctionDef) -> bool:
    """Whether subclasses alone have it: its docstring says what theirs return."""
    last = function.body[-1]
    return len(function.body) <= 2 and ast.unparse(last) == "raise NotImplementedError"


def kernels_that_raise_in_silence() -> int:
    return raises_in_silence("kernels")


def composites_that_raise_in_silence() -> int:
    return raises_in_silence("composite")


# Five rose once: sampling images on grids was a composite of gathers, at seven times PyTorch's time. The
# lines rose once more: what moves elements as bodies say serves all such operators, and few are declared so.
RATCHETS: dict[Callable[[], int], int] = {
    kernels_without_a_body: 116,
    native_kernels_apart: 45,
    formulas_with_helpers: 101,
    thresholds: 36,
    functions_that_fork: 37,
    fast_paths_by_hand: 1,
    texts_read_back: 0,
    largest_ring: 16,
    lines_by_hand: 123410,
    kernels_that_raise_in_silence: 0,
    composites_that_raise_in_silence: 0,
}


@pytest.mark.parametrize("count", RATCHETS, ids=lambda count: count.__name__)
def test_it_only_falls(count: Callable[[], int]) -> None:
    found, most = count(), RATCHETS[count]
    assert found <= most, f"{count.__doc__}: {found}, and there were {most}"
    assert most <= found + max(SLACK, found // 100), f"it has fallen: write {found} for {count.__name__}"
