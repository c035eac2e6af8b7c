"""Graphs drawn: what a tensor was computed from, as DOT text, through the ``graphviz`` package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.needed_package import needed_package
from ..core.tensor_base import TensorBase
from .edge import Edge, gradient_edge
from .graph import GradientEdge
from .node import Node
from .python_function import PyNode
from .saved_attributes import attributes_of
from .saved_variable import FREED, PackedBase

if TYPE_CHECKING:
    import graphviz

_LEAF, _OUTPUT, _VIEW, _SAVED, _NODE = (
    "lightblue",
    "darkolivegreen1",
    "darkolivegreen3",
    "orange",
    "lightgrey",
)
_USUAL_DTYPE = "float32"


class _Options(NamedTuple):
    attributes: bool
    saved: bool
    longest: int


def draw(
    outputs: Any,
    params: Any = None,
    show_attrs: bool = False,
    show_saved: bool = False,
    max_attr_chars: int = 50,
) -> graphviz.Digraph:
    """A drawing of the graph that leads to ``outputs``; ``.source`` is its DOT text.

    ``outputs`` is a Tensor, a GradientEdge, or a sequence or dict of them. ``params`` gives names to
    tensors: a dict from names, or pairs of a name and a Tensor. Data flows downwards: leaves are blue,
    with their shapes; Nodes grey, with the hooks that they have; outputs green, those that are views
    darker, tied to their base by a dotted line. ``show_saved`` adds what Nodes saved, in orange, and
    ``show_attrs`` what they saved besides tensors, at most ``max_attr_chars`` of each. No hook that
    unpacks saved tensors is called.

    ``.render()`` and ``.pipe()`` of the result make pictures with the program ``dot``.
    Raises TypeError for what is no Tensor, ImportError when the package graphviz is not installed.
    """
    try:
        import graphviz
    except ImportError:
        raise needed_package("draw()", "graphviz", "tengen[draw]") from None
    if not isinstance(max_attr_chars, int) or max_attr_chars < 3:
        raise ValueError(f"draw(): max_attr_chars must be an int of at least 3, but got {max_attr_chars!r}")
    given = list(_outputs(outputs))
    names = {id(tensor): name for name, tensor in _params(params)}
    names.update({id(tensor): name for name, tensor in given if name})
    dot = graphviz.Digraph(
        node_attr={
            "style": "filled",
            "shape": "box",
            "fontname": "monospace",
            "fontsize": "10",
            "height": "0.2",
        },
    )
    drawing = _Drawing(dot, names, _Options(show_attrs, show_saved, max_attr_chars), graphviz.escape)
    for _, output in given:
        drawing.output(output)
    drawing.saved_tensors()
    return dot


def _outputs(given: Any) -> Iterator[tuple[str, Any]]:
    """What is to be drawn, with its name, or ""."""
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(given, TensorBase | GradientEdge):
        pairs = [("", given)]
    elif isinstance(given, Mapping):
        pairs = given.items()
    elif isinstance(given, Iterable):
        pairs = [("", value) for value in given]
    else:
        raise TypeError(f"draw(): outputs must be a Tensor or several, but got {type(given).__name__}")
    for name, value in pairs:
        if not isinstance(value, TensorBase | GradientEdge):
            raise TypeError(f"draw(): outputs must be Tensors, but one of them is {type(value).__name__}")
        yield str(name), value


def _params(given: Any) -> Iterator[tuple[str, Any]]:
    """Names and the Tensors that have them."""
    if given is None:
        return
    pairs = given.items() if isinstance(given, Mapping) else given
    try:
        pairs = [(name, value) for name, value in pairs]
    except (TypeError, ValueError):
        raise TypeError(
            f"draw(): params must be a dict, or pairs of a name and a Tensor, but got {type(given).__name__}"
        ) from None
    for name, value in pairs:
        if not isinstance(value, TensorBase):
            raise TypeError(f"draw(): params[{name!r}] must be a Tensor, but got {type(value).__name__}")
        yield str(name), value


class _Drawing:
    """Draws boxes and lines, each thing once. Boxes are numbered, so that a text says nothing of ids."""

    def __init__(self, dot: graphviz.Digraph, names: dict[int, str], options: _Options, escape: Any) -> None:
        self.dot = dot
        self.names = names
        self.options = options
        self.escape = escape
        self.boxes: dict[int, str] = {}
        self.held: list[Any] = []  # what boxes stand for, or another thing could have its id
        self.nodes: list[Node] = []

    def box(self, thing: Any, lines: Iterable[str], color: str) -> str:
        """Draw a box for a thing that has none."""
        key = f"{'node' if isinstance(thing, Node) else 'tensor'}{len(self.boxes)}"
        self.boxes[id(thing)] = key
        self.held.append(thing)
        self.dot.node(key, self.escape("\n".join(lines)), fillcolor=color)
        return key

    # -- tensors -------------------------------------------------------------------------

    def output(self, output: Any) -> str:
        """Draw a tensor, or the end of a GradientEdge, and all that leads to it."""
        if isinstance(output, GradientEdge):
            return self.graph(output.node)
        if id(output) in self.boxes:
            return self.boxes[id(output)]
        edge = gradient_edge(output)
        if edge is not None and output._edge is None:  # a leaf is drawn by its accumulator
            self.graph(edge[0])
            return self.boxes[id(getattr(edge[0], "variable", edge[0]))]
        key = self.box(output, self.lines(output), _OUTPUT if output._base is None else _VIEW)
        if edge is not None:
            self.line(self.graph(edge[0]), key, edge)
        if output._base is not None:
            self.dot.edge(self.output(output._base), key, style="dotted")
        return key

    def lines(self, tensor: Any, name: str = "") -> list[str]:
        """A tensor's name, if it has one, and shape; and its dtype where that is not the usual one."""
        meta = tensor._meta
        name = self.names.get(id(tensor)) or (meta.name if meta is not None else None) or name
        return [*([name] if name else []), _shape(tensor._array.shape, tensor._type.scalar_type.name)]

    # -- Nodes ---------------------------------------------------------------------------

    def graph(self, root: Node) -> str:
        """Draw a Node and all that leads to it, without recursion."""
        if id(root) not in self.boxes:
            waiting = [root]
            self.node(root)
            while waiting:
                node = waiting.pop()
                for edge in node.next_edges:
                    if edge is None:
                        continue
                    target = edge[0]
                    if id(target) not in self.boxes:
                        self.node(target)
                        waiting.append(target)
                    self.line(self.boxes[id(target)], self.boxes[id(node)], edge)
        return self.boxes[id(root)]

    def line(self, start: str, end: str, edge: Edge) -> None:
        """Draw a line from a Node, with the number of its result where it has several."""
        several = edge[0].type.__class__ is tuple and len(edge[0].type) > 1
        self.dot.edge(start, end, label=str(edge[1]) if several else None)

    def node(self, node: Node) -> None:
        """Draw a Node, the leaf that it is the accumulator of, and what it saved."""
        inner = getattr(node, "fn", None)
        lines = [node.name(), *([f"({inner.name()})"] if isinstance(inner, Node) else []), *_hooks(node)]
        if self.options.attributes:
            lines += self.attributes(node)
        key = self.box(node, lines, _NODE)
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, TensorBase):
            at = self.boxes.get(id(leaf)) or self.box(leaf, self.lines(leaf), _LEAF)
            self.dot.edge(at, key)
        self.nodes.append(node)

    # -- what was saved ------------------------------------------------------------------

    def saved_tensors(self) -> None:
        """Draw what the Nodes saved: last, so that leaves and outputs among it have their boxes."""
        if self.options.saved:
            for node in self.nodes:
                for name, value in _saved(node):
                    self.saved(self.boxes[id(node)], name, value)

    def saved(self, key: str, name: str, value: Any) -> None:
        """Draw one thing that a Node saved, and tie it to the Node."""
        at = self.boxes.get(id(value))
        if at is None:
            if isinstance(value, PackedBase):
                lines = [name, "packed by hooks"]
            elif value is FREED:
                lines = [name, "freed"]
            elif isinstance(value, TensorBase):
                lines = self.lines(value, name)
            else:  # a result is saved as the backend's array
                lines = [name, _shape(value.shape, str(value.dtype))]
            at = self.box(object() if value is FREED else value, lines, _SAVED)
        self.dot.edge(at, key, dir="none", style="dashed")

    def attributes(self, node: Node) -> Iterator[str]:
        """What a Node saved besides tensors."""
        if isinstance(node, PyNode):
            return
        # One name for each slot: PyTorch's, which comes after our own.
        names = {slot: name for name, (slot, _, tensor) in attributes_of(type(node)).items() if not tensor}
        for slot, name in sorted(names.items()):
            value = getattr(node, slot, None)
            if not isinstance(value, TensorBase | PackedBase):
                text = f"{name}: {value}"
                yield text if len(text) <= self.options.longest else text[: self.options.longest - 3] + "..."


