"""Check: batching rules, what vmap does to an operator.

The key ``batching`` of an entry becomes a Batching of the model; what an entry does not say follows from its
tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..model.diagnostics import Report, one_of
from ..model.operators import LOSS, Batching
from ..model.schema import Schema
from ..model.source import Located
from ..parse.formula import parse_formula
from ..read.fields import known_word, known_words, length_of_scalar
from .kernels import Sources
from .names import TensorVocabulary, check_names

_WORDS = ("pointwise", "broadcast", "reduction", "leading", "loss")
_RULES = ("fold", "values", "decompose", "become", "refuse")
_RULE_KEYS = ("tensors", "dims", "added", "sizes", "atleast_1d", *_RULES)
_DIMS = frozenset({"int", "int?", "SymInt", "SymInt?", "int[]", "SymInt[]", "int[]?", "int[1]", "int[1]?"})


class BatchingChecker:
    """Makes the Batching of an entry; mistakes are reported."""

    def __init__(self, sources: Sources, report: Report) -> None:
        self.sources = sources
        self.report = report

    def batching(
        self, schema: Schema, located: Located | None, tags: frozenset[str], composite: bool
    ) -> Batching | None:
        """What ``batching`` says, or what follows from tags; None where nothing does."""
        tensors = tuple(a.name for a in schema.arguments if a.is_tensor_like)
        rule = None if located is None else self.rule(schema, located, tensors)
        if "nondeterministic_seeded" not in tags and (located is not None or composite):
            return rule
        if "nondeterministic_seeded" in tags:
            if composite and rule is None:
                return None  # its parts draw
            return Batching("random", tensors, cases=() if rule is None else ((None, rule),))
        for word in ("pointwise", LOSS):
            if word in tags:
                return Batching(word, tensors)
        if "reduction" in tags and any(a.name == "dim" for a in schema.arguments):
            return Batching("reduction", tensors)
        return None

    def rule(self, schema: Schema, located: Located, tensors: tuple[str, ...]) -> Batching | None:
        """The rule that a value writes: a word, or a mapping."""
        if isinstance(located.value, str):
            return self.word(schema, located, tensors)
        if not isinstance(located.value, dict):
            self.report.error(located.place, "no batching rule", expected=f"{one_of(_WORDS)}, or a mapping")
            return None
        fields: Mapping[str, Located] = located.value
        if any(key in _RULE_KEYS for key in fields):
            return self.mapping(schema, located, tensors)
        return self.cases(schema, located, tensors)

    def word(self, schema: Schema, located: Located, tensors: tuple[str, ...]) -> Batching | None:
        word = str(located.value)
        if not known_word(word, located.place, _WORDS, "batching rule", self.report):
            return None
        needed = {"reduction": "dim", "loss": "reduction"}.get(word)
        if needed is not None and not any(a.name == needed for a in schema.arguments):
            self.report.error(
                located.place,
                f"the rule {word} is for operators with an argument {needed}",
                length=len(word),
                expected="another rule",
            )
            return None
        return Batching(word, tensors)

    def cases(self, schema: Schema, located: Located, tensors: tuple[str, ...]) -> Batching | None:
        """Rules by the arguments that are batched: ``{self: leading, else: {values: ...}}``."""
        found: list[tuple[tuple[str, ...] | None, Batching]] = []
        for key, value in located.value.items():
            at = value.key or value.place
            if key == "else":
                rule = self.rule(schema, value, tensors)
                covered = None
            else:
                names = tuple(word.strip() for word in key.split(","))
                for name in names:
                    if not known_word(
                        name, at, (*tensors, "else", *_RULE_KEYS), "Tensor argument", self.report
                    ):
                        return None
                rule = self.rule(schema, value, names)
                covered = names
            if rule is None:
                return None
            found.append((covered, rule))
        if not found or found[-1][0] is not None:
            self.report.error(
                located.key or located.place,
                "nothing says what happens where other arguments are batched",
                length=len("batching"),
                expected="else: a rule, last",
            )
            return None
        return Batching("cases", tensors, cases=tuple(found))

    def mapping(self, schema: Schema, located: Located, tensors: tuple[str, ...]) -> Batching | None:
        fields: Mapping[str, Located] = located.value
        for key, value in fields.items():
            if not known_word(
                key, value.key or value.place, _RULE_KEYS, "part of a batching rule", self.report
            ):
                return None
        if "tensors" in fields:
            tensors = self.arguments(fields["tensors"], [n for n in tensors], "Tensor argument")
        kinds = [key for key in _RULES if key in fields]
        if len(kinds) > 1:
            self.report.error(
                fields[kinds[1]].key or fields[kinds[1]].place,
                f"{kinds[0]} and {kinds[1]} are two rules",
                length=len(kinds[1]),
                expected="one of them",
            )
            return None
        if not kinds:
            return self.leading(schema, fields, tensors)
        kind, value = kinds[0], fields[kinds[0]]
        if kind == "refuse":
            return Batching(kind, tensors, text=" ".join(str(value.value).split()))
        if kind == "fold":
            if isinstance(value.value, int) and value.value > 0:
                return Batching(kind, tensors, rank=value.value)
            self.report.error(
                value.place,
                "fold is the rank of what is not folded",
                length=length_of_scalar(value),
                expected="a number of dimensions, from 1",
            )
            return None
        return self.expression(schema, kind, value, tensors)

    def expression(
        self, schema: Schema, kind: str, value: Located, tensors: tuple[str, ...]
    ) -> Batching | None:
        formula = parse_formula(value, self.report, "batching rule")
        if formula is None:
            return None
        names = {a.name for a in schema.arguments}
        vocabulary = TensorVocabulary("batching rule", names, self.sources.operators, self.sources.formulas)
        check_names(formula, vocabulary, self.report)
        helpers = self.sources.formulas.qualified(formula.names() - names)
        return Batching(kind, tensors, formula=formula, helpers=helpers)

    def leading(
        self, schema: Schema, fields: Mapping[str, Located], tensors: tuple[str, ...]
    ) -> Batching | None:
        countable = [a.name for a in schema.arguments if str(a.type) in _DIMS]
        shapes = [a.name for a in schema.arguments if str(a.type).startswith(("int[", "SymInt["))]
        added = fields["added"].value if "added" in fields else 0
        if not isinstance(added, int) or isinstance(added, bool):
            self.report.error(fields["added"].place, "added is how many dimensions more", expected="a number")
            return None
        vectors = fields["atleast_1d"].value if "atleast_1d" in fields else False
        if not isinstance(vectors, bool):
            place, expected = fields["atleast_1d"].place, "true, or nothing"
            self.report.error(place, "atleast_1d is whether numbers count as vectors", expected=expected)
            return None
        return Batching(
            "leading",
            tensors,
            dims=self.arguments(fields.get("dims"), countable, "argument that counts dimensions"),
            added=added,
            sizes=self.arguments(fields.get("sizes"), shapes, "argument that is a shape"),
            atleast_1d=vectors,
        )

    def arguments(self, located: Located | None, known: Sequence[str], what: str) -> tuple[str, ...]:
        if located is None:
            return ()
        return known_words(located, known, what, self.report)
