"""Specialise: the Python functions and methods that users call.

A binding tests whether its arguments are what the operator takes as they stand; then it goes
straight to the Type. Anything else (Python numbers that promote, mixed types, keyword forms,
``out=``, active interceptors) goes to ``tengen.dispatch.calls.call``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.annotations import annotation, default, parameter_name, return_annotation
from ..model.groups import Group
from ..model.names import BINARY_OPERATORS, NUMPY_NAMES, TENSOR_OPTIONS
from ..model.operators import Operator
from ..model.schema import Argument
from .argument_tests import but_refused, returned_if, value_test
from .keyword_calls import KeywordForm, keyword_forms
from .nested import MISSING, Nested, given, nested

#: The arguments that signatures have by NumPy's name too. Functions find the other names in ``**keywords``.
_NAMED_TWICE = ("dim", "keepdim")
NUMPY_WORDS = {name: NUMPY_NAMES[name][0] for name in _NAMED_TWICE}
METHOD_WORDS = {name: NUMPY_NAMES[name][0] for name in (*_NAMED_TWICE, "other")}
#: The receiver's Type, as attempts call it.
_TYPE = re.compile(r"\bt\b")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One overload's first path: the test, and the call when it holds."""

    condition: str
    call: str

    def statements(self) -> Iterator[str]:
        """The statements that return what it gives, if the test holds."""
        yield from returned_if(self.condition, self.call)


@dataclass(frozen=True, slots=True)
class Binding:
    """A function or a method."""

    name: str
    signature: str
    returns: str
    receiver: str  # the tensor whose Type runs it
    attempts: tuple[Attempt, ...]
    fallback: str
    doc: str
    guard: str = "not active"
    requires_grad: bool = False  # a factory: takes requires_grad=
    forms: tuple[KeywordForm, ...] = ()  # first paths of calls with keywords
    words: tuple[tuple[str, str, str], ...] = ()  # what may be given by another word, that, the default

    @property
    def names_type(self) -> bool:
        """Whether the receiver's Type is asked for more than once, and so has a name."""
        uses = [use for a in self.attempts for use in _TYPE.findall(f"{a.condition} {a.call}")]
        return bool(self.receiver) and len(uses) > 1

    @property
    def first_paths(self) -> tuple[Attempt, ...]:
        """The attempts as they are written."""
        if self.names_type or not self.receiver:
            return self.attempts
        return tuple(replace(a, call=_TYPE.sub(f"{self.receiver}._type", a.call)) for a in self.attempts)

    def statements(self) -> Iterator[str]:
        """The statements of the function: first paths, then the call that every other way ends in."""
        if not self.requires_grad:
            for name, word, default in self.words:
                yield f"if {word} is not MISSING:"
                yield f'    {name} = worded("{self.name}", "{name}", {name}, {default}, {word})'
            if self.attempts:
                yield from self._by_position()
            if self.forms:
                yield from self._by_keyword()
        yield f"return {self.fallback}"

    def _by_position(self) -> Iterator[str]:
        """The first paths of calls without keywords."""
        a_tensor = f" and {self.receiver}.__class__ in plain" if self.receiver not in ("", "self") else ""
        yield f"if {self.guard}{a_tensor}:"
        if self.names_type:
            yield f"    t = {self.receiver}._type"
        for attempt in self.first_paths:
            yield from (f"    {line}" for line in attempt.statements())

    def _by_keyword(self) -> Iterator[str]:
        """The first paths of calls with keywords."""
        a_tensor = "" if self.receiver == "self" else " and args and args[0].__class__ in plain"
        yield f"if keywords and not active{a_tensor}:"
        yield f"    t = {self.receiver}._type"
        yield "    given = (len(args), *keywords)"
        for form in self.forms:
            yield from (f"    {line}" for line in form.statements())


