"""Check: what the generated tests of an operator are made from.

A sample is a call's arguments.  Where a Tensor is expected a list stands for a random tensor of
that shape, or a helper makes a special one.
"""

from __future__ import annotations

import builtins
import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from ...ir.expressions import BINARY, Call, Constant, Elements, Expr, Name, Operation, Starred, walk
from ...ir.reader import read_expression
from ...ir.writer import write
from ..model.diagnostics import Report, one_of, suggestion
from ..model.operators import Formula, Sample
from ..model.schema import Argument, ListType, OptionalType, Schema, Type
from ..model.source import Located, Place
from ..parse.formula import as_text, parse_formula, result_names
from ..read.fields import kind_of, known_word, length_of_scalar, words
from ..read.functions import Arity
from .kernels import Sources, is_option
from .names import Problem, Vocabulary, call_problem, check_names

# The functions that make special tensors in samples, and what they take.
SAMPLE_HELPERS: Mapping[str, Arity] = {
    "ints": Arity(("shape", "low", "high"), 3, 3),
    "bools": Arity(("shape",), 1, 1),
    "perm": Arity(("n",), 1, 1),
    "posdef": Arity(("shape",), 1, 1),
    "distinct": Arity(("shape",), 1, 1),
    "detached": Arity(("shape",), 1, 1),
    "values": Arity(("values",), 1, 1, frozenset({"dtype"})),
}
# Python's exceptions, and the one class of NumPy's that kernels let through.
_EXCEPTIONS = frozenset(
    n for n, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, Exception)
)
_ERRORS = _EXCEPTIONS | {"LinAlgError"}
_NUMBER = r"[-+]?(?:inf|[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)"
_INTERVAL = re.compile(rf"[\[(]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[\])]\Z")
# In which an operator may differ from PyTorch's, beside dtypes.
ASPECTS = (
    "schema", "promotion", "nonfinite", "complex_nonfinite", "overflow",
    "gradient", "writes", "errors", "layout", "out",
)  # fmt: skip
_MODULES = frozenset({"np", "math", "scipy"})
_FOR = re.compile(r" for ([\w, -]+)\Z")  # which dtypes a sample is for


