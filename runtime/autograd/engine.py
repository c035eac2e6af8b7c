"""The engine: runs a graph backwards.

It moves arrays. Gradients are Tensors only where a user sees them (hooks, ``grad``), when
``create_graph`` asks for a result that can be differentiated again, or when an interceptor has
something to say to them (a tangent, a batch): then every Node's ``apply_graph`` runs, with
recording on or off.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..core.error_notes import note_derivative
from ..core.function_dispatch import enter_engine, state as overrides
from ..core.interception import Layer, active, intercepts_gradients, notify_grad
from ..core.thread_state import call_in_new_thread, stack_is_deep
from ..fast_paths import engine as fast_loop
from .anomaly_mode import run_watched
from .autograd_meta import meta_of
from .deferred import defer, settle, settle_all
from .edge import Edge
from .grad_mode import grad_mode
from .graph_task import Capture, GraphTask, current
from .hooks import NodeExtra, run_hooks, run_post_hooks, run_pre_hooks
from .input_buffer import Buffers, add_arrays, deliver
from .input_metadata import as_array, fit_array, fit_tensor, wrapped
from .linear_maps import accumulated
from .node import GraphRoot, Node
from .ownership import is_locals_only
from .saved_variable import anomaly


def execute(
    roots: Sequence[Edge],
    grads: Sequence[Any],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Edge] | None = None,
    accumulate: bool = True,
) -> list[Any]:
    """Run backwards from ``roots``, with the Tensors ``grads`` arriving there.

    Without ``inputs`` the gradients of all leaves are accumulated; with it only theirs, or, when
    ``accumulate`` is False, the gradients arriving at these edges are returned instead, as
    Tensors, None where nothing arrived.
    """
    outer = current.task
    if outer is not None and stack_is_deep():  # a pass within a pass
        return call_in_new_thread(
            partial(execute, roots, grads, keep_graph, create_graph, inputs, accumulate)
        )
    over_tensors = create_graph or (bool(active) and intercepts_gradients())
    over_tensors = over_tensors or any([getattr(g, "_wraps", False) for g in grads])
    values = tuple(grads) if over_tensors else tuple([g._array for g in grads])
    root = GraphRoot(tuple(roots), values)
    del values
    task = GraphTask(root, keep_graph, over_tensors, inputs, accumulate)
    before, overriding = grad_mode.enabled, enter_engine()
    grad_mode.enabled = create_graph and not grad_mode.inference
    current.task = task
    try:
        run(task, root)
        task.run_callbacks()
    except Exception as error:
        note_derivative(error)
        raise
    finally:
        grad_mode.enabled, current.task = before, outer
        overrides.level, overrides.outside = overriding
    return task.captured


def run(task: GraphTask, root: Node) -> None:
    """Run the Nodes of the task in their order."""
    if not task.order:
        return
    buffers: Buffers = {root: ()}
    loop = None if task.over_tensors or anomaly.enabled or task.observers else fast_loop()
    if loop is None:
        _run_all(task, buffers)
    else:
        given = task.order, task.needed, task.deferred, task.keep_graph
        loop(task, buffers, *given, _run_slow, _deliver_fitted, _add, settle)
    if buffers or task.deferred:
        late = ", ".join(sorted({node.name() for node in (*buffers, *task.deferred)}))
        raise RuntimeError(
            f"a gradient came to {late} after its turn: it is newer than a Node that leads to it"
        )


def _add(buffers: Buffers, target: Node, value: Any) -> None:
    """Add an array that fits to what has come to ``target``, a Node of one input."""
    if target.shape:
        add_arrays(target.type.backend.lib, buffers, target, value)
    else:
        buffers[target] = target.type.backend.lib.add(buffers[target], value)


def _run_all(task: GraphTask, buffers: Buffers) -> None:
    """The loop over the Nodes; the C machine has it too."""
    pop = buffers.pop
    graph = task.over_tensors
    keep = task.keep_graph
    needed = task.needed
    watched = anomaly.enabled or task.observers
    deferred = task.deferred
    for node in task.order:
        grad = pop(node, None)
        if deferred and node in deferred:
            grad = settle(deferred, node, grad)
        if grad is None or watched or node.extra is not None or grad.__class__ is list:
            if watched and node.__class__ is not Capture:
                given = [grad]
                grad = None  # whoever takes it over must be the only one that holds it
                grads = _run_watched(task, buffers, node, given)
            else:
                grads = _run_slow(task, buffers, node, grad)
            if grads is None:
                continue
        elif graph:
            grads = node.apply_graph(grad)
        else:
            grads = node.apply(grad)
        if not keep:
            node.release()
        grad = None  # nothing here may hold a gradient that somebody could take over
        edges = node.next_edges
        index = 0
        for value in grads:
            if value is not None:
                edge = edges[index]
                if edge is not None:
                    target = edge[0]
                    if needed is None or target in needed:
                        if value.shape != target.shape or value.dtype is not target.type.dtype:
                            _deliver_fitted(task, buffers, node, index, edge, value)
                        elif target not in buffers:
                            buffers[target] = value
                        else:
                            _add(buffers, target, value)
            index += 1  # noqa: SIM113  # enumerate costs a tenth of the loop
        grads = value = None


def _deliver_fitted(
    task: GraphTask, buffers: Buffers, node: Node, index: int, edge: Edge, value: Any
) -> None:
    """Give the result ``index`` of ``node`` to where it goes, as it must be there."""
    target, number = edge[0], edge[1]
    shape, T = target.shape, target.type
    graph = task.over_tensors
    if T.__class__ is tuple:
        shape, T = shape[number], T[number]
    elif not graph and defer(task.deferred, target, value):
        return
    fit = fit_tensor if graph else fit_array
    deliver(buffers, target, number, fit(value, shape, T, node, index), graph)


def _run_watched(task: GraphTask, buffers: Buffers, node: Node, given: list[Any]) -> tuple[Any, ...] | None:
    """As _run_slow, watched by anomaly mode and by observers. The gradient is all that ``given`` has."""
    run = partial(_run_given, task, buffers, node, given)
    if anomaly.enabled:
        run = partial(run_watched, node, run)
    for observer in task.observers:
        run = partial(observer.evaluate, node, run)
    return run()


def _run_given(task: GraphTask, buffers: Buffers, node: Node, given: list[Any]) -> tuple[Any, ...] | None:
    """Run a Node that is watched, on the gradient that is taken out of ``given``."""
    if given[0] is None or node.extra is not None or given[0].__class__ is list:
        result = _run_slow(task, buffers, node, given.pop())
    else:
        result = _apply(task.observers, task.over_tensors, node, given)
    if task.observers and not task.keep_graph:
        node.release()  # while they look on
    return result


def _apply(observers: Sequence[Layer], graph: bool, node: Node, given: list[Any]) -> tuple[Any, ...]:
    """The Node's results for the gradient that is taken out of ``given``, while ``observers`` look on."""
    if not observers:
        grad = given.pop()  # a variable, as in `run`: AccumulateGrad counts on it
        return node.apply_graph(grad) if graph else node.apply(grad)
    rest = partial(_apply, observers[:-1], graph, node, given)
    result: tuple[Any, ...] = observers[-1].apply(node, given, rest)
    return result


