"""Check: declared entries to Operators, every name in them known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...ir.bodies import Body
from ..model.annotations import default
from ..model.diagnostics import Report
from ..model.names import BINARY_OPERATORS, CATEGORIES, COMPOSITES, OTHER_LAYOUT
from ..model.operators import (
    ELEMENTWISE,
    EXPRESSIONS,
    LOSS,
    REDUCTION,
    RESULT_OF_PROMOTION,
    Formula,
    Kernel,
    Operator,
    ResultLayout,
    Said,
)
from ..model.schema import OperatorName, Schema
from ..model.source import Located, Place
from ..read.fields import kind_of, known_word, known_words, words
from ..read.keys import KEYS
from .batching import BatchingChecker
from .bodies import result_of
from .expand import Declared
from .expected import expected_values
from .kernels import KernelChecker, Sources
from .layouts import parse_layouts, parse_mixtures
from .read_bodies import functions_named, read_body, what_follows
from .refusals import OPERANDS, refusals
from .rules import SymbolicChecker
from .samples import SampleChecker
from .signatures import check_autogen, check_signature

VARIANTS = ("function", "method")
PROMOTE_KINDS = ("default", "int_to_float", "always_bool", "complex_to_float", "bool_to_long", "none")
OUTS = ("cast", "exact", "computed", "truth")
OVERLAPS = ("none", "free")
PROMOTE_KEYS = ("kind", "args", "zero_dim", "numbers")
#: What an integral dtype makes of numbers, where it does not wrap them.
NUMBERS = ("given", "fitting")
RESULTS = ("same", "bool", "real", "int64", "dynamic")
PYTHON_MODULES = ("fft", "linalg", "nested", "nn", "sparse", "special")
# The keys that have a meaning here; the others are PyTorch's, kept in Operator.accepted.
_UNDERSTOOD = frozenset(key.name for table in KEYS.values() for key in table.values() if key.meaning)
_OTHER = (
    "neg", "pos", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge", "round", "trunc", "floor", "ceil",
    "contains", "divmod", "rdivmod",
)  # fmt: skip
SPECIAL_METHODS = frozenset(
    [f"__{prefix}{name}__" for name in BINARY_OPERATORS for prefix in ("", "r", "i")]
    + [f"__{name}__" for name in _OTHER]
)

#: ``opmath`` of a composite whose results are of the dtype of its first tensor, whatever the others are.
_FIRST = "first"


class OperatorChecker:
    """Makes Operators; one method for each key."""

    def __init__(
        self,
        sources: Sources,
        names: Mapping[OperatorName, Place],
        derived: Iterable[OperatorName],
        report: Report,
    ) -> None:
        self.sources = sources
        self.names = names  # of all declared operators
        self.variants_too = [*names, *derived]  # with what autogen adds
        self.report = report
        self.kernel_checker = KernelChecker(sources, report)
        self.sample_checker = SampleChecker(sources, report, self.scalar_types)
        self.symbolic_checker = SymbolicChecker(sources, report)
        self.batching_checker = BatchingChecker(sources, report)
        self.understood: dict[tuple[object, tuple[str, ...]], frozenset[str]] = {}  # texts of dtypes

    def operator(self, declared: Declared) -> Operator:
        """The operator of an entry; mistakes are reported and left out."""
        check_signature(declared, self.report)
        declared = replace(declared, fields=what_follows(declared.schema, declared.fields))
        fields, schema = declared.fields, declared.schema
        tags = self.tags(fields.get("tags"), schema)
        factory = self.factory(declared)
        said = self.said(declared)
        kernels = self.kernel_checker.of_bodies(declared, said)
        kernels |= self.dispatched(declared, tags, factory is not None)
        composite = any(key in COMPOSITES for key in kernels)
        masks = frozenset[str]().union(*[kernel.masks for kernel in kernels.values()])
        promote, promoted = self.promotion(declared, tags, composite, masks)
        zero_dim, numbers = self.promotion_of_some(declared)
        refuse, refuse_args, forbidden = refusals(declared, self.report)
        autogen = self.autogen(declared)
        samples = self.sample_checker
        if "samples" not in declared.given and not tags & {"pointwise", "generated", OTHER_LAYOUT}:
            self.untested(declared, tags)
        return Operator(
            schema=schema,
            place=declared.place,
            mechanism=declared.mechanism,
            variants=self.variants(declared),
            kernels=kernels,
            tags=tags,
            said=said,
            named=functions_named(said, self.sources.functions),
            transposes="" if declared.transposes is None else str(declared.transposes.schema.name),
            native=self.native(declared, tags),
            autogen=autogen,
            inplace_variants=self.inplace_variants(declared, autogen),
            python_module=self.python_module(declared),
            operators=self.operators(declared),
            deprecated=self.deprecated(declared),
            promote=promote,
            promoted=promoted,
            zero_dim=zero_dim,
            numbers=numbers,
            dtypes={} if composite else self.dtypes(fields.get("dtypes"), declared.schema.is_view),
            refuse=refuse,
            forbidden=forbidden,
            refuse_args=refuse_args,
            same_dtype=self.same_dtype(declared),
            result=self.result(declared, tags, promote, said if isinstance(said, Body) else None),
            out=self.out(declared),
            overlap=self.overlap(declared, autogen),
            layout=self.layout(declared, composite),
            layouts=parse_mixtures(
                fields.get("layouts"),
                schema,
                self.sources.tables.backends,
                kernels,
                not (composite or ELEMENTWISE.isdisjoint(tags)),
                self.report,
            ),
            opmath=self.opmath(fields.get("opmath"), composite),
            rounds_to_first=composite and "opmath" in fields and fields["opmath"].value == _FIRST,
            factory=factory,
            domain=samples.domain(schema, fields.get("domain")),
            samples=samples.samples(schema, fields),
            reference=samples.reference(schema, fields.get("reference")),
            determined=samples.determined(schema, fields.get("determined")),
            expected=expected_values(samples, schema, fields.get("expected")),
            tolerance=samples.tolerance(fields.get("tolerance")),
            warns=fields["warns"].value if "warns" in fields else "",
            public=self.public(declared),
            differs=samples.differs(fields.get("differs")),
            saves_result=self.saves_result(declared, kernels),
            symbolic=self.symbolic_checker.symbolic(schema, fields.get("symbolic")),
            write_back=self.symbolic_checker.write_back(schema, fields.get("write_back")),
            flops=self.symbolic_checker.flops(schema, fields.get("flops")),
            batching=self.batching_checker.batching(schema, fields.get("batching"), tags, composite),
            doc=" ".join(fields["doc"].value.split()) if "doc" in fields else "",
            accepted=self.accepted(fields),
        )

    def opmath(self, located: Located | None, composite: bool) -> bool:
        """Whether reduced types are computed in a wider one; by default where there is a kernel."""
        if located is None:
            return not composite
        if isinstance(located.value, str) and not (composite and located.value == _FIRST):
            words = f"true, false{f' or {_FIRST}' if composite else ''}"
            self.report.error(
                located.place, f"opmath is {located.value}", length=len(located.value), expected=words
            )
        return bool(located.value)

    def accepted(self, fields: Mapping[str, Located]) -> dict[str, Located]:
        """PyTorch's keys that have no effect here; what one names must be there all the same."""
        located = fields.get("structured_delegate")
        if located is not None:
            known = [str(replace(name, namespace="")) for name in self.variants_too]
            what = "operator to delegate to"
            known_word(located.value, located.place, known, what, self.report)
        return {key: value for key, value in fields.items() if key not in _UNDERSTOOD}

    def saves_result(self, declared: Declared, kernels: Mapping[str, Kernel]) -> bool:
        """What ``saves_result`` says; it is for kernels from which a derivative can follow."""
        located = declared.fields.get("saves_result")
        if located is None:
            return False
        if COMPOSITES[0] in kernels or not any(kernel.function is None for kernel in kernels.values()):
            self.report.error(
                located.key or located.place,
                f"saves_result of {declared.schema.name}, whose derivative cannot follow from its kernel",
                length=len("saves_result"),
                expected="an expression as kernel; a derivatives entry says by its formulas what is saved",
            )
        return bool(located.value)

    def untested(self, declared: Declared, tags: frozenset[str]) -> None:
        """Pointwise operators have samples by default; others are tested through another one."""
        name = declared.schema.name
        unknown_tags = "tags" in declared.given and not tags
        if name.inplace or name.base.endswith("_backward") or unknown_tags:
            return
        place = declared.source.place if declared.source is not None else declared.place
        message = f"{declared.schema.name} has no samples, so nothing would test it"
        expected = 'samples: a list of calls, as ["[3, 4], dim=1"]'
        self.report.error(place, message, length=len(str(declared.schema.name)), expected=expected)

    def words_of(
        self, located: Located | None, known: Mapping[str, object] | tuple[str, ...], what: str
    ) -> frozenset[str]:
        """The known words of a list; the others are reported."""
        if located is None:
            return frozenset()
        return frozenset(known_words(located, known, what, self.report))

    def variants(self, declared: Declared) -> frozenset[str]:
        located = declared.fields.get("variants")
        return frozenset({"function"}) if located is None else self.chosen_variants(declared, located)

    def inplace_variants(self, declared: Declared, autogen: Iterable[OperatorName]) -> frozenset[str] | None:
        located = declared.fields.get("inplace_variants")
        if located is None:
            return None
        if not any(name.inplace for name in autogen):
            self.report.error(
                located.key or located.place,
                "autogen names no in-place operator",
                length=len("inplace_variants"),
                expected=f"{declared.schema.name.base}_ in autogen, of which this is said",
            )
        return self.chosen_variants(declared, located)

    def chosen_variants(self, declared: Declared, located: Located) -> frozenset[str]:
        """Functions, methods or both; methods are of tengen's own operators that have a ``self``."""
        chosen = self.words_of(located, VARIANTS, "variant")
        if "method" in chosen and declared.schema.name.namespace:
            self.not_of_libraries(located.key or located.place, "variants", "methods of Tensor")
            return chosen
        if "method" in chosen and not any(
            a.name == "self" and a.is_tensor_like for a in declared.schema.positional
        ):
            for word, place in words(located, self.report):
                if word == "method":
                    self.report.error(
                        place,
                        "a method needs an argument self",
                        length=6,
                        expected='"Tensor self" in the schema, or variants: function',
                    )
        return chosen

    def not_of_libraries(self, place: Place, key: str, what: str) -> None:
        """Reports a key by which a library would change what is tengen's."""
        self.report.error(
            place,
            f"a library adds no {what}",
            length=len(key),
            expected=f"functions only: they are found in tengen.ops.{self.sources.library}",
        )

    def tags(self, located: Located | None, schema: Schema) -> frozenset[str]:
        chosen = self.words_of(located, self.sources.tables.tags, "tag")
        self.of_elements(located, schema)
        excluded = self.sources.tables.excluded
        for word, place in words(located, self.report) if located is not None else ():
            for other in sorted(excluded.get(word, frozenset()) & chosen):
                message = f'the tags "{word}" and "{other}" contradict each other'
                self.report.error(place, message, length=len(word), expected="one of them")
        return chosen

    def of_elements(self, located: Located | None, schema: Schema) -> None:
        """Reports the tag of an operator whose kernel cannot be one expression over elements."""
        given = ", ".join(str(r.type) for r in schema.returns) or "nothing"
        single = len(schema.returns) == 1 and schema.returns[0].type.is_tensor
        reduced = any([a.name == REDUCTION and str(a.type) == "int" for a in schema.arguments])
        for word, place in words(located, Report()) if located is not None else ():
            if word == LOSS and not (single and reduced):
                self.report.error(
                    place,
                    f"{schema.name} is no loss that can be reduced",
                    length=len(word),
                    expected=f"one Tensor as result, and int {REDUCTION}=Mean among the arguments",
                )
            if word == "pointwise" and not single:
                self.report.error(
                    place,
                    f"a pointwise operator gives one Tensor, and {schema.name} gives {given}",
                    length=len(word),
                    expected="the tag elementwise, functions as kernels for CPU and Meta, and samples",
                )

    def python_module(self, declared: Declared) -> str | None:
        located = declared.fields.get("python_module")
        if located is None:
            return None
        if declared.schema.name.namespace:
            self.not_of_libraries(
                located.key or located.place, "python_module", "functions to tengen's modules"
            )
        known_word(located.value, located.place, PYTHON_MODULES, "Python module", self.report)
        return str(located.value)

    def public(self, declared: Declared) -> str:
        """The public function that calls the operator: of one whose name has an underscore in front."""
        located = declared.fields.get("public")
        if located is None:
            return ""
        function = declared.schema.name.function
        if not function.startswith("_"):
            self.report.error(
                located.key or located.place,
                f"{function} is public itself",
                length=len("public"),
                expected="public at an operator whose name begins with an underscore",
            )
        words = str(located.value).split(".")
        if not all(word.isidentifier() and not word.startswith("_") for word in words):
            self.report.error(
                located.place,
                f'"{located.value}" is no name of a public function',
                length=len(located.value),
                expected="the name of the function that calls the operator",
            )
        return str(located.value)

    # -- kernels

    def said(self, declared: Declared) -> Said | None:
        """What the body of the operator says, or that of the one that it transposes, where it is reported."""
        of = declared.transposes or declared
        report = self.report if of is declared else Report()
        primitives = self.sources.tables.primitives.pointwise
        return read_body(of.schema, of.fields.get("body"), primitives, self.sources.functions, report)

    def dispatched(self, declared: Declared, tags: frozenset[str], factory: bool) -> dict[str, Kernel]:
        """The kernels that ``dispatch`` says."""
        located = declared.fields.get("dispatch")
        if located is None and ("body" in declared.fields or declared.transposes is not None):
            return {}
        if located is None:
            return {} if "dispatch" in declared.given else self.composite_by_name(declared, tags)
        result: dict[str, Kernel] = {}
        places: dict[str, Place] = {}
        known = (*self.sources.tables.backends, *COMPOSITES)
        for names, value in located.value.items():
            for word, place in words(Located(names, value.key or value.place), self.report):
                if not known_word(word, place, known, "dispatch key", self.report):
                    continue
                if word in places:
                    self.report.error(
                        place,
                        f'the dispatch key "{word}" is given twice',
                        length=len(word),
                        related=((places[word], "it was first given here"),),
                    )
                    continue
                places[word] = place
                kernel = self.kernel_checker.kernel(declared.schema, word, value, tags, factory)
                if kernel is not None:
                    result[word] = kernel
        for key in COMPOSITES:
            if key in places and len(places) > 1:
                self.report.error(
                    places[key],
                    f"{key} stands beside other kernels",
                    length=len(key),
                    expected="either one composite, or a kernel for each backend",
                )
        return result

    def composite_by_name(self, declared: Declared, tags: frozenset[str]) -> dict[str, Kernel]:
        """Without dispatch, as in PyTorch: the composite named like the operator."""
        name = declared.schema.name
        for candidate in (replace(name, namespace="").method, name.function):
            if self.sources.composite.find(candidate):
                value = Located(candidate, declared.place)
                kernel = self.kernel_checker.kernel(declared.schema, COMPOSITES[0], value, tags, False)
                return {} if kernel is None else {COMPOSITES[0]: kernel}
        place = declared.source.place if declared.source is not None else declared.place
        self.report.error(
            place,
            f'"{name}" has no kernel',
            length=len(str(name)),
            expected="dispatch: a kernel for each backend",
            help=f"without dispatch it is the function {candidate} of {self.sources.home}/composite/",
        )
        return {}

    def native(self, declared: Declared, tags: frozenset[str]) -> Formula | None:
        """What ``native`` says; it is for elementwise operators."""
        located = declared.fields.get("native")
        if located is None:
            return None
        if ELEMENTWISE.isdisjoint(tags):
            self.report.error(
                located.key or located.place,
                f"{declared.schema.name} is not elementwise, and native says what one element is",
                length=len("native"),
                expected="the tag pointwise or elementwise",
            )
        return self.kernel_checker.native(declared.schema, located)

    # -- names of variants

    def autogen(self, declared: Declared) -> tuple[OperatorName, ...]:
        located = declared.fields.get("autogen")
        if located is None:
            return ()
        return check_autogen(declared.schema, words(located, self.report), self.names, self.report)

    def operators(self, declared: Declared) -> dict[str, tuple[str, ...]]:
        """By special method, the arguments that it hands on."""
        located = declared.fields.get("operators")
        result: dict[str, tuple[str, ...]] = {}
        if located is not None and declared.schema.name.namespace:
            self.not_of_libraries(located.key or located.place, "operators", "special methods of Tensor")
        for name, value in located.value.items() if located is not None else ():
            known_word(name, value.key or value.place, sorted(SPECIAL_METHODS), "special method", self.report)
            result[name] = self.arguments(declared, value, ())
        return result

    def deprecated(self, declared: Declared) -> tuple[tuple[str, ...], ...]:
        """The orders of positional arguments that are deprecated; each has all that must be given, once."""
        located = declared.fields.get("deprecated")
        orders = located.value if located is not None else ()
        return tuple(self.deprecated_order(declared, order) for order in orders)

    def deprecated_order(self, declared: Declared, located: Located) -> tuple[str, ...]:
        order = self.arguments(declared, located, ())
        missing = [a.name for a in declared.schema.arguments if default(a) is None and a.name not in order]
        if missing or len(set(order)) < len(order):
            text = f"no order of the arguments of {declared.schema.name}"
            expected = "each argument once, and all that have no default"
            self.report.error(located.place, text, length=len(str(located.value)), expected=expected)
        return order

    def arguments(self, declared: Declared, located: Located, types: tuple[str, ...]) -> tuple[str, ...]:
        """The words of a list that are arguments, of the given types if any are given."""
        known = [a.name for a in declared.schema.arguments if not types or str(a.type) in types]
        what = "argument" if not types else "Tensor or Scalar argument"
        return known_words(located, known, what, self.report)

    # -- dtypes

    def promotion(
        self, declared: Declared, tags: frozenset[str], composite: bool, masks: frozenset[str]
    ) -> tuple[str | None, tuple[str, ...]]:
        """The kind of promotion, None for none, and the arguments that take part."""
        kind = "none" if composite or EXPRESSIONS.isdisjoint(tags) else "default"
        chosen = tuple(a.name for a in declared.schema if str(a.type) in OPERANDS and a.name not in masks)
        located = declared.fields.get("promote")
        if located is not None:
            value: Located | None = located
            if isinstance(located.value, dict):
                for name, item in located.value.items():
                    known_word(name, item.key or item.place, PROMOTE_KEYS, "key in promote", self.report)
                value = located.value.get("kind")
                if "args" in located.value:
                    chosen = self.arguments(declared, located.value["args"], (*OPERANDS, "Tensor[]"))
            if value is not None:
                known_word(str(value.value), value.place, PROMOTE_KINDS, "kind of promotion", self.report)
                kind = str(value.value)
        return (None, ()) if kind == "none" else (kind, chosen)

    def promotion_of_some(self, declared: Declared) -> tuple[tuple[str, ...], str | None]:
        """The arguments whose dtype counts only where they are not 0-d, and what becomes of numbers."""
        located = declared.fields.get("promote")
        if located is None or not isinstance(located.value, dict):
            return (), None
        numbers = located.value.get("numbers")
        if numbers is not None:
            known_word(str(numbers.value), numbers.place, NUMBERS, "way with numbers", self.report)
        exempt = located.value.get("zero_dim")
        names = () if exempt is None else self.arguments(declared, exempt, ("Tensor", "Tensor?"))
        return names, None if numbers is None else str(numbers.value)

    def same_dtype(self, declared: Declared) -> tuple[str, ...]:
        """The arguments whose dtypes must agree, where nothing promotes."""
        located = declared.fields.get("same_dtype")
        return () if located is None else self.arguments(declared, located, ("Tensor", "Tensor?", "Tensor[]"))

    def result(self, declared: Declared, tags: frozenset[str], promote: str | None, body: Body | None) -> str:
        located = declared.fields.get("result")
        if located is None and body is not None:
            return result_of(body, of_floats="dtypes" not in declared.given)
        if located is not None:
            known_word(str(located.value), located.place, RESULTS, "kind of result", self.report)
            return str(located.value)
        of_elements = not EXPRESSIONS.isdisjoint(tags)
        return RESULT_OF_PROMOTION.get(promote or "", "same") if of_elements else "dynamic"

    def out(self, declared: Declared) -> str:
        located = declared.fields.get("out")
        if located is None:
            return "cast"
        known_word(str(located.value), located.place, OUTS, "rule for out", self.report)
        dtype = any(a.name == "dtype" and a.type.is_optional_dtype for a in declared.schema.arguments)
        if located.value == "computed" and not dtype:
            message = "only what has an argument dtype can compute in that of out"
            self.report.error(located.place, message, length=8, expected="ScalarType? dtype in the schema")
        return str(located.value)

    def overlap(self, declared: Declared, autogen: Iterable[OperatorName]) -> dict[str, str]:
        """What Tensor arguments may share with memory that is written; of out variants `out` itself, too."""
        known = [a.name for a in declared.schema.arguments if a.is_tensor_like]
        known += ["out"] if any(name.overload.endswith("out") for name in autogen) else []
        located, found = declared.fields.get("overlap"), {}
        for name, word in located.value.items() if located is not None else ():
            there = known_word(name, word.key or word.place, known, "Tensor argument", self.report)
            if known_word(str(word.value), word.place, OVERLAPS, "kind of overlap", self.report) and there:
                found[name] = str(word.value)
        return found

    def layout(self, declared: Declared, composite: bool) -> tuple[ResultLayout | None, ...]:
        located = declared.fields.get("layout")
        if located is not None and composite:
            message = "the results of a composite have the layouts that its parts give them"
            self.report.error(located.key or located.place, message, length=6, expected="no layout")
            return ()
        return parse_layouts(located, declared.schema, self.report)

    def dtypes(self, located: Located | None, view: bool = False) -> dict[str, frozenset[str]]:
        """By backend, the names of the scalar types (``Float``); a view has all where nothing is said."""
        backends = self.sources.tables.backends
        by_backend: dict[str, Located | None] = {}
        if located is not None and isinstance(located.value, dict):
            for names, value in located.value.items():
                for word, place in words(Located(names, value.key or value.place), self.report):
                    if known_word(word, place, backends, "backend", self.report):
                        by_backend[word] = value
        else:
            by_backend = {name: located for name in backends}
        if located is None and view:
            return {name: frozenset(backends[name].scalar_types) for name in by_backend}
        return {
            name: self.scalar_types(value, backends[name].scalar_types) for name, value in by_backend.items()
        }

    def scalar_types(self, located: Located | None, available: tuple[str, ...]) -> frozenset[str]:
        """The scalar types that ``floating, reduced, -float16`` means."""
        table = self.sources.tables.scalar_types
        if located is None:
            return frozenset(name for name in available if not table[name].is_limited)
        text = located.value if isinstance(located.value, str) else None
        if (text, available) in self.understood:
            return self.understood[text, available]
        before = len(self.report.diagnostics)
        known = ("all", *CATEGORIES, *(t.dtype for t in table.values()))
        chosen: set[str] = set()
        for word, place in words(located, self.report):
            name = word.removeprefix("-")
            if not known_word(
                name, place.shifted(len(word) - len(name)), known, "dtype or category", self.report
            ):
                continue
            matching = {t.name for t in table.values() if name in (t.category, t.dtype)}
            if name == "all":
                matching = {t.name for t in table.values() if not t.is_limited}
            chosen = chosen - matching if word.startswith("-") else chosen | matching
        result = frozenset(chosen & set(available))
        if text is not None and len(self.report.diagnostics) == before:
            self.understood[text, available] = result
        return result

    def factory(self, declared: Declared) -> tuple[str, ...] | None:
        """Where a creation operator's dtype comes from: ``default``, ``int64``, or arguments."""
        located = declared.fields.get("factory")
        if located is None:
            return None
        for name, item in located.value.items():
            known_word(name, item.key or item.place, ("dtype",), "key in factory", self.report)
        value = located.value.get("dtype")
        if value is None:
            self.report.error(
                located.place, 'factory has no "dtype"', expected="dtype: default, int64 or [arguments]"
            )
            return None
        if kind_of(value.value) == "list":
            return self.arguments(declared, value, ())
        known_word(str(value.value), value.place, ("default", "int64"), "dtype of a factory", self.report)
        return (str(value.value),)
