"""Specialise: what follows from the update of an optimiser: its forms, over arrays and Tensors, its numbers.

Over NumPy's arrays states are changed in place, and what is computed on the way gets scratch arrays. Over
Tensors each operator gives a new one, so that what a backward pass needs stays what it is. Where numbers
multiply products and quotients, one operator does both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...ir.bodies import CONSTANT
from ...ir.expressions import (
    Attribute,
    Call,
    Conditional,
    Constant,
    Elements,
    Expr,
    Lambda,
    Name,
    Operation,
    Subscript,
    count_names,
    dotted,
    mapped,
    names_in,
    replaced,
    rewritten,
)
from ...ir.writer import write
from ..derive.ufuncs import Ufuncs
from ..model.operators import Primitive
from ..model.optimizers import FIRST, GRAD, LIKE, PARAM, Form, OptimizerUpdate, shared_forms

_WHERE = "where"
#: The operators that add, with a factor, what is computed of two operands.
_ADDED = {"*": "plus_product", "/": "plus_quotient"}


@dataclass(frozen=True, slots=True)
class ArrayForm:
    """A function that does a form of an update in place."""

    name: str
    parameters: tuple[str, ...]
    lines: tuple[str, ...]
    scratch: int


def array_form(form: Form, primitives: Mapping[str, Primitive]) -> ArrayForm:
    """The function over arrays: the numbers come first, the scratch arrays last."""
    writer = _ArrayWriter(form, Ufuncs(primitives))
    scratch = [f"s{i}" for i in range(writer.made)]
    kernel = form.kernel
    numbers = [o.name for o in kernel.inputs if o.dtype]
    parameters = (*numbers, PARAM, GRAD, *form.states, *scratch)
    return ArrayForm(kernel.name, parameters, tuple(writer.lines), writer.made)


class _ArrayWriter:
    """Writes an update as calls of NumPy's functions, each with the array that it writes into."""

    def __init__(self, form: Form, ufuncs: Ufuncs) -> None:
        self.ufuncs = ufuncs
        self.changed = {PARAM, *form.states}
        self.lines: list[str] = []
        self.free: list[str] = []
        self.made = 0
        self.masks: list[str] = []
        self.places: dict[str, str] = {}  # of what the update has names for
        #: What is assigned, where it may be written before the last function writes it.
        self.target = ""
        for i, (name, expr) in enumerate(form.statements):
            self.assign(name, expr)
            later = count_names([e for _, e in form.statements[i + 1 :]])
            ended = [self.places.pop(n) for n in [*self.places] if n not in later]
            self.free += [place for place in ended if place not in self.masks]

    def assign(self, name: str, expr: Expr) -> None:
        """The lines of an assignment."""
        into = name
        if name not in self.changed:
            into = self.places[name] = self.take()
        self.target = name if count_names([expr]).get(name) == 1 else ""
        text, held = self.place(expr, into)
        if text in self.masks:
            self.places[name] = text
            self.free.append(into)
        else:
            self.copy(text, into)
        self.free += [h for h in held if h != into]

    def take(self) -> str:
        """A scratch array that is free."""
        if not self.free:
            self.free.append(f"s{self.made}")
            self.made += 1
        return self.free.pop()

    def copy(self, text: str, into: str) -> None:
        if text != into:
            self.lines.append(f"np.copyto({into}, {text})")

    def place(self, expr: Expr, into: str = "") -> tuple[str, list[str]]:
        """The text of a value, which was computed, and the scratch array that is free when it was used."""
        match expr:
            case Name(name):
                return self.places.get(name, name), []
            case Call(Name(name), (condition, then, otherwise)) if name == _WHERE:
                return self.choice(condition, then, otherwise, into)
            case Call(Name(name), (value,)) if name == CONSTANT:
                return self.place(value, into)
            case Operation() | Call() if names_in(expr):
                return self.computed(expr, into)
        return write(expr), []

    def computed(self, expr: Expr, into: str) -> tuple[str, list[str]]:
        """What one function computes."""
        function, operands = _function(expr, self.ufuncs)
        placed = [self.place(operand) for operand in operands]
        texts, held = [text for text, _ in placed], [h for _, own in placed for h in own]
        if not any([d is not None for d in function.derivative or ()]):  # it tells which elements
            mask = f"m{len(self.masks)}"
            self.masks.append(mask)
            self.lines.append(f"{mask} = np.{function.name}({', '.join(texts)})")
            self.free += held
            return mask, []
        if not into:
            into = self.target if self.target in names_in(expr) else held[0] if held else self.take()
        self.lines.append(f"np.{function.name}({', '.join(texts)}, out={into})")
        self.free += [h for h in held if h != into]
        return into, self.own(into)

    def choice(self, condition: Expr, then: Expr, otherwise: Expr, into: str) -> tuple[str, list[str]]:
        """Both values, put together in one array."""
        mask, _ = self.place(condition)
        chosen, held = self.place(then)
        place = into if into != chosen else ""
        rest, own = self.place(otherwise, place)
        if not own and rest != place:
            into = place or self.take()
            self.copy(rest, into)
            rest = into
        self.lines.append(f"np.copyto({rest}, {chosen}, where={mask})")
        self.free += [h for h in held if h != rest]
        return rest, self.own(rest)

    def own(self, place: str) -> list[str]:
        """The array, if it is one that others may have when it has been used."""
        return [] if place in self.changed or place in self.places.values() else [place]


