"""Graphs as text: as PyTorch prints them, and as Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tengen.generated import functions

from ..core.device import device as Device
from ..core.function_dispatch import public_name
from ..core.scalar_type import dtype as DType
from .graph import Graph, Node, Value


def graph_text(graph: Graph) -> str:
    """The text of a graph, one line for each call."""
    names = graph.names()
    opening = "graph("
    typed = [f"%{names[v]} : {v.type_text}" for v in graph.inputs]
    lines = [opening + f",\n{' ' * len(opening)}".join(typed) + "):"]
    for constant in graph.constants:
        value = constant.value
        lines.append(
            f"  %{names[value]} : {value.type_text} = prim::Constant[value={_shown(constant.tensor)}]()"
        )
    lines += [f"  {_node_text(node, names)}" for node in graph.nodes]
    lines.append(f"  return ({', '.join(f'%{names[v]}' for v in graph.outputs)})")
    return "\n".join(lines) + "\n"


def _shown(tensor: Any) -> str:
    return f"{{{tensor.item()}}}" if tensor.ndim == 0 and not tensor.is_meta else "<Tensor>"


def _node_text(node: Node, names: Mapping[Value, str]) -> str:
    given = ", ".join(call_arguments(node, lambda v: f"%{names[v]}"))
    results = ", ".join(f"%{names[v]} : {v.type_text}" for v in node.outputs)
    place = "" if node.source is None else f" # {node.source.short}"
    function = node.operator.function
    full = function if "::" in function else f"tengen::{function}"
    return f"{results} = {full}({given}){place}"


def call_arguments(node: Node, value: Any) -> list[str]:
    """The arguments as one would write them: no defaults at the end, keywords where they must be."""
    positional: list[str] = []
    keywords: list[str] = []
    kept = 0
    for parameter, given in zip(node.operator.parameters, node.arguments, strict=True):
        plain = not parameter.required and _same(given, parameter.default)
        text = argument_text(given, value)
        if parameter.kwarg_only:
            keywords += [] if plain else [f"{parameter.name}={text}"]
        else:
            positional.append(text)
            kept = kept if plain else len(positional)
    return positional[:kept] + keywords


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Value) or isinstance(b, Value):
        return False
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


def argument_text(given: Any, value: Any) -> str:
    """An argument as Python text; ``value`` gives that of a Value."""
    if isinstance(given, Value):
        return str(value(given))
    if isinstance(given, (list, tuple)):
        return f"[{', '.join(argument_text(part, value) for part in given)}]"
    if isinstance(given, DType):
        return str(given)
    if isinstance(given, Device):
        return f"'{given}'"
    if isinstance(given, float) and not math.isfinite(given):
        return f"float('{given}')"
    return repr(given)


# -- as Python ------------------------------------------------------------------------------------


def code_text(graph: Graph, name: str = "forward") -> str:
    """The graph as a Python function of its inputs; constants are parameters with their names too."""
    names = {value: _identifier(text) for value, text in graph.names().items()}
    parameters = [names[v] for v in graph.inputs]
    constants = [names[c.value] for c in graph.constants]
    given = parameters + (["*", *constants] if constants else [])
    lines = [f"def {name}({', '.join(given)}):"]
    for node in graph.nodes:
        target = "" if node.result is None else f"{_target_text(node.result, names)} = "
        place = "" if node.source is None else f"  # {node.source.short}"
        lines.append(f"    {target}{_call_text(node, names)}{place}")
    returned = ", ".join(names[v] for v in graph.outputs)
    lines.append(f"    return {returned}")
    return "\n".join(lines) + "\n"


def _target_text(result: Any, names: Mapping[Value, str]) -> str:
    """What a call's results are assigned to; ``_`` what is no tensor."""
    if isinstance(result, Value):
        return names[result]
    if not isinstance(result, (list, tuple)):
        return "_"
    parts = [f"({text})" if "," in (text := _target_text(r, names)) else text for r in result]
    return f"{parts[0]}," if len(parts) == 1 else ", ".join(parts)


def _identifier(text: str) -> str:
    name = "".join(c if c.isalnum() or c == "_" else "_" for c in text)
    return f"t{name}" if name[:1].isdigit() else name


def _call_text(node: Node, names: Mapping[Value, str]) -> str:
    name = node.operator.function
    arguments = call_arguments(node, lambda v: names[v])
    if "::" in name:
        return f"tengen.ops.{name.replace('::', '.')}({', '.join(arguments)})"
    if not hasattr(functions, name):
        return f"{arguments[0]}.{name}({', '.join(arguments[1:])})"
    public = public_name(getattr(functions, name)) == f"tengen.{name}"
    return f"{'tengen' if public else 'functions'}.{name}({', '.join(arguments)})"
