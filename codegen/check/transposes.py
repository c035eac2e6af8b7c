"""Check: operators that move elements, and the transposed of them, which are their gradients.

Of an operator whose body says where elements come from, and whose derivative no entry says, follow an
operator that puts elements back, and the derivatives of both: each is linear, and the other's gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...ir.moves import Move
from ...ir.windows import Window
from ..model.diagnostics import Report
from ..model.schema import Argument, BaseType, ListType, OperatorName, Return, Schema
from ..model.source import Entry, Located
from ..read.functions import FunctionIndex
from . import bodies
from .expand import Declared
from .moves import follows_of_moves, is_move, linear, read_move
from .windows import count_of_dims, is_maximum, is_over_last, is_window

_SIZES = "self_sizes"


def with_transposes(
    declared: Iterable[Declared], entries: Iterable[Entry]
) -> tuple[list[Declared], list[Entry]]:
    """The operators and derivatives that follow, where no entry is the derivative."""
    named = [entry.fields["name"] for entry in entries if "name" in entry.fields]
    differentiated = {str(name.value).partition("(")[0] for name in named}
    operators, derivatives = [], []
    for item in declared:
        name = str(replace(item.schema.name, namespace=""))
        if item.mechanism != "nn" and is_move(item.fields.get("body")) and name not in differentiated:
            if is_maximum(item.fields["body"]):
                good = is_over_last(item.fields["body"]) and len(item.schema.returns) == 2
                derivatives += [_of_maximum(item)] if good else []
                continue
            made = _transposed(item)
            operators.append(made)
            derivatives += _derivatives(item, made.schema)
    return operators, derivatives


def _of_maximum(item: Declared) -> Entry:
    """The derivative of maxima of windows: what is at the places of the second result."""
    schema, body = item.schema, item.fields["body"]
    first, dims = schema.arguments[0].name, count_of_dims(schema, body)
    at = schema.returns[1].name or "result1"
    formulas = {
        "name": str(replace(schema.name, namespace="")),
        first: f"max_pool_scatter(grad, {first}.shape, {at}, {dims})",
        schema.returns[0].name or "result0": f"max_pool_gather({first}_t, {at}, {dims})",
        "output_differentiability": (Located(True, item.place), Located(False, item.place)),
    }
    fields = {k: Located(v, item.place, body.key) for k, v in formulas.items()}
    return Entry("derivatives", item.place, fields)


def move_of(declared: Declared, functions: FunctionIndex, report: Report) -> Move | Window | None:
    """Where the operator's elements come from, or where those of the one that it transposes do."""
    of = declared.transposes or declared
    located = of.fields.get("body")
    if located is None or not is_move(located):
        return None
    return read_move(
        of.schema, located, functions, report if of is declared else Report()
    )  # it is said there


def what_follows(schema: Schema, fields: Mapping[str, Located]) -> Mapping[str, Located]:
    """The fields of an entry with what its body says beside its kernels, where the entry is silent."""
    body = fields.get("body")
    if body is None or not is_move(body):
        return bodies.with_what_follows(schema, fields)
    return {**follows_of_moves(schema, body), **fields}


def _transposed(item: Declared) -> Declared:
    """``NAME_backward(grad_output, self_sizes, arguments)``."""
    body, name = item.fields["body"], item.schema.name
    tensor, sizes = BaseType("Tensor"), ListType(BaseType("SymInt"), None)
    base = f"{name.base}_{name.overload}" if name.overload else name.base
    given = [replace(a, default=None, kwarg_only=False) for a in item.schema.arguments[1:]]
    arguments = (Argument("grad_output", tensor), Argument(_SIZES, sizes), *given)
    schema = Schema(OperatorName(f"{base}_backward"), arguments, (), (), (Return(tensor),))
    follows = follows_of_moves(item.schema, body)
    fields = {
        "doc": Located(f"The gradient of ``{name}`` of a tensor of a size.", body.place),
        "tags": Located((Located("generated", body.place), Located("internal", body.place)), body.place),
        "dtypes": item.fields.get("dtypes", follows["dtypes"]),
        "layout": _of_gradient(item),
        "result": Located("same", body.place),
    }
    if not is_window(body):
        fields["opmath"] = Located(False, body.place)
    if (rule := follows.get("batching")) is not None:
        dims = rule.value if isinstance(rule.value, dict) else {}
        fields["batching"] = Located({"sizes": Located(_SIZES, body.place), **dims}, body.place)
    return Declared(schema, item.place, item.mechanism, fields, None, frozenset({"dispatch"}), item)


def _of_gradient(item: Declared) -> Located:
    """The layout of the operator's results as that of the transposed, by the gradient."""
    first = item.schema.arguments[0].name
    layout = item.fields.get("layout", Located("contiguous", item.place))
    return replace(layout, value=str(layout.value).replace(f"({first})", "(grad_output)"), starts=())


def _derivatives(item: Declared, transposed: Schema) -> list[Entry]:
    """Of both the gradient and the tangent, which is the operator itself."""
    place, key = item.place, item.fields["body"].key
    schema, body = item.schema, item.fields["body"]
    first = schema.arguments[0].name
    text = {
        str(replace(schema.name, namespace="")): {
            first: _back(transposed, "grad", f"{first}.shape"),
            "result": linear(schema, body, f"{first}_t"),
        },
        str(transposed.name): {
            "grad_output": linear(schema, body, "grad"),
            "result": _back(transposed, "grad_output_t", _SIZES),
        },
    }
    return [
        Entry(
            "derivatives",
            place,
            {"name": Located(name, place, key), **{k: Located(v, place, key) for k, v in formulas.items()}},
        )
        for name, formulas in text.items()
    ]


def _back(schema: Schema, gradient: str, sizes: str) -> str:
    others = [a.name for a in schema.arguments[2:]]
    return f"{schema.name.function}({', '.join([gradient, sizes, *others])})"