class SampleChecker:
    """Makes Samples, domains, tolerances and references.

    ``scalar_types`` understands a list of dtypes: given its place and what there is, it returns names.
    """

    def __init__(
        self,
        sources: Sources,
        report: Report,
        scalar_types: Callable[[Located, tuple[str, ...]], frozenset[str]],
    ) -> None:
        self.sources, self.report = sources, report
        self.scalar_types = scalar_types
        types = sources.tables.scalar_types.values()
        self.dtypes = frozenset(name for t in types for name in (t.dtype, *t.aliases))
        self.kinds = tuple(dict.fromkeys([*(t.category for t in types), *(t.dtype for t in types)]))

    def samples(self, schema: Schema, fields: Mapping[str, Located]) -> tuple[Sample, ...]:
        """The good calls of ``samples``, then the bad ones of ``errors``."""
        result = []
        for located in fields["samples"].value if "samples" in fields else ():
            result.append(self.sample(schema, located))
        for located in fields["errors"].value if "errors" in fields else ():
            result.append(self.bad(schema, located))
        return tuple(sample for sample in result if sample is not None)

    def sample(self, schema: Schema, located: Located) -> Sample | None:
        source = self.text(located, "a sample")
        if source is None:
            return None
        source, dtypes = self.only(source)
        call = self.call(source)
        if call is None:
            return None
        self.bind(schema, source, call)
        return Sample(source, call, dtypes=dtypes)

    def bad(self, schema: Schema, located: Located) -> Sample | None:
        source = self.text(located, "a bad call")
        if source is None:
            return None
        text, colon, raised = source.value.rpartition(":")
        if not colon:
            self.report.error(
                source.place,
                "a bad call does not say what it raises",
                length=len(source.value),
                expected='"ARGUMENTS: IndexError", for instance',
            )
            return None
        name = raised.strip()
        known = _ERRORS | self.sources.errors
        offset = len(text) + 1 + len(raised) - len(raised.lstrip())
        if name not in known:
            message = f'unknown class of errors "{name}"'
            expected = "a class of exceptions, as IndexError"
            self.report.error(
                source.at(offset), message, length=len(name), expected=expected, help=suggestion(name, known)
            )
        bare, dtypes = self.only(replace(source, value=text))
        call = self.call(bare)
        return None if call is None else Sample(bare, call, name, dtypes)

    def only(self, source: Located) -> tuple[Located, frozenset[str] | None]:
        """The sample without ``for DTYPES`` at its end, and these."""
        found = _FOR.search(source.value)
        if found is None:
            return source, None
        place = source.at(found.start(1))
        listed = Located(found[1], place, starts=((0, place),))
        known = tuple(self.sources.tables.scalar_types)
        return replace(source, value=source.value[: found.start()]), self.scalar_types(listed, known)

    def text(self, located: Located, what: str) -> Located | None:
        if isinstance(located.value, dict | tuple | bool) or located.value is None:
            self.report.error(
                located.place, f"{what} is a quoted string", expected='"[3, 4], dim=1", for instance'
            )
            return None
        return as_text(located)

    def call(self, source: Located) -> Call | None:
        try:
            call = read_expression(f"f({source.value})")
            if not isinstance(call, Call) or not isinstance(call.function, Name):
                raise SyntaxError("a bracket closes nothing")
        except SyntaxError as error:
            offset = max(0, (error.offset or 1) - 3)
            # Where Python trips over the parenthesis put around the sample, a bracket is open.
            reason = error.msg if offset < len(source.value) else "a bracket is never closed"
            place = source.at(min(offset, len(source.value)))
            self.report.error(
                place,
                f"the sample is no list of arguments: {reason}",
                expected='"[3, 4], dim=1", for instance',
            )
            return None
        for node in walk(call) if "(" in source.value else ():
            if isinstance(node, Call) and node is not call and isinstance(node.function, Name):
                self.helper(source, node, node.function.id)
        return call

    def at(self, source: Located, part: Expr) -> tuple[Place, int]:
        """The place and the length of a part of ``f(SAMPLE)``."""
        start, end = part.span
        return source.at(start - len("f(")), max(1, end - start)

    def helper(self, source: Located, node: Call, name: str) -> None:
        place, length = self.at(source, node)
        if name in ("float", "complex"):
            return
        arity = SAMPLE_HELPERS.get(name)
        if arity is None:
            self.report.error(
                place,
                f'unknown sample helper "{name}"',
                length=len(name),
                expected=one_of(SAMPLE_HELPERS),
                help=suggestion(name, SAMPLE_HELPERS),
            )
        elif (problem := call_problem(name, [arity], node)) is not None:
            self.report.error(place, problem.message, length=length, expected=problem.expected)

    # -- whether a call fits the schema

    def bind(self, schema: Schema, source: Located, call: Call) -> None:
        positional = schema.positional
        given: dict[str, Expr] = {}
        for argument, node in zip(positional, call.arguments, strict=False):
            given[argument.name] = node
        if len(call.arguments) > len(positional):
            place, length = self.at(source, call.arguments[len(positional)])
            self.report.error(
                place,
                f"{schema.name} takes {len(positional)} positional arguments, the sample gives"
                f" {len(call.arguments)}",
                length=length,
                expected=str(schema),
            )
        by_name = {a.name: a for a in schema.arguments}
        for keyword in call.keywords:
            if keyword.name is None:
                continue
            if keyword.name not in by_name or keyword.name in given:
                place, _ = self.at(source, keyword)
                what = "twice the argument" if keyword.name in given else "an unknown argument"
                self.report.error(
                    place,
                    f'the sample gives {what} "{keyword.name}"',
                    length=len(keyword.name),
                    expected=one_of(by_name),
                    help=suggestion(keyword.name, by_name),
                )
                continue
            given[keyword.name] = keyword.value
        for argument in schema.arguments:
            if argument.name in given:
                self.value(source, argument, given[argument.name])
            elif argument.default is None and not is_option(argument):
                self.report.error(
                    source.at(0),
                    f'the sample does not give "{argument.name}"',
                    length=len(source.value),
                    expected=str(schema),
                )

    def value(self, source: Located, argument: Argument, node: Expr) -> None:
        if not self.fits(node, argument.type):
            place, length = self.at(source, node)
            self.report.error(
                place,
                f'the sample gives {write(node)} for "{argument.name}", which is a {argument.type}',
                length=length,
                expected=_example(argument.type),
            )

    def fits(self, node: Expr, kind: Type) -> bool:
        if isinstance(kind, OptionalType):
            return _is_none(node) or self.fits(node, kind.element)
        if isinstance(kind, ListType):
            if isinstance(node, Elements):
                return all(isinstance(n, Starred) or self.fits(n, kind.element) for n in node.elements)
            return kind.size is not None and self.fits(node, kind.element)
        name = kind.name
        if name == "Tensor":
            if isinstance(node, Elements) and node.kind == "list":
                return all(_is_number(n, int) for n in node.elements)
            return isinstance(node, Call)
        if name in ("int", "SymInt"):
            return _is_number(node, int)
        if name == "float":
            return _is_number(node, int, float)
        if name == "bool":
            return isinstance(node, Constant) and isinstance(node.value, bool)
        if name == "Scalar":
            return _is_number(node, int, float, complex, bool)
        if name == "str":
            return isinstance(node, Constant) and isinstance(node.value, str)
        if name == "ScalarType":
            return isinstance(node, Name) and node.id in self.dtypes
        return not isinstance(node, Elements)

    # -- the other keys

    def domain(self, schema: Schema, located: Located | None) -> dict[str, str]:
        """By argument, the interval that its random values come from."""
        result: dict[str, str] = {}
        tensors = [a.name for a in schema.arguments if a.is_tensor_like]
        for name, value in located.value.items() if located is not None else ():
            known_word(name, value.key or value.place, tensors, "Tensor argument", self.report)
            text = value.value
            ends = _INTERVAL.match(text) if isinstance(text, str) else None
            if ends is None:
                self.report.error(
                    value.place,
                    "a domain is an interval",
                    length=length_of_scalar(value),
                    expected='"(0, inf)" or "[-1, 1]" in quotes: ( ) without the end, [ ] with it',
                )
                continue
            if not _has_numbers(text, float(ends[1]), float(ends[2])):
                message = f"no number is in the domain {text}"
                expected = "the lower end first"
                self.report.error(value.place, message, length=length_of_scalar(value), expected=expected)
            result[name] = text
        return result

    def tolerance(self, located: Located | None) -> dict[str, float]:
        """By dtype, the tolerance of comparisons."""
        result: dict[str, float] = {}
        for name, value in located.value.items() if located is not None else ():
            known_word(name, value.key or value.place, sorted(self.dtypes), "dtype", self.report)
            if kind_of(value.value) != "number":
                self.report.error(
                    value.place,
                    "a tolerance is a number",
                    length=length_of_scalar(value),
                    expected="1e-5, say",
                )
                continue
            result[name] = float(value.value)
        return result

    def differs(self, located: Located | None) -> dict[str, str]:
        """Why it does not do as PyTorch does, by scalar type (``Half``) or by aspect (``gradient``)."""
        result: dict[str, str] = {}
        if located is None:
            return result
        types = self.sources.tables.scalar_types.values()
        meanings = {word: [t.name for t in types if word in (t.category, t.dtype)] for word in self.kinds}
        meanings |= {aspect: [aspect] for aspect in ASPECTS}
        for name, value in located.value.items():
            place = value.key or value.place
            reason = as_text(value)
            for word, at in words(Located(name, place, starts=((0, place),)), self.report):
                if known_word(word, at, meanings, "dtype, category or aspect", self.report):
                    result.update(dict.fromkeys(meanings[word], "" if reason is None else reason.value))
        return result

    def reference(self, schema: Schema, located: Located | None) -> Formula | None:
        """The independent computation over NumPy arrays."""
        formula = None if located is None else parse_formula(located, self.report, "reference")
        if formula is not None:
            values = {a.name for a in schema.arguments} | _MODULES
            check_names(formula, _References(values, self.sources.references), self.report)
        return formula

    def determined(self, schema: Schema, located: Located | None) -> tuple[Formula, ...]:
        """Expressions of the results, for tests to compare in place of results that are not unique."""
        found: list[Formula] = []
        for item in located.value if located is not None else ():
            formula = parse_formula(item, self.report, "formula")
            if formula is not None:
                check_names(formula, Vocabulary(result_names(schema.returns)), self.report)
                found.append(formula)
        return tuple(found)


