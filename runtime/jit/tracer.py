"""The Layer that records the operators that a program calls as a Graph."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..autograd.grad_mode import grad_mode
from ..autograd.linear_maps import BroadcastTo, Cast, Copy, Erase, Gather, Identity, Scatter, SumTo
from ..autograd.view_geometry import TensorGeometry, ViewGeometry
from ..core.interception import AliasKind, Layer, layers
from ..core.memory_format import contiguous_format
from ..core.operands import tensors_in
from ..core.protocols import LinearMap, Operator
from ..core.storage import storage_of
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_frames, program_stacklevel
from ..dispatch.operator import operator
from ..random import Generator, default_generator
from ..tensors.tensor import Tensor
from .graph import Constant, Graph, Node, Source, Value, walk, writes


class TracerWarning(Warning):
    """What was traced may not do for other inputs what the program does."""

    __module__ = "tengen.jit"


class _Frame:
    """A graph or body that is being recorded, and what tensors were called before it began."""

    __slots__ = ("before", "muted", "nodes")

    def __init__(self, muted: bool) -> None:
        self.nodes: list[Node] = []
        self.muted = muted
        #: By tensor or array, the value that it had when it was first renamed in here.
        self.before: dict[int, Value | None] = {}


class Tracer(Layer):
    """Records every call of an operator. Operators made of others have these in their body."""

    gradients = True

    def __init__(self, names: Mapping[int, str] | None = None) -> None:
        #: The names of tensors that are not inputs, by ``id``.
        self.given_names = names or {}
        self.values: dict[int, Value] = {}
        #: Everything that is known by its ``id`` is kept, so that no other object gets that.
        self.kept: list[Any] = []
        self.inputs: list[Value] = []
        self.constants: list[Constant] = []
        self.frames = [_Frame(False)]
        #: The node in whose body a value was made.
        self.homes: dict[Value, Node] = {}
        #: Nodes whose bodies made values that are used elsewhere: they are put out for their bodies.
        self.opened: set[int] = set()
        self.open_nodes: list[Node | None] = [None]
        self.pending: list[list[Any]] = []
        self.memories: dict[int, object] = {}
        #: Where operators count as called, if not where the program is.
        self.place: Source | None = None

    # -- tensors and values

    def input(self, tensor: Tensor, name: str) -> Value:
        """Make a tensor an input of the graph."""
        value = Value(tensor.dtype, tuple(tensor.shape), name, True, self._memory(tensor))
        self.inputs.append(value)
        self._know(tensor, value)
        return value

    def value(self, tensor: Tensor) -> Value:
        """The value that a tensor has now; a tensor that nothing here made is a constant."""
        found = self.values.get(id(tensor))
        if found is None:
            found = self.values.get(id(tensor._array))
        if found is None:
            return self._constant(tensor)
        self._use(found)
        return found

    def _memory(self, tensor: Tensor) -> object:
        """What stands for the memory of a tensor, the same for its views."""
        storage = storage_of(tensor)
        self.kept.append(storage)
        return self.memories.setdefault(id(storage), object())

    def _know(self, tensor: Tensor, value: Value) -> None:
        self._name(tensor, value)
        self._name(tensor._array, value)

    def _name(self, thing: Any, value: Value) -> None:
        key = id(thing)
        for frame in self.frames[1:]:
            frame.before.setdefault(key, self.values.get(key))
        self.values[key] = value
        self.kept.append(thing)

    def _use(self, value: Value) -> None:
        """Open the nodes that hide a value: it is used outside of the body it was made in."""
        home = self.homes.get(value)
        while home is not None and home not in self.open_nodes:
            self.opened.add(id(home))
            inner = self.homes.get(home.outputs[0]) if home.outputs else None
            home = inner

    def _constant(self, tensor: Tensor) -> Value:
        if tensor._edge is not None:
            raise RuntimeError(
                "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or "
                f"input, or detaching the gradient. Tensor: {tensor!r}"
            )
        name = self.given_names.get(id(tensor))
        value = Value(tensor.dtype, tuple(tensor.shape), name, False, self._memory(tensor))
        self.constants.append(Constant(value, tensor, name is not None))
        # A constant is one in every frame.
        for thing in (tensor, tensor._array):
            self.values[id(thing)] = value
            self.kept.append(thing)
        return value

    # -- operators

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        """Run the operator and record it."""
        if self.frames[-1].muted or self._is_above(arguments):
            return proceed(*arguments)
        given = self._given(arguments)
        node = Node(operator, given, None, self.place or user_source(), unrecorded=not grad_mode.enabled)
        direct = operator.kind in ("inplace", "out")
        before = _random_state(arguments)
        if direct:
            with self._frame(node, muted=True):
                result = proceed(*arguments)
        elif operator.decomposes:
            with self._frame(node, muted=False) as frame:
                result = proceed(*arguments)
                node.inner = self._values(result)
            # An in-place operator that writes nothing changes how self lies in its memory: t_, unsqueeze_.
            geometry = operator.base is not None and not any(writes(n) for n in walk(frame.nodes))
            node.body = None if geometry else frame.nodes
        else:
            result = proceed(*arguments)
        node.random = _random_state(arguments) != before
        if tensors_in((result,)) or operator.kind == "mutating":
            varies = node.random or any(v.varies for v in node.inputs)
            node.result = self._results(result, varies, node)
            self.frames[-1].nodes.append(node)
        elif operator.decomposes and not direct:  # which returns nothing is what its parts write
            self.frames[-1].nodes += node.body or ()
        if direct:
            for out in self.pending.pop():
                if node.result is not None:
                    self._name(out._array, node.outputs[0])
        return result

    def _is_above(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a tensor wraps values of this level, for a layer that was entered later.

        That layer has handed the operator on undivided: it is recorded by its parts, on the values.
        """
        owners = [owner for t in tensors_in(arguments) if (owner := getattr(t, "_layer", None)) is not None]
        if not owners:
            return False
        entered = layers()
        return any(owner in entered[entered.index(self) + 1 :] for owner in owners)

    @contextmanager
    def _frame(self, node: Node, muted: bool) -> Iterator[_Frame]:
        frame = _Frame(muted)
        self.frames.append(frame)
        self.open_nodes.append(node)
        if muted:
            self.pending.append([])
        try:
            yield frame
        finally:
            self.frames.pop()
            self.open_nodes.pop()
            if not muted:
                # What was only renamed in the body has its old name again.
                for key, value in frame.before.items():
                    if value is not None:
                        self.values[key] = value

    def _given(self, arguments: Any) -> Any:
        if isinstance(arguments, Tensor):
            return self.value(arguments)
        if isinstance(arguments, (list, tuple)):
            return tuple([self._given(a) for a in arguments])
        return arguments

    def _values(self, result: Any) -> Any:
        if isinstance(result, Tensor):
            return self.value(result)
        if isinstance(result, (list, tuple)):
            return tuple([self._values(r) for r in result])
        return None

    def _results(self, result: Any, varies: bool, node: Node) -> Any:
        if isinstance(result, Tensor):
            value = Value(result.dtype, tuple(result.shape), None, varies, self._memory(result))
            home = self.open_nodes[-1]
            if home is not None:
                self.homes[value] = home
            self._know(result, value)
            return value
        if isinstance(result, (list, tuple)):
            return tuple([self._results(r, varies, node) for r in result])
        return None

    # -- what is no operator

    def linear(
        self, map: LinearMap, tensor: TensorBase, proceed: Callable[[TensorBase], TensorBase]
    ) -> TensorBase:
        """Run one of the runtime's linear maps as operators, which are recorded."""
        if self.frames[-1].muted:
            return proceed(tensor)
        out: Tensor = _as_operators(map, tensor)
        return out

    def on_alias(self, tensor: Tensor, out: Tensor, how: AliasKind, map: LinearMap | None) -> None:
        """Record a handle on a tensor's memory, or a copy of it, that no operator made."""
        known = id(tensor) in self.values or id(tensor._array) in self.values
        if not known or how is AliasKind.ALIAS:
            return
        copied = how is AliasKind.COPIED
        if self.frames[-1].muted and not copied:
            self.pending[-1].append(out)
            return
        value = self.value(tensor)
        # Below the interceptors; recorded where the write itself will be.
        muted = self.frames[-1].muted
        frame = self.frames[-2] if muted else self.frames[-1]
        open_node = self.open_nodes.pop() if muted else None
        name: str
        arguments: tuple[Any, ...]
        if not copied:
            name, arguments = "detach", (value,)
        elif out.dtype is tensor.dtype:
            name, arguments = "clone", (value, None)
        else:
            name, arguments = "to.dtype", (value, out.dtype, False, False, None)
        node = Node(operator(name), arguments, None, self.place or user_source())
        node.result = self._results(out, value.varies, node)
        frame.nodes.append(node)
        if muted:
            self.open_nodes.append(open_node)

    def on_conversion(self, tensor: Tensor, what: str) -> None:
        """Warn of a number that will be a constant."""
        found = self.values.get(id(tensor)) or self.values.get(id(tensor._array))
        if found is None or not found.varies:
            return
        source = user_source()
        text = (
            f"Converting a tensor to a {what} might cause the trace to be incorrect. We can't record the "
            "data flow of Python values, so this value will be treated as a constant in the future. This "
            "means that the trace might not generalize to other inputs!"
        )
        if source is None:
            warnings.warn(text, TracerWarning, stacklevel=program_stacklevel())
        else:
            warnings.warn_explicit(text, TracerWarning, source.file, source.line)

    # -- the end

    def graph(self, outputs: list[Tensor]) -> Graph:
        """The graph of what was recorded, with these outputs."""
        values = [self.value(t) for t in outputs]
        opened = self.opened
        found = Graph(self.inputs, self.constants, self.frames[0].nodes, values)
        return found.opened(lambda node: id(node) in opened) if opened else found