def _function(expr: Expr, ufuncs: Ufuncs) -> tuple[Primitive, Sequence[Expr]]:
    """The function of the namespace that an expression ends in, and its operands."""
    match expr:
        case Call(Name(name), arguments):
            return ufuncs.primitives[name], arguments
        case Operation(symbol, operands):
            return ufuncs.by_symbol[symbol], operands
    raise AssertionError(f"no function computes {write(expr)}")


# -- over Tensors ------------------------------------------------------------------------------


def tensor_lines(update: OptimizerUpdate, primitives: Mapping[str, Primitive]) -> list[str]:
    """The statements of the update by operators. A state that is not there is None, and stays it."""
    writer = _TensorWriter(update, primitives)
    lines = []
    for name, expr in update.update:
        line = f"{name} = {write(writer.written(expr))}"
        choice = update.conditional.get(name)
        lines += [line] if choice is None else [f"if {flag_of(choice)}:", f"    {line}"]
    return lines


def flag_of(choice: str) -> str:
    """The variable of a choice."""
    return f"is_{choice}"


class _TensorWriter:
    """Writes an update as operators over Tensors."""

    def __init__(self, update: OptimizerUpdate, primitives: Mapping[str, Primitive]) -> None:
        self.update, self.primitives = update, primitives

    def written(self, expr: Expr) -> Expr:
        """An expression over Tensors."""
        parts = mapped(expr, self.written)
        match expr, parts:
            case Conditional(Name(choice)), Conditional():
                return _either(Name(flag_of(choice)), parts, choice in self.update.fixed)
            case Call(Name(name)), Call(_, arguments):
                if name == CONSTANT:
                    return Call(Attribute(arguments[0], "detach"))
                given = tuple([self.operand(a) for a in arguments])
                return Call(dotted(f"F.{self.primitives[name].operator}"), given)
            case Operation("+" | "-" as sign, (_, product)), Operation(_, (first, second)):
                return self.sum(sign, product, first, second) or parts
        return parts

    def operand(self, expr: Expr) -> Expr:
        """An operand of a function, which takes tensors."""
        if isinstance(expr, Name) and expr.id in self.update.used:
            return Call(dotted("S.as_tensor"), (expr, Name(PARAM)))
        return expr

    def sum(self, sign: str, product: Expr, first: Expr, second: Expr) -> Expr | None:
        """The sum of a tensor and of what a number multiplies, by one operator; None of other sums."""
        match product, second:
            case Operation("*", (value, Name(number))), Operation(_, (written, factor)):
                if number in self.update.used and self.update.of_array(value):
                    scale = factor if sign == "+" else Operation("-x", (factor,))
                    return self.added(value, first, written, scale)
        return None

    def added(self, value: Expr, first: Expr, written: Expr, scale: Expr) -> Expr:
        match value, written:
            case Operation("*" | "/" as symbol, operands), Operation(_, given):
                if all(map(self.update.of_array, operands)):
                    return Call(dotted(f"S.{_ADDED[symbol]}"), (first, *given, scale))
        return Call(dotted("S.plus"), (first, written, scale))


