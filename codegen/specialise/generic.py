"""Specialise: methods in a few words, for Types where size counts more than speed.

What a flat method does statement by statement, such a method leaves to one call of a function of the module
``tengen.dispatch.generic_methods``. The hooks ``load`` and ``store`` of a Type say how it differs from
others, so that the scalar types of a backend share the method.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..model.methods import CallMethod, KernelMethod
from ..model.results import Cast, Result, ResultKind
from .hoist import ClassNode

_STORE = {
    Cast.ALWAYS: "T.store",
    Cast.IF_COMPUTED_IN: "T.store_computed",
    Cast.UNDIRECTED: "T.store_computed if dtype is None else None",
}


def generic(method: KernelMethod) -> CallMethod:
    """The same method as one call."""
    compute = f"({method.call}) if {method.small} else {method.blocked}" if method.blocked else method.call
    values = ", ".join(f"{name}={value}" for name, value in method.locals)
    function = f"lambda{' ' + values if values else ''}: {compute}"
    given = ["T", f'"{method.name}"', _arguments(method), function, *_finish(method)]
    call = f"{_runner(method)}({', '.join(given)})"
    named = bool(method.structure) and len(method.results) > 1
    call = f"{method.structure}({call})" if named else call
    return CallMethod(method.name, method.operator, method.parameters, method.returns, call)


def _arguments(method: KernelMethod) -> str:
    """All arguments, with which the method of a twin may be called; else those that errors tell of."""
    tensors = method.tensors.removeprefix(", ")
    return method.arguments or (f"({tensors},)" if tensors else "()")


def _runner(method: KernelMethod) -> str:
    match method.results[0].kind:
        case ResultKind.VIEW:
            return "run_view"
        case ResultKind.VIEWS:
            return "run_views"
        case ResultKind.LIST:
            return "run_shared_list" if method.shares else "run_kernels"
        case _ if method.shares:
            return "run_shared"
        case _ if len(method.results) > 1:
            assert method.arguments, method
            return "run_kernels"
    return "run_kernel" if method.arguments else "run_factory"


def _finish(method: KernelMethod) -> Iterator[str]:
    """What becomes of the arrays, where it is not the plain thing."""
    first = method.results[0]
    if first.type and first.kind is not ResultKind.VIEWS:
        yield f"kind={first.type}"
    if first.cast is not None:
        yield f"store={_STORE[first.cast]}"
    layouts = [_layout(r) for r in method.results]
    if any(layout != "None" for layout in layouts):
        yield f"layout={layouts[0]}" if len(layouts) == 1 else f"layouts=({', '.join(layouts)})"
    if method.may_be_scalars and first.kind is ResultKind.TENSOR:
        yield "as_array=_asarray"


def _layout(result: Result) -> str:
    """The function that gives a result its layout."""
    if result.relaid is None:
        return "None"
    r = result.variable
    return f"lambda {r}: ({result.relaid.call}) if {result.relaid.condition} else {r}"


def make_cold_generic(top: ClassNode, hot: Collection[str]) -> None:
    """Write generically what the ``hot`` leaves of a tree of classes do not run."""
    paths = list(_paths(top))
    run = {
        (name, owner)
        for path in paths
        if path[-1].name in hot
        for name, owner in {name: node.name for node in path for name in node.methods}.items()
    }
    for node in {node.name: node for path in paths for node in path}.values():
        for name, method in node.methods.items():
            if isinstance(method, KernelMethod) and (name, node.name) not in run:
                node.methods[name] = generic(method)


def _paths(node: ClassNode) -> Iterator[tuple[ClassNode, ...]]:
    """The ways from a class down to its leaves."""
    if not node.children:
        yield (node,)
    for child in node.children:
        yield from ((node, *path) for path in _paths(child))