def _run_slow(task: GraphTask, buffers: Buffers, node: Any, grad: Any) -> tuple[Any, ...] | None:
    """Run a Node that has hooks, several inputs or no gradient, or a Capture; None: nothing comes of it."""
    graph = task.over_tensors
    if task.deferred and (node.__class__ is Capture or node.extra is not None or node.foreign):
        settle_all(task.deferred, buffers)  # the sums are asked for, or what waits may be written to
    if node.__class__ is Capture:
        _capture(task, buffers, node)
        return None
    if node.type.__class__ is tuple:
        grad = (None,) * len(node.type) if grad is None else tuple(grad)
    if node.extra is not None:
        grad = _run_extra(node, node.extra, grad, graph)
        if node.extra.pre_hooks or node.extra.post_hooks:
            return _run_hooked(node, node.extra, grad, graph, task.observers)
    if not node.runs_undefined and not any_defined(grad):
        if not task.keep_graph:
            node.release()
        return None
    if task.observers:
        given = [grad]
        del grad
        return _apply(task.observers, graph, node, given)
    result: tuple[Any, ...] = node.apply_graph(grad) if graph else node.apply(grad)
    return result


def _run_hooked(
    node: Node, extra: NodeExtra, grad: Any, graph: bool, observers: Sequence[Layer]
) -> tuple[Any, ...]:
    """Run a Node that has hooks of its own, which see Tensors."""
    several = node.type.__class__ is tuple
    types = node.type if several else (node.type,)
    incoming = grad if several else (grad,)
    if not graph:
        incoming = tuple([None if g is None else wrapped(g, T) for g, T in zip(incoming, types, strict=True)])
    if extra.pre_hooks:
        incoming = run_pre_hooks(extra.pre_hooks, incoming)
    # The list is to hold nothing that the Node could take over when no hook looks at it afterwards.
    values = incoming if graph else tuple([None if g is None else g._array for g in incoming])
    grad = values if several else values[0]
    del values
    if not extra.post_hooks:
        del incoming
    result: tuple[Any, ...] = (None,) * len(node.next_edges)
    if node.runs_undefined or any_defined(grad):
        if observers:
            given = [grad]
            grad = None
            result = _apply(observers, graph, node, given)
        else:
            result = node.apply_graph(grad) if graph else node.apply(grad)
    if not extra.post_hooks:
        return result
    if not graph:
        result = tuple(
            [
                None if g is None else _type_at(edge, types[0]).of_array(g).wrap(g)
                for g, edge in zip(result, node.next_edges, strict=False)
            ]
        )
    result = run_post_hooks(extra.post_hooks, result, incoming)
    return result if graph else tuple([None if g is None else g._array for g in result])


