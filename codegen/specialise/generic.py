"""Specialise: methods in a few words, for Types where size counts more than speed.

What a flat method does statement by statement, such a method leaves to one call of a function of the module
``tengen.dispatch.generic_methods``. The hooks ``load`` and ``store`` of a Type say how it differs from
others, so that the scalar types of a backend share the method.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...ir.expressions import Call, Conditional, Constant, Expr, Keyword, Lambda, Name, Parameter, dotted
from ...ir.reader import filled
from ...ir.statements import NONE, names, tuple_of
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
    compute = method.call
    if method.blocked is not None:
        compute = Conditional(method.small, method.call, method.blocked)
    function = Lambda(tuple([Parameter(name, value) for name, value in method.locals]), compute)
    # All arguments, with which the method of a twin may be called; else those that errors tell of.
    arguments = method.arguments or tuple_of(names(method.tensors))
    given = (Name("T"), Constant(method.name), arguments, function)
    call = Call(Name(_runner(method)), given, tuple(_finish(method)))
    header = method.name, method.operator, method.parameters, method.returns
    if method.structure and len(method.results) > 1:
        call = Call(dotted(method.structure), (call,))
    return CallMethod(*header, call, forbidden=method.forbidden)


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
            assert method.arguments is not None, method
            return "run_kernels"
    return "run_factory" if method.arguments is None else "run_kernel"


def _finish(method: KernelMethod) -> Iterator[Keyword]:
    """What becomes of the arrays, where it is not the plain thing."""
    first = method.results[0]
    if first.type is not None and first.kind is not ResultKind.VIEWS:
        yield Keyword("result_type", first.type)
    if first.cast is not None:
        yield Keyword("store", filled(_STORE[first.cast]))
    layouts = [_layout(r) for r in method.results]
    if any(layout != NONE for layout in layouts):
        one = len(layouts) == 1
        yield Keyword("layout", layouts[0]) if one else Keyword("layouts", tuple_of(layouts))
    if method.may_be_scalars and first.kind is ResultKind.TENSOR:
        yield Keyword("as_array", Name("_asarray"))


def _layout(result: Result) -> Expr:
    """The function that gives a result its layout."""
    if result.relaid is None:
        return NONE
    r = result.variable
    laid = Conditional(result.relaid.condition, result.relaid.call, Name(r))
    return Lambda((Parameter(r),), laid)


def make_cold_generic(top: ClassNode, hot: Collection[str], kept: Collection[str] = ()) -> None:
    """Write generically what the ``hot`` leaves of a tree of classes do not run, but for ``kept`` methods."""
    paths = list(_paths(top))
    run = {
        (name, owner)
        for path in paths
        if path[-1].name in hot
        for name, owner in {name: node.name for node in path for name in node.methods}.items()
    }
    for node in {node.name: node for path in paths for node in path}.values():
        for name, method in node.methods.items():
            if isinstance(method, KernelMethod) and name not in kept and (name, node.name) not in run:
                node.methods[name] = generic(method)


def _paths(node: ClassNode) -> Iterator[tuple[ClassNode, ...]]:
    """The ways from a class down to its leaves."""
    if not node.children:
        yield (node,)
    for child in node.children:
        yield from ((node, *path) for path in _paths(child))
