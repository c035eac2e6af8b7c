"""Check: operators that move, show, read or write elements, and what their gradients need.

Of an operator whose body says where elements come from, and whose derivative no entry says, follow an
operator that puts elements back, and the derivatives of both: each is linear, and the other's gradient.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..model.schema import Argument, BaseType, ListType, OperatorName, Return, Schema
from ..model.source import Entry, Located
from .access_rules import transposed_accesses
from .body_kinds import BodyKind, kind_of_body
from .contractions import derivatives_of_contraction
from .expand import Declared
from .moves import EVERY_DTYPE, linear
from .read_bodies import what_follows
from .views import dims_lost
from .windows import added_at, count_of_dims, is_maximum, is_over_last, read_at

_SIZES = "self_sizes"
#: The kinds of bodies of operators that are linear.
_LINEAR = (BodyKind.MOVE, BodyKind.WINDOW, BodyKind.VIEW)


def with_transposes(
    declared: Iterable[Declared], entries: Iterable[Entry]
) -> tuple[list[Declared], list[Entry]]:
    """The operators and derivatives that follow, where no entry is the derivative."""
    named = [entry.fields["name"] for entry in entries if "name" in entry.fields]
    differentiated = {str(name.value).partition("(")[0] for name in named}
    operators, derivatives = [], []
    for item in declared:
        name = str(replace(item.schema.name, namespace=""))
        body = item.fields.get("body")
        if body is None or item.mechanism == "nn" or name in differentiated:
            continue
        kind = kind_of_body(item.schema, body)
        if kind is BodyKind.ACCESS:
            more, entries_of_more = transposed_accesses(item)
            operators += more
            derivatives += entries_of_more
        elif kind is BodyKind.CONTRACTION:
            derivatives += derivatives_of_contraction(item.schema, body, item.place)
        elif kind is BodyKind.WINDOW and is_maximum(body):
            good = is_over_last(body) and len(item.schema.returns) == 2
            derivatives += [_of_maximum(item)] if good else []
        elif kind in _LINEAR and item.schema.returns[0].type.is_tensor:
            made = _transposed(item, kind)
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
        first: added_at("grad", at, f"{first}.shape", dims),
        schema.returns[0].name or "result0": read_at(f"{first}_t", at, dims),
        "output_differentiability": (Located(True, item.place), Located(False, item.place)),
    }
    fields = {k: Located(v, item.place, body.key) for k, v in formulas.items()}
    return Entry("derivatives", item.place, fields)


def _transposed(item: Declared, kind: BodyKind) -> Declared:
    """``NAME_backward(grad_output, self_sizes, arguments)``."""
    body, name = item.fields["body"], item.schema.name
    tensor, sizes = BaseType("Tensor"), ListType(BaseType("SymInt"), None)
    base = f"{name.base}_{name.overload}" if name.overload else name.base
    given = [replace(a, default=None, kwarg_only=False) for a in item.schema.arguments[1:]]
    arguments = (Argument("grad_output", tensor), Argument(_SIZES, sizes), *given)
    schema = Schema(OperatorName(f"{base}_backward"), arguments, (), (), (Return(tensor),))
    shown, follows = kind is BodyKind.VIEW, what_follows(item.schema, {"body": body})
    fields = {
        "doc": Located(f"The gradient of ``{name}`` of a tensor of a size.", body.place),
        "tags": Located((Located("generated", body.place), Located("internal", body.place)), body.place),
        "dtypes": item.fields.get("dtypes", follows.get("dtypes", Located(EVERY_DTYPE, body.place))),
        "layout": _of_gradient(item),
        "result": Located("same", body.place),
    }
    if kind is not BodyKind.WINDOW:
        fields["opmath"] = Located(False, body.place)
    more = dims_lost(item.schema, body) if shown else 0
    if (rule := follows.get("batching")) is not None and more is not None:
        dims = dict(rule.value) if isinstance(rule.value, dict) else {}
        added = dims["added"].value if "added" in dims else 0
        if dims and shown:
            dims["added"] = Located(added + more, body.place)
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
