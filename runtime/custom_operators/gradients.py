"""Derivatives of operators that a program defines: a formula, an Autograd kernel of their own, or neither."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..autograd.edge import Edge, gradient_edge
from ..autograd.function import Function, FunctionMeta
from ..autograd.grad_mode import grad_mode
from ..autograd.node import Node
from ..autograd.variable_type_utils import rebase
from ..autograd.view import differentiable
from ..core.interception import layers_hidden
from ..core.tensor_base import TensorBase
from ..core.thread_state import current_thread
from ..core.user_stack import program_stacklevel
from ..utils.pytree import tree_structure
from .keys import AUTOGRAD
from .operator import Kernel
from .overloads import bind

if TYPE_CHECKING:
    from .operator import CustomOperator


class Formula:
    """What ``register_autograd`` was given, as an ``autograd.Function`` whose Node is that of each call."""

    __slots__ = ("backward", "function", "kernel", "operator", "setup_context", "structured")

    def __init__(
        self,
        operator: CustomOperator,
        backward: Callable[..., Any] | None = None,
        setup_context: Callable[..., Any] | None = None,
        source: str = "",
    ) -> None:
        self.operator = operator
        #: What is registered: it counts from when the operator has it, for the key Autograd.
        self.kernel = Kernel(self.call, AUTOGRAD, False, source, self)
        self.backward = backward
        self.setup_context = setup_context
        ns, _, name = operator.function.partition("::")
        overload = operator.signature.overload_name or "default"
        #: Whether a Function's arguments and results are not simply the operator's.
        self.structured = not operator.is_plain
        made = _structured_methods(self) if self.structured else _plain_methods(self)
        attributes: dict[str, Any] = {m.__name__: staticmethod(m) for m in made}
        title = f"GeneratedBackwardFor_{ns}_{name}_{overload}"
        self.function: type[Function] = FunctionMeta(title, (Function,), attributes)  # type: ignore[assignment]

    def call(self, *args: Any, **keywords: Any) -> Any:
        """Run the operator with this derivative, whatever was registered since."""
        operator = self.operator
        bound = tuple(bind(operator, args, keywords))
        tensors = operator._tensors(bound)
        return self.run(operator.backend(tensors, bound), tensors, bound)

    def run(self, backend: str, tensors: Sequence[Any], arguments: tuple[Any, ...]) -> Any:
        """Run the operator. What its kernel calls is not recorded, whatever it captures."""
        if grad_mode.enabled and any([t._requires_grad for t in tensors]):
            return self.record(backend, arguments)
        before, grad_mode.enabled = grad_mode.enabled, False
        try:
            return self.operator.below(backend, arguments)
        finally:
            grad_mode.enabled = before

    def record(self, backend: str, arguments: tuple[Any, ...]) -> Any:
        """Run the operator where gradients are recorded: its results have the Function's Node."""
        operator = self.operator
        if operator.signature.out_variant:
            raise RuntimeError(
                f"{operator.function.partition('::')[2]}(): functions with out=... arguments don't support "
                "automatic differentiation, but one of the arguments requires grad."
            )
        if not self.structured:
            return self.function.apply(*arguments)
        call = _Call(operator, backend, arguments)
        result = self.function.apply(*call.inputs, call)
        if call.gives is None:
            return result
        return _grouped(result, call.gives) if operator.signature.is_tuple else list(result)

    def gradients(self, ctx: Any, grads: Sequence[Any]) -> tuple[Any, ...]:
        """What ``backward`` returns for the arguments by position; it need return nothing for no tensor.

        RuntimeError where none was registered.
        """
        if self.backward is None:
            raise RuntimeError(
                f"Trying to backward through {self.operator.overload} but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        found = self.backward(ctx, *grads)
        several = found if isinstance(found, tuple) else (found,)
        total = self.operator.positional
        if len(several) < total and not any([len(several) <= i < total for i in self.operator.tensors]):
            several = (*several, *[None] * (total - len(several)))
        return several


def _plain_methods(formula: Formula) -> tuple[Callable[..., Any], ...]:
    """The methods of the Function of an operator whose arguments and results are its own."""
    operator = formula.operator

    def forward(*given: Any) -> Any:
        return operator.below(operator.backend(operator._tensors(given), given), given)

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        if formula.setup_context is not None:
            formula.setup_context(ctx=ctx, inputs=inputs, output=output)

    def backward(ctx: Any, *grads: Any) -> Any:
        return formula.gradients(ctx, grads)

    return forward, setup_context, backward


# -- lists of tensors, and arguments by keyword ---------------------------------------------------

#: Of arguments or results the length of each list of tensors; None for what is none.
_Lengths = list[int | None]


class _Call:
    """One call of an operator, behind the Function's other arguments: what these do not show."""

    __slots__ = ("arguments", "backend", "gives", "inputs", "operator", "result", "takes")

    def __init__(self, operator: CustomOperator, backend: str, arguments: tuple[Any, ...]) -> None:
        self.operator = operator
        self.backend = backend
        self.arguments: tuple[Any, ...] = arguments
        self.result: Any = None
        #: The arguments by position, with the elements of lists of tensors one by one; forgotten at the end.
        self.inputs: Sequence[Any] = arguments[: operator.positional]
        #: Of the arguments and of the results, where a list of tensors is among them.
        self.takes: _Lengths | None = None
        self.gives: _Lengths | None = None
        lengths = _lengths(self.inputs)
        if any([n is not None for n in lengths]):
            self.takes = lengths
            self.inputs = _flat(self.inputs, lengths)

    def run(self) -> Any:
        """The results, those in lists one by one."""
        self.result = result = self.operator.below(self.backend, self.arguments)
        if result.__class__ is list:
            self.gives = [len(result)]
            return tuple(result)
        if result.__class__ is tuple:
            lengths = _lengths(result)
            if any([n is not None for n in lengths]):
                self.gives = lengths
                return _flat(result, lengths)
        return result

    def forget(self) -> None:
        """Keep nothing of the user's: the Node lives on with the call."""
        self.arguments = self.inputs = ()
        self.result = None


def _structured_methods(formula: Formula) -> tuple[Callable[..., Any], ...]:
    """The methods of the Function of an operator with lists, or with arguments by keyword alone."""

    def forward(*given: Any) -> Any:
        return given[-1].run()

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        call: _Call = inputs[-1]
        needed = ctx.needs_input_grad[:-1]
        ctx.needs_input_grad = needed if call.takes is None else _grouped(needed, call.takes)
        ctx._operator_call = call
        setup = formula.setup_context
        if setup is not None:
            args, keywords = call.operator.divided(call.arguments)
            more = {"keyword_only_inputs": keywords} if keywords else {}
            setup(ctx=ctx, inputs=tuple(args), **more, output=call.result)
        call.forget()

    def backward(ctx: Any, *grads: Any) -> Any:
        call: _Call = ctx._operator_call
        several = formula.gradients(ctx, grads if call.gives is None else _grouped(grads, call.gives))
        if call.takes is None:
            return (*several, None)
        total = len(call.takes)
        if all([g is None for g in several[total:]]):
            several = several[:total]
        got: Any = tuple([_as_leaves(g) for g in several])
        wanted: Any = tuple([None if n is None else [None] * n for n in call.takes])
        if tree_structure(got) != tree_structure(wanted):
            raise RuntimeError(
                "Expected the return from backward to be of the same structure as the inputs. Got: "
                f"{tree_structure(got)} (return from backward), {tree_structure(wanted)} (inputs)"
            )
        return (*_flat(several, call.takes), None)

    return forward, setup_context, backward


def _lengths(values: Sequence[Any]) -> _Lengths:
    return [
        len(v) if v.__class__ in (list, tuple) and all([isinstance(t, TensorBase) for t in v]) else None
        for v in values
    ]


def _flat(values: Sequence[Any], lengths: _Lengths) -> tuple[Any, ...]:
    found: list[Any] = []
    for value, length in zip(values, lengths, strict=True):
        if length is None:
            found.append(value)
        else:
            found += value
    return tuple(found)


def _grouped(flat: Sequence[Any], lengths: _Lengths) -> tuple[Any, ...]:
    found: list[Any] = []
    at = 0
    for length in lengths:
        step = 1 if length is None else length
        found.append(flat[at] if length is None else list(flat[at : at + step]))
        at += step
    return tuple(found)


def _as_leaves(gradient: Any) -> Any:
    """A list of gradients as a list of leaves; all else is one."""
    if gradient.__class__ is list and all([g is None or isinstance(g, TensorBase) for g in gradient]):
        return [None] * len(gradient)
    return None


# -- an Autograd kernel of the program's own ----------------------------------------------------


def run_own(operator: CustomOperator, kernel: Kernel, backend: str, arguments: tuple[Any, ...]) -> Any:
    """Run what was registered for the key Autograd; where that calls the operator, it goes below autograd."""
    thread = current_thread.ident
    if thread in operator.inside:
        return operator.below(backend, arguments)
    operator.inside.add(thread)
    try:
        with layers_hidden():
            return operator.finished(operator.run(kernel, arguments))
    finally:
        operator.inside.discard(thread)


# -- none ---------------------------------------------------------------------------------------


class WarnNotImplemented(Node):
    """The Node of an operator for which nothing was registered: a warning, and no gradients."""

    __slots__ = ("operator",)

    runs_undefined = True
    operator: str

    def __init__(self, operator: str, next_edges: tuple[Edge | None, ...]) -> None:
        super().__init__(next_edges)
        self.operator = operator

    def apply(self, grad: Any) -> tuple[Any, ...]:
        _warn(self.operator)
        return (None,) * len(self.next_edges)

    apply_graph = apply


def _warn(operator: str) -> None:
    warnings.warn(
        f"{operator}: an autograd kernel was not registered to the Autograd key(s) but we are trying to "
        "backprop through it. This may lead to silently incorrect behavior. This behavior is deprecated. "
        "If your operator is differentiable, please ensure you have registered an autograd kernel to the "
        "correct Autograd key (tengen.library.register_autograd does). If your operator is not "
        "differentiable, or to squash this warning, please register tengen.library.fallthrough_kernel to "
        "the key Autograd.",
        UserWarning,
        stacklevel=program_stacklevel(),
    )


def record_without(
    operator: CustomOperator, backend: str, tensors: Sequence[Any], arguments: tuple[Any, ...]
) -> Any:
    """Run an operator that has no derivative where gradients are recorded.

    What the kernel calls is recorded as it is called. A backward pass through a result warns.
    """
    node = WarnNotImplemented(operator.name, tuple([gradient_edge(t) for t in tensors]))
    written = {id(t) for i in operator.written for t in _listed(arguments[i])}
    result = operator.below(backend, arguments)
    results = [r for r in (result if operator.signature.is_tuple else (result,))]
    fresh: list[Any] = []
    for out in [t for r in results for t in _listed(r)]:
        if not isinstance(out, TensorBase) or not differentiable(out._type):
            continue
        if out._requires_grad:
            _warn_at(operator.name, out, id(out) in written)
        else:
            fresh.append(out)
    node.shape = tuple([t._array.shape for t in fresh])
    node.type = tuple([t._type for t in fresh])
    for number, out in enumerate(fresh):
        handle: Any = out
        if id(out) in written:
            rebase(handle, (node, number), None)
        else:
            handle._edge, handle._requires_grad = (node, number), True
    return result


def _listed(value: Any) -> Sequence[Any]:
    return value if value.__class__ in (list, tuple) else (value,)


def _warn_at(operator: str, out: Any, written: bool) -> None:
    """Warn when a gradient of ``out`` is computed, or of what it is a view of, where that was written to."""

    def hook(grad: Any) -> None:
        _warn(operator)

    out.register_hook(hook)
    base = out._base
    if written and base is not None and base._requires_grad:
        base.register_hook(hook)