def _random_state(arguments: tuple[Any, ...]) -> Any:
    """The states of the generators that a call may draw from."""
    generators = [default_generator, *[a for a in arguments if isinstance(a, Generator)]]
    return [g.snapshot() for g in generators]


def user_source() -> Source | None:
    """The innermost place of the program that is traced."""
    for frame in program_frames():
        return Source(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    return None


# -- linear maps ----------------------------------------------------------------------------------


def _as_operators(map: LinearMap, tensor: Any) -> Any:
    """A linear map of the runtime's, made of operators.

    NotImplementedError for one between views of different dtypes, or of arrays without strides.
    """
    if isinstance(map, SumTo):
        return tensor.sum_to_size(map.target)
    if isinstance(map, BroadcastTo):
        return tensor.expand(map.target)
    if isinstance(map, Cast):
        target = map.target.scalar_type
        return (tensor.real if tensor.is_complex() and not target.is_complex else tensor).to(target)
    if isinstance(map, Copy):
        return tensor.clone(memory_format=contiguous_format)
    if isinstance(map, Identity):
        return operator("alias")(tensor)
    if isinstance(map, (Gather, Scatter, Erase)) and isinstance(map.pair, ViewGeometry):
        base, view = map.pair.base, map.pair.view
        if base.type.dtype == view.type.dtype:
            return _through_view(map, tensor, base, view)
    raise NotImplementedError(f"jit.trace: {type(map).__name__} of this kind cannot be recorded")


def _through_view(map: LinearMap, tensor: Any, base: TensorGeometry, view: TensorGeometry) -> Any:
    """The maps between a base and a view, where both lie in one memory as their strides say."""
    import tengen.generated.functions as functions

    place = (list(view.shape), list(view.strides), view.offset)
    layout = (list(base.shape), list(base.strides), base.offset)
    if isinstance(map, Gather):
        return functions._as_strided_gather(tensor, *layout, *place)
    if isinstance(map, Scatter):
        return functions._as_strided_backward(tensor, *layout, *place)
    return tensor - functions._as_strided_backward(
        functions._as_strided_gather(tensor, *layout, *place), *layout, *place
    )
