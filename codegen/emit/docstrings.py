"""Emit: the docstrings of functions and methods.

The signatures stand first, a line for each overload, as in PyTorch's; ``inspect.signature`` is read from
them. Then comes what is declared: what it does, and what it says of shapes, dtypes and errors.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from ...ir.writer import write
from ..model.groups import Group, exported_name
from ..model.names import CATEGORIES, LIMITED
from ..model.operators import Operator, ScalarType
from .stubs import StubWriter

#: Text between double backquotes.
_CODE = re.compile(r"``[^`]+``")
_WIDTH = 100
_PROMOTION = {
    "default": "{of} promoted to a common dtype.",
    "int_to_float": "{of} promoted to a common dtype, of bools and integers to the default dtype.",
    "bool_to_long": "{of} promoted to a common dtype, of bools to int64.",
    "always_bool": "{of} promoted to a common dtype; the result is of bools.",
    "complex_to_float": "{of} promoted to a common dtype; of complex numbers the result is real.",
}


class DocstringWriter:
    """Makes the docstrings of all groups."""

    def __init__(self, stubs: StubWriter, scalar_types: Iterable[ScalarType]) -> None:
        self.stubs = stubs
        self.categories: dict[str, frozenset[str]] = {}
        for category in [c for c in CATEGORIES if c not in LIMITED]:
            self.categories[category] = frozenset(s.name for s in scalar_types if s.category == category)

    def function(self, group: Group) -> str:
        """Of a function: PyTorch calls ``self`` ``input`` there."""
        operators = [o for o in group.operators if "function" in o.variants]
        return self._text(_name(group), group, "function", _sentences(group, self._facts(operators), "input"))

    def method(self, group: Group) -> str:
        """Of a method: what the function of the same name does is said in full there."""
        operators = [o for o in group.operators if "method" in o.variants]
        is_function = any("function" in o.variants for o in group.operators) and not group.is_internal
        home = "nn.functional." if group.python_module == "nn" else ""
        facts = [f"See ``tengen.{home}{_name(group)}``."] if is_function else self._facts(operators)
        return self._text(group.function, group, "method", _sentences(group, facts, "self"))

    def _text(self, name: str, group: Group, kind: str, sentences: str) -> str:
        signatures = [name + line for line in self.stubs.documented(group, kind)]
        wrapped = textwrap.wrap(sentences, _WIDTH)
        return "\n    ".join([*signatures, *([""] if wrapped else []), *wrapped]).replace("    \n", "\n")

    # -- what is declared ------------------------------------------------------------------------

    def _facts(self, operators: Sequence[Operator]) -> list[str]:
        facts = [*self._shapes(operators), *self._dtypes(operators), *_errors(operators)]
        return list(dict.fromkeys(facts))

    def _shapes(self, operators: Sequence[Operator]) -> Iterable[str]:
        pointwise = [o for o in operators if "pointwise" in o.tags]
        if any(sum(a.is_tensor for a in o.schema.arguments) > 1 for o in pointwise):
            yield "The shapes broadcast."
        elif pointwise:
            yield "The result has the shape of the input."

    def _dtypes(self, operators: Sequence[Operator]) -> Iterable[str]:
        for o in operators:
            if o.promote in _PROMOTION and not o.name.inplace:
                of = "The operands are" if len(o.promoted) > 1 else "It is"
                yield _PROMOTION[o.promote].format(of=of)
            if o.same_dtype:
                yield f"RuntimeError where the dtypes of {_listed(map(_code, o.same_dtype))} differ."
            yield from (f"RuntimeError for {category}: {text}" for category, text in o.refuse.items())
            yield from (f"RuntimeError where {_code(write(f.condition))}: {f.text}" for f in o.forbidden)
        computed = [frozenset().union(*o.dtypes.values()) for o in operators if o.dtypes]
        if computed and len(computed) == len(operators):
            taken = frozenset().union(*computed)
            refused = {category for o in operators for category in o.refuse}
            missing = [c for c, names in self.categories.items() if c not in refused and not names & taken]
            if missing:
                yield f"NotImplementedError for dtypes that are {_listed(missing, 'or')}."


def _errors(operators: Iterable[Operator]) -> Iterable[str]:
    """The classes of errors that its bad calls raise."""
    raised = sorted({s.raises for o in operators for s in o.samples if s.raises} - {"NotImplementedError"})
    if raised:
        yield f"{_listed(raised, 'or')} where the arguments do not fit each other or their dtypes."


def _sentences(group: Group, facts: Sequence[str], receiver: str) -> str:
    doc = group.doc
    if group.function.endswith("_") and any(v.kind == "inplace" and v.base for v in group.variants):
        doc = " ".join([doc, f"It is written to ``{receiver}``, which is returned."]).strip()
    text = " ".join([text for text in (doc, *facts) if text])
    return _CODE.sub(lambda code: re.sub(r"\bself\b", receiver, code[0]), text)


def _name(group: Group) -> str:
    """As it is called in its module: ``linalg.inv``."""
    name = exported_name(group)
    return name if name == group.function else f"{group.python_module}.{name}"


def _code(name: str) -> str:
    return f"``{name}``"


def _listed(words: Iterable[str], joined: str = "and") -> str:
    """``a, b and c``."""
    *first, last = words
    return f"{', '.join(first)} {joined} {last}" if first else last