class BindingWriter:
    """Makes the bindings of all groups."""

    def __init__(self, found: Mapping[str, Group], structures: Mapping[str, str]) -> None:
        self.groups = found
        self.structures = structures

    def methods(self) -> list[Binding]:
        """The methods of Tensor, and Python's special methods."""
        made = [
            self._binding(g, "self")
            for g in self.groups.values()
            if any("method" in v.operator.variants for v in g.variants)
        ]
        return made + [b for g in self.groups.values() for b in self._special(g)]

    def special_methods(self) -> list[tuple[str, str]]:
        """Python's special methods, each with the method that function overrides are told of."""
        made = []
        for g in self.groups.values():
            for name, order, target in self._special_groups(g):
                made.append((name, self.seen_as(name, order, target)))
        return sorted(made)

    def functions(self) -> list[Binding]:
        """The functions of the namespace."""
        return [
            self._binding(g, "input")
            for g in self.groups.values()
            if any("function" in v.operator.variants for v in g.variants)
        ]

    # -- one binding -------------------------------------------------------------------------

    def _binding(self, group: Group, receiver: str) -> Binding:
        wanted = "method" if receiver == "self" else "function"
        operators = tuple(o for o in group.operators if wanted in o.variants)
        first = operators[0].schema.arguments
        starts_with_self = bool(first) and first[0].name == "self" and first[0].type.is_tensor
        if any(o.factory is not None for o in operators):
            return self._factory(group, operators)
        if receiver == "input" and len(operators) == 1 and first and first[0].type.is_tensor_list:
            return self._joining(group, operators[0])
        alike = self._alike(operators) and not any(_variadic(o) for o in operators)
        if alike and starts_with_self:
            made = self._flat(group, operators, receiver)
        elif alike and receiver == "input" and first and first[0].type.is_tensor:
            made = self._flat(group, operators, parameter_name(first[0].name))
        elif starts_with_self and (common := self._nested_signature(operators)) is not None:
            made = self._nested(group, operators, common, receiver)
        else:
            made = self._open(group, operators, receiver, starts_with_self)
        return _leaf_maker(made) if all(_makes_new(o) for o in operators) else made

    def _alike(self, operators: tuple[Operator, ...]) -> bool:
        """Whether all overloads have the same names and defaults, so that one signature does."""
        shapes = {tuple((a.name, default(a), a.kwarg_only) for a in o.schema.arguments) for o in operators}
        return len(shapes) == 1

    def _flat(self, group: Group, operators: tuple[Operator, ...], receiver: str) -> Binding:
        """``def add(self, other, *, alpha=1)``."""
        first, *arguments = operators[0].schema.arguments
        method = receiver == "self"
        worded = not method and _worded(operators[0])
        out = bool(group.outs) and not method and not worded
        words = _words(arguments, METHOD_WORDS if method else NUMPY_WORDS)
        more = any(o.deprecated for o in operators)
        parameters = _parameters(arguments, words, out, may_be_missing=worded)
        parameters = ["*more" if more and p == "*" else p for p in parameters]
        parameters = [f"{receiver}=MISSING", *parameters, "**keywords"] if worded else [receiver, *parameters]
        names = {a.name: parameter_name(a.name) for a in arguments} | {first.name: receiver}
        tried = [self._attempt(o, names, o.schema.arguments, receiver) for o in operators]
        attempts = tuple(a for a in tried if a.condition != "False")
        positional = [receiver] + [names[a.name] for a in arguments if not a.kwarg_only]
        positional += ["*more"] if more else []
        keywords = [f'"{a.name}": {names[a.name]}' for a in arguments if a.kwarg_only]
        keywords += ['"out": out'] if out else []
        given = _among(keywords) if worded else f"{{{', '.join(keywords)}}}"
        public = _public(group.function, receiver, names.values())
        fallback = f'call("{group.called}", ({", ".join(positional)},), {given}, {public})'
        guard = "not active" + (" and out is None" if out else "") + (" and not keywords" if worded else "")
        guard += " and not more" if more else ""
        return Binding(
            group.function,
            ", ".join(parameters),
            self._returns(operators),
            receiver,
            attempts,
            fallback,
            group.doc,
            guard,
            words=words,
        )

    def _nested_signature(self, operators: tuple[Operator, ...]) -> Nested | None:
        if any(_variadic(o) or _makes_new(o) for o in operators):
            return None
        return nested(operators)

    def _nested(
        self, group: Group, operators: tuple[Operator, ...], common: Nested, receiver: str
    ) -> Binding:
        """``def sum(self, dim=MISSING, keepdim=MISSING, *, dtype=None)``."""
        method = receiver == "self"
        known = METHOD_WORDS if method else {}  # a function gets them among **keywords
        words = tuple((name, word, "MISSING") for name, word, _ in _words(common.slots, known))
        names = {a.name: parameter_name(a.name) for a in common.slots} | {
            a.name: parameter_name(a.name) for a, _ in common.keywords
        }
        keywords = [f"{names[a.name]}={text}" for a, text in common.keywords]
        parameters = [receiver if method else f"{receiver}=MISSING"]
        parameters += [f"{names[a.name]}=MISSING" for a in common.slots]
        parameters += [f"{word}=MISSING" for _, word, _ in words]
        parameters += ["*", *keywords] if keywords else []
        parameters += [] if method else ["**keywords"]
        attempts: list[Attempt] = []
        for o in operators:
            own = {o.schema.positional[0].name: receiver}
            own |= {a.name: names[a.name] for a, text in common.keywords if text != MISSING}
            for count, missing in given(o, common):
                here = own | {a.name: names[a.name] for a in o.schema.positional[1 : count + 1]}
                attempt = self._attempt(o, here, o.schema.arguments, receiver)
                tests = [f"{names[n]} is MISSING" for n in missing]
                tests += [] if attempt.condition == "True" else [attempt.condition]
                if attempt.condition != "False":
                    attempts.append(Attempt(" and ".join(tests) or "True", attempt.call))
        slots = "".join(f'("{a.name}", {names[a.name]}), ' for a in common.slots)
        named = "".join(f'("{a.name}", {names[a.name]}), ' for a, _ in common.keywords)
        more = "" if method else ", keywords"
        public = _public(group.function, receiver, names.values())
        return Binding(
            group.function,
            ", ".join(parameters),
            self._returns(operators),
            receiver,
            tuple(attempts),
            f'call("{group.called}", *as_given({receiver}, ({slots}), ({named}){more}), {public})',
            group.doc,
            "not active" if method else "not active and not keywords",
            words=words,
        )

    def _joining(self, group: Group, operator: Operator) -> Binding:
        """``def cat(tensors, dim=0, *, out=None)``: the tensors of the list have one Type, most often."""
        arguments = operator.schema.arguments
        words = _words(arguments, NUMPY_WORDS)
        parameters = _parameters(arguments, words, bool(group.outs))
        names = {a.name: parameter_name(a.name) for a in arguments}
        tensors = names[arguments[0].name]
        attempt = self._attempt(operator, names, arguments, tensors)
        positional = "".join(f"{names[a.name]}, " for a in arguments if not a.kwarg_only)
        keywords = [f'"{a.name}": {names[a.name]}' for a in arguments if a.kwarg_only]
        keywords += ['"out": out'] if group.outs else []
        out = " and out is None" if group.outs else ""
        public = _public(group.function, "", names.values())
        return Binding(
            group.function,
            ", ".join(parameters),
            self._returns((operator,)),
            "",
            (attempt,) if attempt.condition != "False" else (),
            f'call("{group.called}", ({positional}), {{{", ".join(keywords)}}}, {public})',
            group.doc,
            f"not active{out} and (t := one_type({tensors})) is not None",
            words=words,
        )

    def _open(
        self, group: Group, operators: tuple[Operator, ...], receiver: str, starts_with_self: bool
    ) -> Binding:
        """``def sum(self, *args, **keywords)``: overloads that no one signature covers."""
        attempts: list[Attempt] = []
        forms: tuple[KeywordForm, ...] = ()
        if starts_with_self:
            for o in operators:
                attempts += self._open_attempts(o, receiver)
            forms = self._forms(operators, receiver)
        if receiver == "input" and starts_with_self:
            signature = "*args, **keywords"
            attempts = [Attempt(a.condition, a.call.replace("(input", "(args[0]")) for a in attempts]
            return Binding(
                group.function,
                signature,
                self._returns(operators),
                "args[0]",
                tuple(attempts),
                f'call("{group.called}", args, keywords, {group.function})',
                group.doc,
                "not active and not keywords and args",
                forms=forms,
            )
        signature = ", ".join([*(["self"] if receiver == "self" else []), "*args", "**keywords"])
        given, keywords = "args", "keywords"
        public = _public(group.function, receiver)
        if receiver == "self" and starts_with_self:
            given = "(self, *args)"
        elif receiver == "self":  # x.where(condition, other): self is not the first argument
            before = [a.name for a in operators[0].schema.arguments].index("self")
            given = f"(*args[:{before}], self, *args[{before}:]) if len(args) >= {before} else args"
            keywords = f'keywords if len(args) >= {before} else {{**keywords, "input": self}}'
            public += ", (self, *args), keywords"
        return Binding(
            group.function,
            signature,
            self._returns(operators),
            receiver if starts_with_self else "",
            tuple(attempts),
            f'call("{group.called}", {given}, {keywords}, {public})',
            group.doc,
            "not active and not keywords",
            forms=forms,
        )

    def _forms(self, operators: tuple[Operator, ...], receiver: str) -> tuple[KeywordForm, ...]:
        """The first paths of calls with keywords."""
        if any(_makes_new(o) for o in operators):
            return ()  # there ``requires_grad=`` is among them
        forms: list[KeywordForm] = []
        first = "self" if receiver == "self" else "args[0]"
        for o in operators:

            def attempted(names: dict[str, str], o: Operator = o) -> tuple[str, str]:
                names = {o.schema.positional[0].name: first} | names
                made = self._attempt(o, names, o.schema.arguments, first, complete=False)
                return made.condition, made.call

            def testable(argument: Argument, o: Operator = o) -> bool:
                return value_test(o, argument, "x", False)[0] not in ("False", "x is None")

            forms += keyword_forms(o, 0 if receiver == "self" else 1, testable, attempted)
        return tuple(forms)

    def _open_attempts(self, operator: Operator, receiver: str) -> Iterable[Attempt]:
        """The first paths of an overload by the number of arguments given."""
        offset = 0 if receiver == "self" else 1
        rest = operator.schema.positional[1:]
        if _variadic(operator):
            defaults = [default(a) for a in operator.schema.kwarg_only]
            if len(rest) == 1 and None not in defaults:
                more = "".join(f", {text}" for text in defaults)
                start = f"args[{offset}:]" if offset else "args"
                first = f"args[{offset}]"
                call = f"t.{operator.name.method}({receiver}, {start}{more})"
                yield Attempt(f"len(args) > {offset} and {first}.__class__ is int", call)
                yield Attempt(
                    f"len(args) == {offset + 1} and {first}.__class__ is tuple",
                    f"t.{operator.name.method}({receiver}, {first}{more})",
                )
            return
        required = sum(default(a) is None for a in rest)
        for count in sorted({required, len(rest)}):
            names = {a.name: f"args[{i + offset}]" for i, a in enumerate(rest[:count])} | {"self": receiver}
            attempt = self._attempt(operator, names, operator.schema.arguments, receiver, complete=False)
            if attempt.condition != "False":
                condition = f"len(args) == {count + offset}"
                more = "" if attempt.condition == "True" else f" and {attempt.condition}"
                yield Attempt(condition + more, attempt.call)

    def _attempt(
        self,
        operator: Operator,
        names: Mapping[str, str],
        arguments: Iterable[Argument],
        receiver: str,
        complete: bool = True,
    ) -> Attempt:
        """The test that the arguments need no conversion, and the Type's method."""
        conditions: list[str] = []
        values: list[str] = []
        for a in arguments:
            text = names.get(a.name)
            if text is None:
                fallback = default(a)
                if fallback is None:  # required, and not among what is given
                    return Attempt("False", "")
                values.append(fallback)
                continue
            condition, value = value_test(operator, a, text, is_receiver=text == receiver)
            if condition == "False" and complete:
                condition = f"{text} is None" if default(a) == "None" else "False"
            conditions += [condition] if condition != "True" else []
            values.append(value)
        if "False" in conditions:
            return Attempt("False", "")
        call = f"t.{operator.name.method}({', '.join(values)})"
        return Attempt(" and ".join(conditions) or "True", call)

    def _number_attempt(
        self, operator: Operator, names: Mapping[str, str], receiver: str = "self"
    ) -> Iterable[Attempt]:
        """A Python number for the second operand: a 0-d tensor of the first one's Type."""
        arguments = operator.schema.arguments
        if (
            not takes_numbers(operator)
            or operator.name.inplace
            or len(arguments) < 2
            or not arguments[1].type.is_tensor
        ):
            return
        number = names.get(arguments[1].name)
        if number is None:
            return
        conditions = [f"{number}.__class__ in t.weak{but_refused(operator, number)}"]
        values = [receiver, f"t.number({number})"]
        for a in arguments[2:]:
            condition, value = (
                value_test(operator, a, names[a.name], False) if a.name in names else ("True", default(a))
            )
            conditions += [condition] if condition != "True" else []
            values.append(str(value))
        if "False" not in conditions and "None" not in values[2:]:
            yield Attempt(" and ".join(conditions), f"t.{operator.name.method}({', '.join(values)})")

    # -- factories ---------------------------------------------------------------------------

    def _factory(self, group: Group, operators: tuple[Operator, ...]) -> Binding:
        return Binding(
            group.function,
            "*args, requires_grad=False, **keywords",
            self._returns(operators),
            "",
            (),
            f'make("{group.called}", args, keywords, {group.function}, requires_grad)',
            group.doc,
            requires_grad=True,
        )

    # -- Python's operators --------------------------------------------------------------------

    def _special(self, group: Group) -> Iterable[Binding]:
        """``__add__`` and its like, as the declarations' ``operators`` say."""
        return [self._special_binding(*found) for found in self._special_groups(group)]

    def _special_groups(self, group: Group) -> Iterable[tuple[str, tuple[str, ...], Group]]:
        """Each special method of a group, the order of its arguments, and what it calls."""
        for name, order in group.special_methods.items():
            inplace = name.startswith("__i") and name[3:-2] in BINARY_OPERATORS
            target = self.groups.get(group.function + "_") if inplace else group
            if target is not None:
                yield name, order, target

    def _special_binding(self, name: str, order: tuple[str, ...], group: Group) -> Binding:
        parameters = ["self", *sorted(set(order) - {"self"}, key=order.index)]
        attempts: list[Attempt] = []
        numbers: list[Attempt] = []  # behind the overloads that take a number as it is
        for o in group.operators if order and order[0] == "self" else ():
            names = {a.name: n for a, n in zip(o.schema.arguments, order, strict=False)}
            if len(names) == len(order) and o.schema.arguments[0].type.is_tensor:
                attempts.append(self._attempt(o, names, o.schema.arguments, "self", complete=False))
                numbers += self._number_attempt(o, names)
        taken = {a.condition for a in attempts}
        attempts += [a for a in numbers if a.condition not in taken]
        public = self.seen_as(name, order, group)
        fallback = f'call_operator("{group.called}", ({", ".join(order)},), "{public}")'
        kept = tuple(a for a in attempts if a.condition != "False")
        return Binding(name, ", ".join(parameters), "Any", "self", kept, fallback, "")

    def seen_as(self, name: str, order: tuple[str, ...], group: Group) -> str:
        """What function overrides are told that was called: the method that a special method stands for."""
        is_method = any("method" in o.variants for o in group.operators)
        return group.function if is_method and order[0] == "self" else name

    def _returns(self, operators: tuple[Operator, ...]) -> str:
        texts = {return_annotation(o.schema.returns, self.structures.get(str(o.name))) for o in operators}
        return texts.pop() if len(texts) == 1 else "Any"


