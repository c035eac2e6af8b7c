"""Specialise: the Python functions and methods that users call.

A binding tests whether its arguments are what the operator takes as they stand; then it goes
straight to the Type. Anything else (Python numbers that promote, mixed types, keyword forms,
``out=``, active interceptors) goes to ``tengen.dispatch.calls.call``.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from ...ir.expressions import Attribute, Call, Constant, Expr, Name, Starred, Subscript, dictionary
from ...ir.reader import filled
from ...ir.statements import FALSE, NONE, TRUE, call, names as names_of, tuple_of
from ..model.annotations import annotation, default, parameter_name, return_annotation, users_name
from ..model.groups import Group
from ..model.names import BINARY_OPERATORS, COMPARISONS, NUMPY_NAMES, TENSOR_OPTIONS
from ..model.operators import Operator
from ..model.schema import Argument
from .argument_tests import but_refused, default_of, or_missing, value_test
from .binding import TYPE, Attempt, Binding
from .factories import factory_attempts
from .keyword_calls import FORMS, KeywordForm, argument, keyword_forms
from .nested import Nested, nested
from .none_keywords import none_keywords

#: The arguments that signatures have by NumPy's name too. Functions find the other names in ``**keywords``.
_NAMED_TWICE = ("dim", "keepdim")
NUMPY_WORDS = {name: NUMPY_NAMES[name][0] for name in _NAMED_TWICE}
#: Expressions of arguments, by their names.
Names = Mapping[str, Expr]
_SELF, _ARGS, _KEYWORDS = Name("self"), Name("args"), Name("keywords")
_NOT_ACTIVE, _NO_KEYWORDS, _NO_OUT = filled("not active"), filled("not keywords"), filled("out is None")
METHOD_WORDS = {name: NUMPY_NAMES[name][0] for name in (*_NAMED_TWICE, "other")}


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
        method = receiver == "self"
        nones = none_keywords(operators, method, bool(group.outs) and not method)
        if any(o.factory is not None for o in operators):
            return replace(self._factory(group, operators), nones=nones)
        made = self._of_any_form(group, operators, receiver, starts_with_self)
        if all(_writes_first_list(o) for o in operators):
            return _giving_back(made)
        return replace(made, nones=nones)

    def _of_any_form(
        self, group: Group, operators: tuple[Operator, ...], receiver: str, starts_with_self: bool
    ) -> Binding:
        """A binding with the signature that its overloads have, or one that is open."""
        first = operators[0].schema.arguments
        if receiver == "input" and len(operators) == 1 and first and first[0].type.is_tensor_list:
            return self._joining(group, operators[0])
        alike = self._alike(operators) and not any(_variadic(o) for o in operators)
        leading = receiver if starts_with_self else users_name(first[0]) if first else ""
        simple = starts_with_self or (receiver == "input" and any(a.type.is_tensor for a in first))
        if alike and simple:
            made = self._flat(group, operators, leading)
        elif simple and (common := self._nested_signature(operators)) is not None:
            made = self._nested(group, operators, common, leading)
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
        names: Names = {a.name: Name(users_name(a)) for a in arguments} | {first.name: Name(receiver)}
        runs = [_running(o, names, Name(receiver)) for o in operators]
        tried = [self._attempt(o, names, o.schema.arguments, r) for o, r in zip(operators, runs, strict=True)]
        positional = [Name(receiver), *[names[a.name] for a in arguments if not a.kwarg_only]]
        loose = [Starred(Name("more"))] if more else []
        keywords = {a.name: names[a.name] for a in arguments if a.kwarg_only}
        keywords |= {"out": Name("out")} if out else {}
        given = _among(keywords) if worded else dictionary(keywords)
        guard = [_NOT_ACTIVE, *([_NO_OUT] if out else []), *([_NO_KEYWORDS] if worded else [])]
        guard += [filled("not more")] if more else []
        return Binding(
            group.function,
            tuple(parameters),
            self._returns(operators),
            Name(receiver),
            tuple([a for a in tried if a is not None]),
            _second_path(group, tuple_of([*positional, *loose]), given, _public(group, receiver, names)),
            group.doc,
            tuple(guard),
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
        names: Names = {a.name: Name(users_name(a)) for a in common.arguments}
        keywords = [f"{users_name(a)}={text}" for a, text in common.keywords]
        parameters = [receiver if method else f"{receiver}=MISSING"]
        parameters += [f"{users_name(a)}=MISSING" for a in common.slots]
        parameters += [f"{word}=MISSING" for _, word, _ in words]
        parameters += ["*", *keywords] if keywords else []
        parameters += [] if method else ["**keywords"]
        tried = [
            self._nested_attempt(o, common.may_be_missing(o, operators[:i]), common, names, Name(receiver))
            for i, o in enumerate(operators)
        ]
        slots = _pairs([("input" if a.name == "self" else a.name, names[a.name]) for a in common.slots])
        named = _pairs([(a.name, names[a.name]) for a, _ in common.keywords])
        given = Starred(call("as_given", Name(receiver), slots, named, *([] if method else [_KEYWORDS])))
        return Binding(
            group.function,
            tuple(parameters),
            self._returns(operators),
            Name(receiver),
            tuple([a for a in tried if a is not None]),
            _second_path(group, given, _public(group, receiver, names)),
            group.doc,
            (_NOT_ACTIVE,) if method else (_NOT_ACTIVE, _NO_KEYWORDS),
            words=words,
        )

    def _nested_attempt(
        self,
        operator: Operator,
        optional: Container[str],
        common: Nested,
        names: Names,
        receiver: Expr,
    ) -> Attempt | None:
        """The first path of an overload: what it has not must be missing, what is optional there may be."""
        own = {a.name for a in operator.schema.arguments}
        here = {operator.schema.positional[0].name: receiver} | {n: t for n, t in names.items() if n in own}
        runs = _running(operator, here, receiver)
        attempt = self._attempt(operator, here, operator.schema.arguments, runs, optional=optional)
        if attempt is None:
            return None
        tests = [filled("x is MISSING", x=names[a.name]) for a in common.slots if a.name not in own]
        tests += [filled(f"x is {text}", x=names[a.name]) for a, text in common.keywords if a.name not in own]
        return replace(attempt, tests=(*tests, *attempt.tests))

    def _joining(self, group: Group, operator: Operator) -> Binding:
        """``def cat(tensors, dim=0, *, out=None)``: the tensors of the list have one Type, most often."""
        arguments = operator.schema.arguments
        words = _words(arguments, NUMPY_WORDS)
        parameters = _parameters(arguments, words, bool(group.outs))
        names: Names = {a.name: Name(users_name(a)) for a in arguments}
        held = Name("_held")
        attempt = self._attempt(operator, {**names, arguments[0].name: held}, arguments, held)
        positional = tuple_of([names[a.name] for a in arguments if not a.kwarg_only])
        keywords = {a.name: names[a.name] for a in arguments if a.kwarg_only}
        keywords |= {"out": Name("out")} if group.outs else {}
        one_type = filled("(T := one_type(_held := held(x))) is not None", x=names[arguments[0].name])
        return Binding(
            group.function,
            tuple(parameters),
            self._returns((operator,)),
            None,
            () if attempt is None else (replace(attempt, receiver=None),),
            _second_path(group, positional, dictionary(keywords), _public(group, "", names)),
            group.doc,
            (_NOT_ACTIVE, *([_NO_OUT] if group.outs else []), one_type),
            words=words,
        )

    def _open(
        self, group: Group, operators: tuple[Operator, ...], receiver: str, starts_with_self: bool
    ) -> Binding:
        """``def sum(self, *args, **keywords)``: overloads that no one signature covers."""
        first = _SELF if receiver == "self" else argument(0)
        attempts = [a for o in operators for a in self._open_attempts(o, receiver)]
        forms: tuple[KeywordForm, ...] = ()
        if starts_with_self:
            forms = self._forms(operators, receiver)
        if receiver == "input" and starts_with_self:
            return Binding(
                group.function,
                ("*args", "**keywords"),
                self._returns(operators),
                first,
                tuple(attempts),
                _second_path(group, _ARGS, _KEYWORDS, Name(group.function)),
                group.doc,
                (_NOT_ACTIVE, _NO_KEYWORDS),
                forms=forms,
            )
        all_given = filled("(self, *args)")
        given: list[Expr] = [_ARGS, _KEYWORDS, _public(group, receiver)]
        if receiver == "self" and starts_with_self:
            given[0] = all_given
        elif receiver == "self":  # x.where(condition, other): self is not the first argument
            before = [a.name for a in operators[0].schema.arguments].index("self")
            inserted = f"(*args[:{before}], self, *args[{before}:]) if len(args) >= {before} else args"
            keywords = filled(f"keywords if len(args) >= {before} else keywords | {{'input': self}}")
            given = [filled(inserted), keywords, given[2], all_given, _KEYWORDS]
        return Binding(
            group.function,
            (*(("self",) if receiver == "self" else ()), "*args", "**keywords"),
            self._returns(operators),
            first if starts_with_self else None,
            tuple(attempts),
            _second_path(group, *given),
            group.doc,
            (_NOT_ACTIVE, _NO_KEYWORDS),
            forms=forms,
        )

    def _forms(self, operators: tuple[Operator, ...], receiver: str) -> tuple[KeywordForm, ...]:
        """The first paths of calls with keywords."""
        if any(_makes_new(o) for o in operators):
            return ()  # there ``requires_grad=`` is among them
        forms: list[KeywordForm] = []
        left_out: set[tuple[int | str, ...]] = set()  # which an overload takes, so that no later one may
        first = _SELF if receiver == "self" else argument(0)
        for o in operators:

            def attempted(names: dict[str, Expr], o: Operator = o) -> tuple[tuple[Expr, ...], Expr] | None:
                names = {o.schema.positional[0].name: first} | names
                made = self._attempt(o, names, o.schema.arguments, first, complete=False)
                return None if made is None else (made.tests, made.call)

            def testable(argument: Argument, o: Operator = o) -> bool:
                return value_test(o, argument, Name("x"), False)[0] not in (FALSE, filled("x is None"))

            found = list(keyword_forms(o, 0 if receiver == "self" else 1, testable, attempted))
            forms += [form for form in found[:FORMS] if form.given not in left_out]
            left_out |= {form.given for form in found[FORMS:]}
        return tuple(forms)

    def _open_attempts(self, operator: Operator, receiver: str) -> Iterator[Attempt]:
        """The first paths of an overload by the number of arguments given."""
        apart = "self" if receiver == "self" else ""
        rest = [a for a in operator.schema.positional if a.name != apart]
        names: Names = {a.name: argument(i) for i, a in enumerate(rest)} | ({apart: _SELF} if apart else {})
        runs = _running(operator, names, None)
        if runs is None:
            return
        if _variadic(operator):
            yield from self._variadic_attempts(operator, names, runs)
            return
        required = sum(default(a) is None for a in rest)
        for count in range(required, len(rest) + 1):
            given = {n: t for n, t in names.items() if n == apart or n in {a.name for a in rest[:count]}}
            attempt = self._attempt(operator, given, operator.schema.arguments, runs, complete=False)
            if attempt is not None:
                yield replace(attempt, tests=(filled(f"len(args) == {count}"), *attempt.tests))

    def _variadic_attempts(self, operator: Operator, names: Names, runs: Expr) -> Iterator[Attempt]:
        """The first paths of an overload whose last argument is a list, which may be given loose."""
        *before, sizes = operator.schema.positional
        defaults = [default_of(a) for a in operator.schema.kwarg_only]
        more = [found for found in defaults if found is not None]
        x = names[sizes.name]
        if [names[a.name] for a in before] != [runs] or len(more) < len(defaults):
            return
        at = len(operator.schema.positional) - 1 - (runs == _SELF)
        loose = filled(f"args[{at}:]" if at else "args")
        tests = filled(f"len(args) > {at}"), filled("x.__class__ is int", x=x)
        yield Attempt(tests, _method(operator, [runs, loose, *more]), runs)
        tests = filled(f"len(args) == {at + 1}"), filled("x.__class__ is tuple or ints(x)", x=x)
        yield Attempt(tests, _method(operator, [runs, filled("tuple(x)", x=x), *more]), runs)

    def _attempt(
        self,
        operator: Operator,
        names: Names,
        arguments: Iterable[Argument],
        receiver: Expr | None,
        complete: bool = True,
        optional: Container[str] = (),
    ) -> Attempt | None:
        """The tests that the arguments need no conversion, and the Type's method; None where they always do.

        Those that are ``optional`` may be MISSING, and have their default then.
        """
        tests: list[Expr] = []
        values: list[Expr] = []
        for a in arguments:
            x, otherwise = names.get(a.name), default_of(a)
            if x is None:
                if otherwise is None:  # required, and not among what is given
                    return None
                values.append(otherwise)
                continue
            test, value = value_test(operator, a, x, is_receiver=x == receiver)
            if test == FALSE and complete and otherwise == NONE:
                test = filled("x is None", x=x)
            if a.name in optional:
                assert otherwise is not None
                test, value = or_missing(test, value, x, otherwise)
            tests += [test] if test != TRUE else []
            values.append(value)
        return None if FALSE in tests else Attempt(tuple(tests), _method(operator, values), receiver)

    def _number_attempt(self, operator: Operator, names: Names) -> Iterable[Attempt]:
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
        tests = [filled(f"x.__class__ in T.weak{but_refused(operator)}", x=number)]
        values = [_SELF, filled("T.number(x)", x=number)]
        for a in arguments[2:]:
            default_value: tuple[Expr, Expr] = (TRUE, default_of(a) or NONE)
            given = value_test(operator, a, names[a.name], False) if a.name in names else default_value
            test, value = given
            tests += [test] if test != TRUE else []
            values.append(value)
        if FALSE not in tests and NONE not in values[2:]:
            yield Attempt(tuple(tests), _method(operator, values))

    # -- factories ---------------------------------------------------------------------------

    def _factory(self, group: Group, operators: tuple[Operator, ...]) -> Binding:
        return Binding(
            group.function,
            ("*args", "requires_grad=False", "**keywords"),
            self._returns(operators),
            None,
            tuple([attempt for o in operators for attempt in factory_attempts(o)]),
            _making(_second_path(group, _ARGS, _KEYWORDS, Name(group.function))),
            group.doc,
            (_NOT_ACTIVE, filled("requires_grad is False")),
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
            names: Names = {a.name: Name(n) for a, n in zip(o.schema.arguments, order, strict=False)}
            if len(names) == len(order) and o.schema.arguments[0].type.is_tensor:
                attempt = self._attempt(o, names, o.schema.arguments, _SELF, complete=False)
                attempts += [] if attempt is None else [attempt]
                numbers += self._number_attempt(o, names)
        taken = {a.tests for a in attempts}
        attempts += [a for a in numbers if a.tests not in taken]
        second = "call_comparison" if name in COMPARISONS else "call_operator"
        given = Constant(group.called), tuple_of(names_of(order)), Constant(self.seen_as(name, order, group))
        return Binding(name, tuple(parameters), "Any", _SELF, tuple(attempts), call(second, *given), "")

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


def _among(keywords: Names) -> Expr:
    """The keywords of a call: those of the signature, and whatever else was given."""
    return dictionary(keywords, _KEYWORDS) if keywords else _KEYWORDS


def _pairs(named: Iterable[tuple[str, Expr]]) -> Expr:
    """Names and what was given for them."""
    return tuple_of([tuple_of([Constant(name), value]) for name, value in named])


def _second_path(group: Group, *given: Expr) -> Call:
    """The call that every way ends in which no first path takes."""
    return call("call", Constant(group.called), *given)


def _making(second_path: Expr) -> Expr:
    """The same of what makes leaves."""
    assert isinstance(second_path, Call)
    return call("make", *second_path.arguments, Name("requires_grad"))


def _method(operator: Operator, values: Sequence[Expr]) -> Expr:
    """The call of the Type's method."""
    return Call(Attribute(Name(TYPE), operator.name.method), tuple(values))


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
        name = users_name(a)
        (keywords if a.kwarg_only else positional).append(name if text is None else f"{name}={text}")
    for _, word, text in words:
        (positional if text == "MISSING" else keywords).append(f"{word}=MISSING")
    keywords += ["out=None"] if out else []
    return [*positional, "*", *keywords] if keywords else positional


