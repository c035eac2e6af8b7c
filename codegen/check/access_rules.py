"""Check: what follows of bodies that read or write at indices, where entries are silent.

The rule of vmap, and the derivatives with the operators that these need: of what reads one that adds to
zeros, of what writes one that reads, whose own derivative is one that adds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...ir.accesses import ALONG, SET, SLICES, SUM, Access, body_that_adds, body_that_reads, is_number
from ...ir.expressions import Constant, Name
from ...ir.writer import write
from ..model.diagnostics import Report
from ..model.schema import Argument, BaseType, ListType, OperatorName, Return, Schema
from ..model.source import Entry, Located
from .accesses import read_access
from .expand import Declared

_TENSOR, _INT, _BOOL = BaseType("Tensor"), BaseType("int"), BaseType("bool")
_SIZES = ListType(BaseType("SymInt"), None)
_GRAD, _OF_SIZES = "grad_output", "self_sizes"
_NONE = "non_differentiable"


def access_alone(schema: Schema, body: Located) -> Access | None:
    """The body, where it is right; what is wrong is said elsewhere."""
    return read_access(schema, body, None, Report())


def follows_of_access(schema: Schema, body: Located) -> dict[str, Located]:
    """The fields of an entry that follow from such a body, where the entry says nothing else."""
    access = access_alone(schema, body)
    if access is None:
        return {}
    follows = {
        "dtypes": Located("all", body.place),
        "opmath": Located(access.adds, body.place),
        "result": Located("same", body.place),
    }
    if access.whole or access.extents or is_number(access.dim):
        return follows  # the loop over the batch
    return {**follows, "batching": _located(_batching(access), body)}


def _located(value: object, like: Located) -> Located:
    """A value with all that is in it at one place."""
    if isinstance(value, dict):
        value = {name: _located(part, like) for name, part in value.items()}
    if isinstance(value, list):
        value = tuple([_located(part, like) for part in value])
    return Located(value, like.place)


def _batching(access: Access) -> dict[str, object]:
    """What vmap does: the operator with one more dim, or a function of runtime/formulas/batching.py."""
    base, dim, index, source = access.base, access.dim, access.index, access.source
    if access.keeps != Constant(True):
        return {"decompose": _decomposed(access)}
    if access.kind == ALONG and not access.sizes and not access.corner:
        tensors = {} if source else {"tensors": [index, base]}
        return {**tensors, "dims": dim, "atleast_1d": True}
    given = [f"zeros_of_batch({source}, {base})" if access.sizes else base]
    given += [*([dim] if dim else []), index]
    if access.corner:
        return _values("read_into_corner_batched", *given, access.corner)
    if not source:
        rule = _values(f"read_{access.kind}_batched", *given)
        return {base: {"dims": dim}, "else": rule} if dim else {index: "leading", "else": rule}
    if access.kernel == "fill_slices":
        return {base: {"dims": dim}, "else": _values("fill_slices_batched", *given, source)}
    how = [write(access.fold), write(access.include_self)]
    factor = [access.factor] if access.factor else []
    rule = _values(f"write_{access.kind}_batched", *given, source, *how, *factor)
    if access.kind == SLICES and not access.sizes:
        return {f"{base}, {source}": {"dims": dim}, "else": rule}
    return rule


def _decomposed(access: Access) -> str:
    """What indices that have lost the dim mean, by operators whose indices have it."""
    where = f"{access.dim}, {access.index}"
    if not access.source:
        return f"selected({access.base}, {where}, {write(access.keeps)})"
    base = f"{access.source}.new_zeros({access.base})" if access.sizes else access.base
    how = [write(e) for e in (access.keeps, access.fold, access.include_self)]
    return f"placed({base}, {where}, {access.source}, {', '.join(how)})"


def _values(function: str, *given: str) -> dict[str, object]:
    return {"values": f"{function}({', '.join(given)})"}


# -- derivatives -----------------------------------------------------------------------------------


def transposed_accesses(item: Declared) -> tuple[list[Declared], list[Entry]]:
    """The derivative of an operator that no entry says, with the operators that it needs; nothing where an
    argument says how writes meet, or they are products, the greatest or least, or do not count in full."""
    access = access_alone(item.schema, item.fields["body"])
    if access is None or (access.ways or {""}) - {SET, SUM}:
        return [], []
    if access.skipped or access.by_count != Constant(False) or access.extents:
        return [], []
    made = _Transposed(item, access)
    if access.source:
        made.of_writing()
    else:
        made.of_reading()
    return made.operators, made.entries


class _Transposed:
    """Makes the derivatives of one operator."""

    def __init__(self, item: Declared, access: Access) -> None:
        self.item, self.access, self.body = item, access, item.fields["body"]
        self.operators: list[Declared] = []
        self.entries: list[Entry] = []

    def of_reading(self) -> None:
        """Reads, and adds to zeros."""
        adds = self.operator(self.item.schema.name, _OF_SIZES, adds=True)
        self.pair(self.item.schema, self.access.base, adds, self.access.corner)

    def pair(self, reads: Schema, base: str, adds: Schema, corner: str) -> None:
        """The derivatives of an operator that reads and one that adds to zeros: each is the other's."""
        access = self.access
        back = _call(adds, {_GRAD: "grad", _OF_SIZES: f"{base}.shape"})
        self.derivative(reads, {base: back, access.index: _NONE, "result": "auto_linear"})
        again = _call(reads, {base: "grad", **({corner: f"{_GRAD}.shape"} if corner else {})})
        self.derivative(adds, {_GRAD: again, access.index: _NONE, "result": "auto_linear"})

    def of_writing(self) -> None:
        """Writes, reads what a gradient has where something was written, and adds to zeros."""
        schema, access = self.item.schema, self.access
        base, index, source = access.base, access.index, access.source
        tangents = {base: f"{base}_t"}
        formulas = {index: _NONE}
        if source in [a.name for a in schema.arguments if a.is_tensor]:
            tangents[source] = f"{source}_t"
            formulas[source] = self.of_source()
            empty = "grad.new_zeros(())" if access.single else f"grad.new_zeros({source}.shape)"
        else:
            tangents[source] = empty = "0"
        if not access.sizes:
            cleared = _call(schema, {base: "grad", source: empty})
            formulas[base] = access.by_fold(lambda way: "grad" if way == SUM else cleared)
            formulas["result"] = _call(schema, tangents)
        else:
            formulas["result"] = "auto_linear"
        self.derivative(schema, formulas)

    def of_source(self) -> str:
        """The gradient of what is written."""
        schema, access = self.item.schema, self.access
        if access.single:
            cleared = _call(schema, {access.base: "grad", access.source: "grad.new_zeros(())"})
            return f"(grad - {cleared}).sum()"
        corner = _OF_SIZES if access.kind == ALONG and access.keeps == Constant(True) else ""
        reads = self.operator(schema.name, corner, adds=False)
        self.pair(reads, _GRAD, self.operator(reads.name, _OF_SIZES, adds=True), corner)
        found = _call(reads, {_GRAD: "grad", corner: f"{access.source}.shape"})
        if not corner:
            found += f".reshape({access.source}.shape)"
        if access.factor:
            found = f"{found} * {access.factor}.conjugate()"
        return found

    def operator(self, of: OperatorName, sizes: str, adds: bool) -> Schema:
        """An operator that reads or adds at the same indices: ``OF_backward(grad_output, ...)``."""
        access, body = self.access, self.body
        base = f"{of.base}_{of.overload}" if of.overload else of.base
        arguments = [Argument(_GRAD, _TENSOR)]
        arguments += [Argument(_OF_SIZES, _SIZES)] if sizes else []
        arguments += [Argument(access.dim, _INT)] if access.dim and not is_number(access.dim) else []
        arguments += [Argument(access.index, _TENSOR)]
        arguments += [Argument(access.keeps.id, _BOOL)] if isinstance(access.keeps, Name) else []
        schema = Schema(OperatorName(f"{base}_backward"), tuple(arguments), (), (), (Return(_TENSOR),))
        text = body_that_adds(access, sizes, _GRAD) if adds else body_that_reads(access, _GRAD, sizes)
        fields = {
            "doc": f"The gradient of ``{of}`` of a tensor of a size.",
            "tags": ["generated", "internal"],
            "body": text,
        }
        located = {name: _located(value, body) for name, value in fields.items()}
        located["body"] = replace(body, value=text, starts=())
        located |= {"dtypes": self.item.fields["dtypes"]} if "dtypes" in self.item.fields else {}
        item = self.item
        made = Declared(schema, item.place, item.mechanism, located, None, frozenset({"dispatch"}))
        self.operators.append(made)
        return schema

    def derivative(self, schema: Schema, formulas: Mapping[str, str]) -> None:
        """The entry of these formulas."""
        place, key = self.item.place, self.body.key
        values = {"name": str(replace(schema.name, namespace="")), **formulas}
        fields = {name: Located(value, place, key) for name, value in values.items()}
        self.entries.append(Entry("derivatives", place, fields))


def _call(schema: Schema, given: Mapping[str, str]) -> str:
    """The call of an operator, of its arguments but for those that are given otherwise."""
    values = []
    for a in schema.arguments:
        value = given.get(a.name, write(Name(a.name)))
        values.append(f"{a.name}={value}" if a.kwarg_only else value)
    return f"{schema.name.function}({', '.join(values)})"
