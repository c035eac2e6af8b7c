"""Check: scalar_types.yaml, whose types have a place in the promotion lattice, or none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..model.diagnostics import Report, one_of
from ..model.names import APART, CATEGORIES, NUMPY_DTYPES
from ..model.operators import ScalarType
from ..model.source import Located, Place
from ..read.fields import check_word, is_word, known_word, report_scalar, words
from ..read.keys import Key
from ..read.tables import report_twice, table_rows

_KEYS = {
    key.name: key
    for key in (
        Key("name", ("str",), "PyTorch's name of the type: Float"),
        Key("dtype", ("str",), "the name that users write: float32"),
        Key("aliases", ("str", "list"), "further names that users write"),
        Key("category", ("str",), "its category"),
        Key("array", ("str",), "the array dtype"),
        Key("opmath", ("str",), "the scalar type that it is computed in"),
        Key("real", ("str",), "the scalar type of its absolute value"),
        Key("signed", ("bool",), "whether it has negative numbers"),
        Key("promotes_to", ("str", "list"), "its immediate superiors in the promotion lattice"),
    )
}

#: Of the categories with ``opmath``, and of those with ``real``: the categories that these are of.
_OPMATH = {"reduced": "floating", "float8": "floating", "reduced_complex": "complex"}
_REAL = {"complex": "floating", "reduced_complex": "reduced"}
_RELATED = {"opmath": _OPMATH, "real": _REAL}
#: What users write is the kind of number, and its bits: the categories of each kind, and whether numbers
#: may be negative, where all of them are alike.
_KINDS: dict[str, tuple[tuple[str, ...], bool | None]] = {
    "bool": (("bool",), False),
    "uint": (("integral", "unsigned"), False),
    "int": (("integral",), True),
    "bfloat": (("reduced",), True),
    "float": (("floating", "reduced", "float8"), None),
    "complex": (("complex", "reduced_complex"), True),
}
_DTYPE = re.compile(r"(bool)|(bfloat|float|uint|int|complex)(?:8|16|32|64|128)(?:_[a-z0-9]+)?")
_ELSEWHERE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")

_Row = Mapping[str, Located]


def load_scalar_types(directory: Path, report: Report) -> dict[str, ScalarType]:
    """The scalar types by name; mistakes are reported, and what has one is as if nothing were said of it."""
    rows = {
        fields["name"].value: fields
        for fields, _ in table_rows(
            directory, "scalar_types.yaml", _KEYS, ("name", "dtype", "category", "promotes_to"), report
        )
        if check_word(fields["name"], "a word, as Float", report)
    }
    before = len(report.diagnostics)
    result = {name: _scalar_type(fields, rows, report) for name, fields in rows.items()}
    _check_unique(rows.values(), report)
    if len(report.diagnostics) == before:
        _check_lattice(result, rows, report)
    return result


def _scalar_type(fields: _Row, rows: Mapping[str, _Row], report: Report) -> ScalarType:
    name, category = fields["name"].value, fields["category"].value
    if known_word(category, fields["category"].place, CATEGORIES, "category", report):
        _check_category(fields, category, rows, report)
    if _check_dtype(fields, report) or "array" in fields:
        _check_array(fields.get("array", fields["dtype"]), report)
    text = {
        key: fields[key].value for key in ("opmath", "real") if key in fields and fields[key].value in rows
    }
    return ScalarType(
        name=name,
        dtype=fields["dtype"].value,
        aliases=tuple(word for word, _ in words(fields["aliases"], report)) if "aliases" in fields else (),
        category=category,
        array=fields["array"].value if "array" in fields else fields["dtype"].value,
        opmath=text.get("opmath", name),
        real=text.get("real", name),
        promotes_to=tuple(word for word, _ in _superiors(fields, rows, report)),
        signed=fields["signed"].value if "signed" in fields else True,
    )


def _check_dtype(fields: _Row, report: Report) -> bool:
    """The dtype's name says which kind of number it is, and with it the category and the sign."""
    located, category = fields["dtype"], fields["category"]
    found = _DTYPE.fullmatch(located.value)
    if found is None:
        expected = "a kind of number and its bits, as int8, uint16, bfloat16, float8_e5m2, complex64"
        report_scalar(located, f'"{located.value}" is no dtype', expected, report)
        return False
    categories, sign = _KINDS[found[1] or found[2]]
    if category.value in CATEGORIES and category.value not in categories:
        message = f"{located.value} is not of the category {category.value}"
        report_scalar(category, message, one_of(categories), report)
    signed = fields["signed"].value if "signed" in fields else True
    if sign is not None and signed != sign:
        message = f"{located.value} has {'' if sign else 'no '}negative numbers"
        report_scalar(fields.get("signed", located), message, f"signed: {str(sign).lower()}", report)
    return True