def _type_at(edge: Edge | None, default: Any) -> Any:
    """The Type of the gradient that goes along an edge."""
    if edge is None:
        return default
    T = edge[0].type
    return T[edge[1]] if T.__class__ is tuple else T


def any_defined(grad: Any) -> bool:
    """Whether a gradient, or one of several, is there."""
    return any([g is not None for g in grad]) if grad.__class__ is tuple else grad is not None


def _capture(task: GraphTask, buffers: Buffers, capture: Capture) -> None:
    """Note the gradients that arrive at a Node, which runs afterwards only when something needs it."""
    node = capture.node
    several = node.type.__class__ is tuple
    # The Node's own run calls the hooks when it comes; here they run only when it does not.
    needed, runs = task.needed or (), False
    for edge in node.next_edges:
        if edge is not None and edge[0] in needed:
            runs = True
            break
    grads = buffers.get(node) if runs else buffers.pop(node, None)
    if several:
        grads = (None,) * len(node.type) if grads is None else tuple(grads)
    if not runs and node.extra is not None:
        grads = _run_extra(node, node.extra, grads, task.over_tensors)
    for number, index in capture.wanted:
        value: Any = grads
        if value.__class__ is tuple:
            value = value[number]
        elif len(capture.wanted) == 1:
            grads = None  # so that an array that only this function holds is seen to be that
        if value is not None and not task.over_tensors:
            T = node.type[number] if several else node.type
            value = as_array(value, T)
            T = T.of_array(value)
            if not is_locals_only(value):
                value = T.backend.lib.copy(value)
            value = T.wrap(value)
        task.captured[index] = value


def _run_extra(node: Node, extra: NodeExtra, grad: Any, graph: bool) -> Any:
    """The incoming gradients after the hooks of the tensors, and retained by those that asked."""
    if extra.tensor_hooks is None and extra.retained is None:
        return grad
    several = node.type.__class__ is tuple
    values = list(grad) if several else [grad]
    types = node.type if several else (node.type,)
    for number, T in enumerate(types):
        hooks = None if extra.tensor_hooks is None else extra.tensor_hooks.get(number)
        keeper = None if extra.retained is None else extra.retained.get(number)
        if not hooks and keeper is None:
            continue
        value = values[number]
        if value is not None and not graph:
            value = wrapped(value, T)
        if hooks:
            value = run_hooks(hooks, value)
        tensor = None if keeper is None else keeper()
        if tensor is not None and value is not None:
            _retain(tensor, value)
        values[number] = value if graph or value is None else value._array
    return tuple(values) if several else values[0]


def _retain(tensor: Any, grad: Any) -> None:
    """Keep ``grad`` as the gradient of a tensor that is not a leaf."""
    notify_grad(tensor)
    meta = meta_of(tensor)
    meta.grad = accumulated(meta.grad, grad)