def _shape(shape: tuple[int, ...], dtype: str) -> str:
    text = f"({', '.join(map(str, shape))})"
    return text if dtype == _USUAL_DTYPE else f"{text} {dtype}"


def _hooks(node: Node) -> Iterator[str]:
    """What is hooked to a Node, in words."""
    extra = node.extra
    if extra is None:
        return
    tensors = sum([len(hooks) for hooks in (extra.tensor_hooks or {}).values()])
    counts = {
        "tensor": tensors,
        "before": len(extra.pre_hooks or ()),
        "after": len(extra.post_hooks or ()),
        "accumulated": len(extra.post_accumulate or ()),
    }
    found = [f"{count} {word}" for word, count in counts.items() if count]
    if found:
        yield "hooks: " + ", ".join(found)
    if extra.retained:
        yield "retains grad"


def _saved(node: Node) -> Iterator[tuple[str, Any]]:
    """The tensors that a Node saved, as it keeps them."""
    for name, (slot, _, is_tensor) in sorted(attributes_of(type(node)).items()):
        value = getattr(node, slot, None)
        if not is_tensor or value is None:
            continue
        if value.__class__ is tuple:
            yield from [(f"{name}[{i}]", v) for i, v in enumerate(value) if v is not None]
        else:
            yield name, value