def _words(arguments: Sequence[Argument], known: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    """The arguments that NumPy has other words for, of those known: name, word and default."""
    taken = {a.name for a in arguments}
    return tuple(
        (a.name, word, default(a) or "MISSING")
        for a in arguments
        if (word := known.get(a.name)) is not None and word not in taken
    )


def _worded(operator: Operator) -> bool:
    """Whether NumPy has words for arguments of a function that come among ``**keywords``."""
    public = not operator.name.function.startswith("_")
    return public and any(a.name in ("self", "input", "other") for a in operator.schema.arguments)


def _among(keywords: Sequence[str]) -> str:
    """The keywords of a call: those of the signature, and whatever else was given."""
    return f"{{{', '.join(keywords)}, **keywords}}" if keywords else "keywords"


def _parameters(
    arguments: Sequence[Argument],
    words: Sequence[tuple[str, str, str]],
    out: bool = False,
    may_be_missing: bool = False,
) -> list[str]:
    """The parameters of a binding. What comes after one that may be given by another word has a default.

    The other word of a required argument stands behind the positional ones: a default costs least there, and
    a call that comes to it by position has given the argument before, which is an error.
    """
    positional: list[str] = []
    keywords: list[str] = []
    for a in arguments:
        text = default(a)
        may_be_missing = may_be_missing or any(name == a.name for name, _, _ in words)
        if text is None and may_be_missing and not a.kwarg_only:
            text = "MISSING"
        name = parameter_name(a.name)
        (keywords if a.kwarg_only else positional).append(name if text is None else f"{name}={text}")
    for _, word, text in words:
        (positional if text == "MISSING" else keywords).append(f"{word}=MISSING")
    keywords += ["out=None"] if out else []
    return [*positional, "*", *keywords] if keywords else positional


def takes_numbers(operator: Operator) -> bool:
    """Whether a Python number may stand for a tensor: in ``x + 1``, but not in ``x @ 1``."""
    return bool(operator.operators) and "pointwise" in operator.tags


def _public(function: str, receiver: str, parameters: Iterable[str] = ()) -> str:
    """What a binding calls itself on the second path: the function, or the method's name."""
    if receiver == "self":
        return f'"{function}"'
    # Where a parameter, or the Type, has the name of the function.
    return f'globals()["{function}"]' if function in (*parameters, "t") else function


def makes_leaf(operators: Sequence[Operator]) -> bool:
    """Whether a function makes tensors that may be asked to be leaves: it takes ``requires_grad=``."""
    return any(o.factory is not None for o in operators) or (
        bool(operators) and all(map(_makes_new, operators))
    )


def _makes_new(operator: Operator) -> bool:
    """Whether it makes a tensor after the pattern of another: ``zeros_like``, ``new_zeros``."""
    names = {a.name for a in operator.schema.kwarg_only}
    return names.issuperset(TENSOR_OPTIONS) and "non_blocking" not in names


def _leaf_maker(binding: Binding) -> Binding:
    """The same binding with ``requires_grad=``."""
    head, rest, _ = binding.signature.partition(", **keywords")
    return replace(
        binding,
        signature=f"{head}, requires_grad=False{rest}",
        guard=f"{binding.guard} and not requires_grad",
        fallback=f"make{binding.fallback.removeprefix('call').removesuffix(')')}, requires_grad)",
    )


def _variadic(operator: Operator) -> bool:
    """Whether the elements of a list may be given loose: ``x.view(2, 3)``. Nothing may follow them."""
    positional = operator.schema.positional
    return len(positional) <= 2 and any(a.type.required.is_int_list for a in positional)


def docstring(group: Group) -> str:
    """A binding's docstring: what it does, and its schemas."""
    schemas = "\n".join(str(o.schema) for o in group.operators)
    return f"{group.doc}\n\n{schemas}" if group.doc else schemas


def annotated(operator: Operator) -> str:
    """An operator's signature for stubs and docs."""
    parts: list[str] = []
    star = False
    for a in operator.schema.arguments:
        if a.kwarg_only and not star:
            parts.append("*")
            star = True
        text = default(a)
        parts.append(
            f"{parameter_name(a.name)}: {annotation(a.type)}" + (f" = {text}" if text is not None else "")
        )
    return ", ".join(parts)