class _References(Vocabulary):
    """References may use NumPy, SciPy, math, and the functions of the tests' references."""

    what = "reference"

    def __init__(self, values: Collection[str], known: frozenset[str] | None) -> None:
        super().__init__(values)
        self.known = known

    def function(self, name: str) -> tuple[Arity | None, ...] | None:
        # Where the tests are not at hand (an installed package), any name may be one of them.
        return (None,) if self.known is None or name in self.known else None

    def functions(self) -> Collection[str]:
        return self.known or ()

    def unknown(self, name: str) -> Problem:
        expected = "an argument, np, math, scipy, or a function of tests/references*"
        return replace(super().unknown(name), expected=expected)


def _is_none(node: Expr) -> bool:
    return isinstance(node, Constant) and node.value is None


def _is_number(node: Expr, *classes: type) -> bool:
    """Whether a node is a number of one of the classes, perhaps with a sign or as ``1+2j``."""
    if isinstance(node, Operation) and (
        node.symbol in ("-x", "+x") or (complex in classes and node.symbol in BINARY)
    ):
        return all(_is_number(operand, *classes) for operand in node.operands)
    if isinstance(node, Name):
        return node.id in ("inf", "nan") and float in classes
    if isinstance(node, Call):
        return node.function in (Name("float"), Name("complex")) and float in classes
    if not isinstance(node, Constant):
        return False
    return type(node.value) in classes


def _example(kind: Type) -> str:
    """How a value of the type is written in a sample."""
    examples = {
        "Tensor": "a shape in brackets, as [3, 4], or a helper, as ints([3], 0, 5)",
        "int": "1",
        "SymInt": "1",
        "float": "0.5",
        "bool": "True or False",
        "Scalar": "a number",
        "str": "'a string'",
        "ScalarType": "float64",
    }
    if isinstance(kind, OptionalType):
        return f"None, or {_example(kind.element)}"
    if isinstance(kind, ListType):
        return f"a list or tuple, each element {_example(kind.element)}"
    return examples.get(kind.name, f"a {kind}")


def _has_numbers(interval: str, lower: float, upper: float) -> bool:
    """Whether an interval with these ends is not empty: of one number, if that is in it."""
    closed = interval.startswith("[") and interval.endswith("]")
    return lower < upper or (lower == upper and closed and math.isfinite(lower))