def _either(condition: Expr, ways: Conditional, fixed: bool) -> Expr:
    """The choice of one of two ways, of which the other is not computed; a tensor chooses among both."""
    if fixed:
        return Conditional(condition, ways.then, ways.otherwise)
    return Call(dotted("S.either"), (condition, Lambda((), ways.then), Lambda((), ways.otherwise)))


# -- numbers -----------------------------------------------------------------------------------


def number_lines(update: OptimizerUpdate) -> list[str]:
    """The statements that compute the numbers of a step, and what counters are after it."""
    counters = [*update.counters]
    lines = []
    for name, expr in update.numbers:
        value = _of_numbers(expr, update)
        lines.append(f"{name} = {write(_kept(name, value, update) if name in counters else value)}")
    choices = [_flag(write(_of_numbers(e, update)), c in update.fixed) for c, e in update.choices.items()]
    lines.append(f"return {_tuple(choices)}, {_tuple(update.used)}, {_tuple(counters)}")
    return lines


def _flag(text: str, fixed: bool) -> str:
    """A choice; what options say may be anything that is true or false."""
    return f"bool({text})" if fixed else text


def _tuple(texts: Iterable[str]) -> str:
    return write(Elements("tuple", tuple(map(Name, texts))))


def _kept(counter: str, value: Expr, update: OptimizerUpdate) -> Expr:
    """A value as a counter keeps it."""
    return Call(Name("kept"), (Constant([*update.counters].index(counter)), value))


def _of_numbers(expr: Expr, update: OptimizerUpdate) -> Expr:
    def change(part: Expr) -> Expr:
        match part:
            case Conditional(condition):
                return _either(condition, part, names_in(condition) <= {*update.options, FIRST})
            case Call(Name(name), (value, Name(counter))) if name == LIKE:
                return _kept(counter, value, update)
            case Call(Name(name), arguments):
                return Call(dotted(f"S.{name}"), arguments)
        return part

    return rewritten(expr, change)


def options_in(update: OptimizerUpdate) -> tuple[str, ...]:
    """The options that numbers and choices use."""
    exprs = [e for _, e in update.numbers] + [*update.choices.values()]
    used = {*update.used}.union(*map(names_in, exprs))
    return tuple([o for o in update.options if o in used])


def of_options(expr: Expr, update: OptimizerUpdate) -> Expr:
    """An expression over a group of options, ``options``."""
    return replaced(expr, {o: Subscript(Name("options"), Constant(o)) for o in update.options})


def initial(update: OptimizerUpdate) -> Iterator[tuple[str, str]]:
    """What each state begins as."""
    for name, expr in (*update.counters.items(), *update.states.items()):
        yield name, write(of_options(expr, update))


def names(update: OptimizerUpdate) -> str:
    """The states that are there for a group of options."""
    parts = []
    for state in update.states:
        choice = update.conditional.get(state)
        if choice is None:
            parts.append(repr(state))
        else:
            test = write(of_options(update.choices[choice], update))
            parts.append(f"*(({state!r},) if {test} else ())")
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def update_rows(
    updates: Sequence[OptimizerUpdate], primitives: Mapping[str, Primitive]
) -> list[dict[str, Any]]:
    """What is written of each optimiser."""
    forms, rows, known = shared_forms(updates), [], set[str]()
    for update in updates:
        own = {f.kernel.name: array_form(f, primitives) for _, f in forms[update.name]}
        arrays = [form for name, form in own.items() if name not in known]
        known |= own.keys()
        rows.append(
            {
                "name": update.name,
                "options": options_in(update),
                "counters": tuple(update.counters),
                "states": tuple(update.states),
                "numbers": number_lines(update),
                "flags": _tuple(map(flag_of, update.choices)) if update.choices else "",
                "used": _tuple(update.used),
                "step": tensor_lines(update, primitives),
                "arrays": arrays,
                "names": names(update),
                "initial": list(initial(update)),
                "forms": [
                    (chosen, f.kernel.name, own[f.kernel.name].scratch, f.takes)
                    for chosen, f in forms[update.name]
                ],
            }
        )
    return rows