def _check_array(located: Located, report: Report) -> None:
    """The array dtype is one of NumPy's, or in a module of another library."""
    if ":" not in located.value:
        known_word(located.value, located.place, NUMPY_DTYPES, "dtype of NumPy", report)
    elif not _ELSEWHERE.fullmatch(located.value):
        message = f'"{located.value}" names no dtype of a library'
        expected = "module:name, as ml_dtypes:bfloat16"
        report_scalar(located, message, expected, report)


def _check_category(fields: _Row, category: str, rows: Mapping[str, _Row], report: Report) -> None:
    """What a type is computed in, what its absolute value is, and its sign, are as its category demands."""
    for key, of in _RELATED.items():
        wanted, located = of.get(category), fields.get(key)
        if located is None:
            if wanted is not None:
                message = f'the key "{key}" is missing: {_article(category)} type has one'
                report_scalar(fields["name"], message, f"{key}: a type of the category {wanted}", report)
        elif wanted is None:
            place = located.key or located.place
            expected = f"it of the categories {', '.join(of)} only"
            report.error(
                place, f'{_article(category)} type has no "{key}"', length=len(key), expected=expected
            )
        elif known_word(located.value, located.place, rows, "scalar type", report):
            found = rows[located.value]["category"].value
            if found != wanted:
                message = f"{located.value} is of the category {found}"
                report_scalar(located, message, f"one of the category {wanted}", report)


def _article(category: str) -> str:
    return f"{'an' if category[0] in 'aeiou' else 'a'} {category}"


def _check_unique(rows: Iterable[_Row], report: Report) -> None:
    """The names that users write are each of one dtype."""
    names: dict[str, Place] = {}
    for fields in rows:
        listed = [(fields["dtype"].value, fields["dtype"])]
        if "aliases" in fields:
            given = fields["aliases"]
            listed += [(word, Located(word, place)) for word, place in words(given, Report())]
        for word, located in listed:
            if word in names:
                report_twice(located, names[word], report)
            elif is_word(word):
                names[word] = located.place
            elif located is not fields["dtype"]:
                report_scalar(located, f'"{word}" is no name', "a word, as half", report)


def _superiors(fields: _Row, rows: Mapping[str, _Row], report: Report) -> list[tuple[str, Place]]:
    """The known types that one promotes to. A type that is in the lattice has none outside of it."""
    found = []
    seen: dict[str, Place] = {}
    own = fields["category"].value
    for word, place in words(fields["promotes_to"], report):
        located = Located(word, place)
        if not known_word(word, place, rows, "scalar type", report):
            continue
        if word in seen:
            report_twice(located, seen[word], report)
        elif word == fields["name"].value:
            report_scalar(located, f"{word} promotes to itself", "other types", report)
        elif rows[word]["category"].value in APART and own not in APART:
            message = f"{word} has no place in the promotion lattice"
            report_scalar(located, message, f"that {word} lists {fields['name'].value}", report)
        else:
            found.append((word, place))
        seen.setdefault(word, place)
    return found


def _check_lattice(types: Mapping[str, ScalarType], rows: Mapping[str, _Row], report: Report) -> None:
    """The types in the lattice promote in no circle, and any two of them to one least type."""
    inside = [s for s in types.values() if not s.is_apart]
    above = {s.name: _reached(s.name, types) for s in inside}
    circles = [s for s in inside if any(s.name in above[n] for n in s.promotes_to)]
    for s in circles[:1]:
        path = ", ".join(c.name for c in circles if c.name in above[s.name])
        located = rows[s.name]["promotes_to"]
        report.error(
            located.place,
            f"{s.name} promotes to itself, by way of others: {path}",
            expected="types that each hold the numbers of those before",
        )
    for a in inside if not circles else ():
        for b in inside:
            common = above[a.name] & above[b.name]
            if not any(common <= above[c] for c in common):
                located = rows[a.name]["promotes_to"]
                message = f"{a.name} and {b.name} promote to no type in common"
                if common:
                    least = [c for c in types if c in common and not any(c in above[d] for d in common - {c})]
                    message = f"{a.name} and {b.name} promote to several types: {', '.join(least)}"
                expected = "promotes_to of which one type comes first for both"
                report.error(located.place, message, expected=expected)
                return


def _reached(name: str, types: Mapping[str, ScalarType]) -> frozenset[str]:
    """A type and all that are above it."""
    found = {name}
    queue = [name]
    for each in queue:
        new = [n for n in types[each].promotes_to if n in types and n not in found]
        found.update(new)
        queue += new
    return frozenset(found)