def _running(operator: Operator, names: Names, otherwise: Expr | None) -> Expr | None:
    """The tensor whose Type runs an operator: the first one, of those that are promoted if there are such."""
    tensors = [a.name for a in operator.schema.arguments if a.type.is_tensor]
    promoted = [name for name in tensors if name in operator.promoted]
    return next((names[name] for name in (*promoted, *tensors) if name in names), otherwise)


def takes_numbers(operator: Operator) -> bool:
    """Whether a Python number may stand for a tensor: in ``x + 1``, but not in ``x @ 1``."""
    return bool(operator.operators) and "pointwise" in operator.tags


def _public(group: Group, receiver: str, parameters: Names | None = None) -> Expr:
    """What a binding calls itself on the second path: the function, or the method's name."""
    name = Constant(group.function)
    if receiver == "self":
        return name
    # Where a parameter, or the Type, has the name of the function.
    taken = {TYPE, *[x.id for x in (parameters or {}).values() if isinstance(x, Name)]}
    return Subscript(call("globals"), name) if group.function in taken else Name(group.function)


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
    named = [p for p in binding.parameters if p != "**keywords"]
    return replace(
        binding,
        parameters=(*named, "requires_grad=False", *binding.parameters[len(named) :]),
        guard=(*binding.guard, filled("not requires_grad")),
        fallback=_making(binding.fallback),
    )


def _writes_first_list(operator: Operator) -> bool:
    """Whether it writes to the tensors of its first argument, to nothing else, and has no result."""
    arguments = operator.schema.positional
    written = [a for a in arguments if a.alias is not None]
    return not operator.schema.returns and written == [*arguments[:1]] and written[0].is_tensor_list


def _giving_back(binding: Binding) -> Binding:
    """The same binding, which returns the list that it is given, as PyTorch's functions do."""
    first = binding.parameters[0]
    given = filled("(*args, keywords.get('self'))[0]" if first == "*args" else first)
    attempts = [replace(a, call=call("or_given", a.call, given)) for a in binding.attempts]
    fallback = call("or_given", binding.fallback, given)
    return replace(binding, returns="Any", attempts=tuple(attempts), fallback=fallback)


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
