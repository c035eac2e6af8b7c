"""Specialise: expressions as instructions of the C machine's fast paths.

A fast path is what a generated function does in the usual case. ``runtime/fast_paths/`` runs it in place of
Python's interpreter. It is made of the text that the function is made of. What the machine cannot do is
``Unwritable``: then there is no fast path, or a shorter one, and the function does it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from ...ir.bodies import Along, Kind
from ...ir.body_calls import BodyCall
from ...ir.expressions import (
    BINARY,
    ELEMENTWISE_COMPARISONS,
    UNARY,
    Assigned,
    Attribute,
    Call,
    Clause,
    Comprehension,
    Conditional,
    Constant,
    Elements,
    Expr,
    Lambda,
    Logical,
    Name,
    Operation,
    Slice,
    Subscript,
)
from ...ir.writer import write

_NONE: Final = Constant(None)
#: The functions that an instruction does, where there is one argument.
_CONVERSIONS: Final = {"tuple": "as_tuple", "float": "as_float", "_asarray": "as_array"}


#: What takes the array that a Type keeps for a number: that which runs, or a Node's.
_NUMBER: Final = ("number", "number_of_node")
#: The label of the place where a fast path is left.
OUT: Final = "out"


class Unwritable(Exception):
    """There is no fast path; the message says why."""


class Code:
    """Collects the instructions of one fast path.

    ``names`` are its locals. Those that are ``tensors`` are known to be such with NumPy's arrays, ``lists``
    to be lists of such. ``node`` is that of a Node whose slots are read. ``loose`` says that ``args[i]`` are
    locals, too.
    """

    def __init__(
        self,
        names: Iterable[str],
        tensors: Collection[str] = (),
        node: bool = False,
        loose: bool = False,
        values: Mapping[str, Expr] | None = None,
        lists: Collection[str] = (),
    ) -> None:
        self.lines: list[str] = []
        self.names = set(names)
        self.tensors, self.lists = tensors, lists
        self.node, self.loose = node, loose
        self.values = values or {}  # names that stand for expressions
        self.pure = False  # whether nothing may be called
        self._labels = 0

    @property
    def text(self) -> str:
        """The fast path."""
        return "; ".join(self.lines)

    def add(self, *words: object, to: str = "", holds: bool = False) -> None:
        """An instruction; it jumps to a label, else it leaves, where a test fails, or where it ``holds``."""
        jump = f" {'=>' if holds else '->'} {to or OUT}" if to or holds else ""
        self.lines.append(" ".join(map(str, words)) + jump)

    def label(self) -> str:
        """A label that no other place has."""
        self._labels += 1
        return f"L{self._labels}"

    def place(self, label: str) -> None:
        """The next instruction has this label."""
        self.lines.append(f"{label}:")

    # -- values ----------------------------------------------------------------------------

    def local(self, expr: Expr) -> str | None:
        """The name of a local that an expression is; None where it is none."""
        match expr:
            case Name(name) if name in self.names:
                return name
            case Subscript(Name("args"), Constant(value=int(index))) if self.loose:
                return f"args.{index}"
        return None

    def push(self, expr: Expr) -> None:
        """The instructions that push the value of an expression."""
        name = self.local(expr)
        if name is not None:
            self.add("local", name)
            return
        match expr:
            case Name(name) if name in self.values:
                self.push(self.values[name])
            case Name("T"):
                self.add("type")
            case Name("args") if self.loose:
                self.add("rest", 0)
            case Subscript(Name("args"), Slice(Constant(value=int(first)), None, None)) if self.loose:
                self.add("rest", first)
            case Constant() | Operation("-x", (Constant(),)):
                self.add("constant", _literal(expr))
            case Call(Attribute(Attribute(Name(name), "dtype"), "type"), (number,)) if name in ("T", "grad"):
                self.push(number)  # an array for a scalar of the array library's
                self.add(_NUMBER[name == "grad"])
            case Attribute(Name(name), "_array") if name in self.tensors:
                self.add("array", name)
            case Comprehension(
                "list", Attribute(Name(one), "_array"), (Clause(Name(each), Name(name), ()),)
            ) if one == each and name in self.lists:
                self.add("arrays", name)
            case Attribute(Name("node"), slot) if self.node:
                self.add("slot", slot)
            case Subscript(Attribute(owner, "numbers"), index) if owner == Name("T") or self._is_node_type(
                owner
            ):
                self.push(index)
                self.add(_NUMBER[owner != Name("T")])
            case Subscript(value, index) if not isinstance(index, Slice):
                self._push_all((value, index))
                self.add("item")
            case Elements("tuple", elements):
                self._push_all(elements)
                self.add("tuple", len(elements))
            case Conditional():
                self._push_choice(expr)
            case Call():
                self._push_call(expr)
            case Operation() | Logical():
                self._push_operation(expr)
            case Attribute(value, name) if self._is_of_local(value):
                self.push(value)
                self.add("attribute", name)
            case Name() | Attribute():
                self.add("fetch", self._path(expr))
            case _:
                raise Unwritable(f"no instruction for {type(expr).__name__.lower()}")

    def _push_all(self, exprs: Iterable[Expr]) -> None:
        for expr in exprs:
            self.push(expr)

    def _is_node_type(self, expr: Expr) -> bool:
        return self.node and expr == Attribute(Name("node"), "type")

    def _is_of_local(self, expr: Expr) -> bool:
        """Whether something is computed, or an attribute of such, not a name of the module."""
        match expr:
            case Name(name):
                return name in self.names or name in self.values or name == "T"
            case Attribute(value):
                return self._is_of_local(value)
        return True

    def _path(self, expr: Expr) -> str:
        match expr:
            case Name(name) if name not in self.names:
                return name
            case Attribute(value, name):
                return f"{self._path(value)}.{name}"
        raise Unwritable("an attribute of what is no name")

    def _push_operation(self, expr: Operation | Logical) -> None:
        if isinstance(expr, Logical):
            end = self.label()
            for operand in expr.operands[:-1]:
                self.push(operand)
                self.add("jump_or_pop" if expr.symbol == "or" else "jump_or_pop_not", to=end)
            self.push(expr.operands[-1])
            self.place(end)
            return
        if expr.symbol in ("is", "is not") and expr.operands[1] == _NONE:
            self.push(expr.operands[0])
            self.add("none_on_top")
            if expr.symbol == "is not":
                self.add("unary", "not")
            return
        self._push_all(expr.operands)
        if expr.symbol in UNARY:
            self.add("unary", expr.symbol.removesuffix("x").strip())
        elif expr.symbol in ELEMENTWISE_COMPARISONS:
            self.add("compare", expr.symbol)
        elif expr.symbol in BINARY:
            self.add("binary", expr.symbol)
        else:
            raise Unwritable(f"no instruction for {expr.symbol}")

    def _push_choice(self, expr: Conditional) -> None:
        """``a if test else b``; a test of whether there is a native kernel is one instruction."""
        otherwise, end = self.label(), self.label()
        match expr.condition:
            case Operation("is not", (Assigned("_k", kernel), Constant(value=None))):
                self.push_kernel_call(kernel, expr.then, otherwise)
            case condition:
                self.test(condition, otherwise)
                self._push_branch(expr.then)
        self.add("jump", to=end)
        self.place(otherwise)
        self._push_branch(expr.otherwise)
        self.place(end)

    def _push_branch(self, expr: Expr) -> None:
        """One of two values; the fast path is left where it is one that cannot be written."""
        before = len(self.lines)
        try:
            self.push(expr)
        except Unwritable:
            del self.lines[before:]
            self.add("constant", None)
            self.add("leave")

    def push_kernel_call(self, kernel: Expr, call: Expr, otherwise: str) -> None:
        """The call of a kernel, which the name ``_k`` is for, where there is one."""
        if not (isinstance(call, Call) and call.function == Name("_k")):
            raise Unwritable("it calls no kernel")
        self._push_kernel(kernel, otherwise)
        self._push_arguments(call, True)

    def _push_kernel(self, kernel: Expr, otherwise: str) -> None:
        """Push a kernel, which may be another by a condition, or none."""
        match kernel:
            case Constant(value=None):
                self.add("jump", to=otherwise)
            case Conditional(condition, Constant(value=None), other):
                self.test(condition, otherwise, holds=True)
                self._push_kernel(other, otherwise)
            case Conditional(condition, one, other):
                second, end = self.label(), self.label()
                self.test(condition, second)
                self._push_kernel(one, otherwise)
                self.add("jump", to=end)
                self.place(second)
                self._push_kernel(other, otherwise)
                self.place(end)
            case _:
                self.add("fetch_kernel", self._path(kernel), to=otherwise)

    def _push_call(self, expr: Call) -> None:
        match expr.function:
            case Name(name) if name in _CONVERSIONS and len(expr.arguments) == 1 and not expr.keywords:
                self.push(expr.arguments[0])
                self.add(_CONVERSIONS[name])
                return
        if self.pure:
            raise Unwritable("a call before the last one")
        if (body := BodyCall.read(expr)) is not None:
            self._push_body(body)
            return
        self.push(expr.function)
        self._push_arguments(expr, isinstance(expr.function, Attribute) and expr.function.value == Name("xp"))

    def _push_body(self, body: BodyCall) -> None:
        """Of contiguous rows by its native kernel; without one, and of others, the fast path is left."""
        if body.kernels == _NONE:
            raise Unwritable("a body without a native kernel")
        if body.singles or body.asked != _NONE or Kind.COLUMNS.value in body.kinds:
            raise Unwritable("a body over tables")
        match body.dtype:
            case Conditional(unasked):
                self.test(unasked, OUT)
        rows = [f"row{number}" for number in range(len(body.rows))]
        for name, row in zip(rows, body.rows, strict=True):
            self.push(row)
            self.add("store", name)
        match body.form, body.function:
            case Constant(value=str(form)), Attribute(module):
                others, end = self.label(), self.label()
                self._are_rows(body, rows[0], others)
                self._push_rows_kernel(body.name, body, rows, body.shared)
                self.add("jump", to=end)
                self.place(others)
                self._push_whole(form, module, body, rows[0])
                self.place(end)
            case _:
                self._are_rows(body, rows[0])
                self._push_rows_kernel(body.name, body, rows, body.shared)

    def _push_whole(self, form: str, module: Expr, body: BodyCall, row: str) -> None:
        """Of integers, which native kernels have not: what is all of the body, by its name."""
        self.add("are_integers", row)
        self._push_all((Attribute(module, "WHOLE"), Constant(form)))
        self.add("item")
        self.add("local", row)
        self._push_all((body.dim, body.keepdim))
        self.add("call", 3)

    def _are_rows(self, body: BodyCall, row: str, otherwise: str = "") -> None:
        """Jump, or leave, where an array has no rows, or not such as their sizes say."""
        if body.sizes == Along.LISTED.value:
            self.test(Logical("or", (Operation("is", (body.dim, _NONE)), body.dim)), OUT)
        if body.sizes in ("", Along.LISTED.value):
            self.add("are_rows", row, to=otherwise)
            return
        sizes = self.local(body.dim)
        if sizes is None:
            sizes = "sizes_of_rows"
            self.push(body.dim)
            self.add("store", sizes)
        self.add("have_rows_of", row, sizes, to=otherwise)

    def _push_rows_kernel(
        self, name: Expr, body: BodyCall, rows: Sequence[str], shared: Sequence[Expr]
    ) -> None:
        """The call of the kernel by this name, or one of several names by the operands that are None."""
        match name:
            case Conditional(Operation("is not", (operand, _)), there, otherwise):
                absent, end = self.label(), self.label()
                tensor, value = self._optional(operand)
                self.test(Operation("is not", (tensor, _NONE)), absent)
                self._push_rows_kernel(there, body, rows, [value if e == operand else e for e in shared])
                self.add("jump", to=end)
                self.place(absent)
                self._push_rows_kernel(otherwise, body, rows, [e for e in shared if e != operand])
                self.place(end)
                return
        assert isinstance(name, Constant)
        self.add("fetch_kernel", self._path(Attribute(body.kernels, str(name.value))))
        for row in rows:
            self.add("local", row)
        for operand in shared:
            self.push(operand)
        for number in body.numbers:
            self._push_number(number, body, rows[0])
            self.add("number_like", rows[0])
        self.push(body.dim if body.sizes in ("", Along.LISTED.value) else Constant(-1))
        self.push(body.keepdim)
        self.add("rows", len(rows) + len(shared) + len(body.numbers))

    def _push_number(self, number: Expr, body: BodyCall, row: str) -> None:
        """A number for all rows; a function of their length that has something to say gives none."""
        match number:
            case Lambda((length,), Call(function, arguments, ())):
                self.push(function)
                for argument in arguments:
                    if argument == Name(length.name):
                        self.push(body.dim)
                        self.add("length_of_rows", row)
                    else:
                        self.push(argument)
                self.add("call", len(arguments))
            case _:
                self.push(number)

    def _optional(self, operand: Expr) -> tuple[Expr, Expr]:
        """What says whether an optional operand is None, and its value where it is not."""
        found = self.values.get(operand.id, operand) if isinstance(operand, Name) else operand
        match found:
            case Conditional(Operation("is", (tensor, Constant(value=None))), Constant(value=None), value):
                return tensor, value
        return operand, operand

    def invoke(self, expr: Expr) -> None:
        """The call that gives the result. Before it nothing is called that could have an effect."""
        self.pure = True
        match expr:
            case Subscript(Call() as inner, Constant(value=int()) as index):
                self.invoke(inner)
                self.push(index)
                self.add("item")
                return
            case Conditional(condition, then, otherwise):
                other, end = self.label(), self.label()
                self.test(condition, other)
                self.invoke(then)
                self.add("jump", to=end)
                self.place(other)
                self.invoke(otherwise)
                self.place(end)
                return
            case Name() if self.local(expr) is not None:
                self.push(expr)
                return
        if not isinstance(expr, Call) or expr.keywords:
            raise Unwritable("what it returns is no call, or one with keywords")
        match expr.function:
            case Attribute(value, name) if self._is_of_local(value):
                self.push(value)
                operation: tuple[object, ...] = "invoke_method", name
            case function:
                self.push(function)
                operation = ("invoke",)
        self._push_all(expr.arguments)
        self.add(*operation, len(expr.arguments))

    def _push_arguments(self, expr: Call, ufunc: bool) -> None:
        """The arguments, and the call of what was pushed before them."""
        out = {k.name: k.value for k in expr.keywords}
        self._push_all(expr.arguments)
        if not out:
            self.add("call", len(expr.arguments))
        elif out == {"out": Constant(...)}:
            self.add("call_out", len(expr.arguments))
        elif ufunc and list(out) == ["out"]:  # a ufunc takes it by position, too
            self.push(out["out"])
            self.add("call", len(expr.arguments) + 1)
        else:
            raise Unwritable("a call with keywords")

    # -- tests -----------------------------------------------------------------------------

    def test(self, expr: Expr, otherwise: str, holds: bool = False) -> None:
        """Jump where a test fails, or where it holds; without a label the fast path is left."""
        match expr:
            case Logical("and", operands) if not holds:
                for operand in operands:
                    self.test(operand, otherwise)
            case Logical("or", operands) if not holds:
                inside = self.label()
                for operand in operands[:-1]:
                    self.test(operand, inside, holds=True)
                self.test(operands[-1], otherwise)
                self.place(inside)
            case Logical("and", operands):
                outside = self.label()
                for operand in operands[:-1]:
                    self.test(operand, outside)
                self.test(operands[-1], otherwise, holds=True)
                self.place(outside)
            case Logical("or", operands):
                for operand in operands:
                    self.test(operand, otherwise, holds=True)
            case Operation("not x", (inner,)):
                self.test(inner, otherwise, not holds)
            case _ if (words := self._simple_test(expr)) is not None:
                negated = words[0] == "not"
                self.add(*words[negated:], to=otherwise, holds=holds is not negated)
            case _:
                self._computed_test(expr, otherwise, holds)

    def _computed_test(self, expr: Expr, otherwise: str, holds: bool) -> None:
        self.push(expr)
        if holds:
            self.add("unary", "not")
        self.add("jump_if_not", to=otherwise or OUT)

    def _simple_test(self, expr: Expr) -> tuple[object, ...] | None:
        """The test of a local that one instruction does, behind ``not`` where it is the opposite."""
        match expr:
            case Operation("==", (Call(Name("len"), (Name("args"),)), Constant(value=count))) if self.loose:
                return "is_given", count
            case Operation(">", (Call(Name("len"), (Name("args"),)), Constant(value=count))) if self.loose:
                return "is_more_given", count
            case Operation(
                "==" | "!=" as symbol, (value, Constant() | Operation("-x", (Constant(),)) as other)
            ) if (name := self.local(value)) is not None:
                return *(("not",) if symbol == "!=" else ()), "is_equal", name, _literal(other)
            case Operation("is not", (Call(Name("one_type"), (value,)), Constant(value=None))) if (
                name := self.local(value)
            ) is not None:
                return "have_one_type", name
            case Operation("is", (Call(Name("one_type"), (value,)), Name("T"))) if (
                name := self.local(value)
            ) is not None:
                return "have_type", name
            case Operation("is", (Subscript(Name("edges"), Constant(value=number)), Constant(value=None))):
                return "not", "goes", number
            case Operation(
                "is not", (Subscript(Name("edges"), Constant(value=number)), Constant(value=None))
            ):
                return "goes", number
            case Operation("is", (value, other)) if (name := self.local(value)) is not None:
                return self._identity_test(name, other)
            case Operation("is not", (value, other)) if (name := self.local(value)) is not None:
                found = self._identity_test(name, other)
                return None if found is None else ("not", *found)
            case Operation("is", (Attribute(Attribute(value, "_type"), "backend"), other)):
                name = self.local(value) if other == Attribute(Name("T"), "backend") else None
                return None if name is None else ("has_backend", name)
            case Operation("in", (Name(kind), Attribute(Name("T"), "weak"))) if kind not in self.names:
                return "weak_has", kind
            case Operation("is" | "is not" | "in" as symbol, (Attribute(value, attribute), other)):
                name = self.local(value)
                found = None if name is None else self._attribute_test(name, symbol, attribute, other)
                return ("not", *found) if found is not None and symbol == "is not" else found
            case Attribute(Attribute(Attribute(value, "_array"), "flags"), "c_contiguous") if (
                name := self.local(value)
            ) is not None:
                return "is_contiguous", name
            case Attribute(Attribute(value, "flags"), "c_contiguous") if (
                name := self.local(value)
            ) is not None:
                return "is_contiguous", name
            case Call(Attribute(value, "is_contiguous"), ()) if (name := self.local(value)) is not None:
                return "is_contiguous", name
            case Operation("==", (Attribute(value, "ndim"), Constant(value=int(dims)))) if (
                name := self.local(value)
            ) is not None:
                return "has_dims", name, dims
            case Attribute(value, "_requires_grad") if (name := self.local(value)) is not None:
                return "not", "needs_no_grad", name
            case Call(Name("ints" | "many_ints" as kind), (value,)) if (
                name := self.local(value)
            ) is not None:
                return "are_ints" if kind == "ints" else "are_many_ints", name
        return None

    def _identity_test(self, name: str, other: Expr) -> tuple[object, ...] | None:
        match other:
            case Constant(value=None):
                return "is_none", name
            case Name("MISSING"):
                return "is_missing", name
            case Constant(value=bool()):
                return "is_same", name, _literal(other)
        return None

    def _attribute_test(
        self, name: str, symbol: str, attribute: str, other: Expr
    ) -> tuple[object, ...] | None:
        match attribute, other:
            case "__class__", Name("plain") if symbol == "in":
                return "is_plain", name
            case "__class__", Attribute(Name("T"), "weak") if symbol == "in":
                return "is_weak", name
            case "__class__", Name(kind) if symbol != "in":
                return "is_class", name, kind
            case "_type", Name("T") if symbol != "in":
                return "has_type", name
        return None


def _literal(expr: Constant | Operation) -> str:
    """A constant, or a number with its sign turned, as a fast path writes it."""
    text = repr(expr.value) if isinstance(expr, Constant) else write(expr)
    if ";" in text or "\n" in text or "->" in text or "=>" in text or text.endswith(":"):
        raise Unwritable("a constant that cannot stand in a fast path")
    return text
