"""Typed access to the values of an entry; each complaint is reported where the value stands."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping

from ..model.diagnostics import Report, one_of, suggestion
from ..model.source import Located, Place
from .keys import Key

_KIND_NAMES = {
    "str": "a string",
    "bool": "true or false",
    "list": "a list",
    "map": "a mapping",
    "scalar": "an expression",
    "number": "a number",
}


def kind_of(value: object) -> str:
    """The name of a YAML value's kind, as ``Key.kinds`` has them."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "str"
    if isinstance(value, tuple):
        return "list"
    if isinstance(value, dict):
        return "map"
    return "nothing" if value is None else "number"


def check_keys(
    fields: Mapping[str, Located], keys: Mapping[str, Key], what: str, report: Report
) -> dict[str, Located]:
    """The fields with a known key and a value of the right kind; the others are reported."""
    good = {}
    for name, located in fields.items():
        key = keys.get(name)
        if key is None:
            close = suggestion(name, keys)
            every = one_of(k for k, v in keys.items() if v.meaning)
            expected = "a key that declarations/README.md lists" if close else every
            report.error(
                located.key or located.place,
                f'unknown key "{name}" in {what}',
                length=len(name),
                expected=expected,
                help=close,
            )
            continue
        kind = kind_of(located.value)
        if kind in key.kinds or (key.kinds == ("scalar",) and kind in ("str", "number", "bool")):
            good[name] = located
        else:
            expected = " or ".join(_KIND_NAMES[k] for k in key.kinds)
            report_scalar(located, f'"{name}" is {_article(kind)} here', expected, report)
    return good


def require_keys(
    fields: Mapping[str, Located],
    required: Iterable[str],
    keys: Mapping[str, Key],
    place: Place,
    report: Report,
) -> None:
    """Reports the required keys that are missing, but for one that is only misspelt."""
    unknown = [name for name in fields if name not in keys]
    for key in required:
        if key not in fields and not suggestion(key, unknown):
            expected = f"{key}: {keys[key].meaning}"
            report.error(place, f'the key "{key}" is missing', expected=expected)


def is_word(text: str) -> bool:
    """Whether Python takes it for a name."""
    return text.isidentifier() and not keyword.iskeyword(text)


def check_word(located: Located, expected: str, report: Report) -> bool:
    """Whether a value can be a name in Python; reported if not."""
    if is_word(str(located.value)):
        return True
    report_scalar(located, f'"{located.value}" is no name', expected, report)
    return False


def _article(kind: str) -> str:
    return {"number": "a number", "nothing": "empty"}.get(kind, _KIND_NAMES.get(kind, kind))


def report_scalar(located: Located, message: str, expected: str, report: Report, help: str = "") -> None:
    """Reports a mistake in a scalar, all of which is underlined."""
    length = length_of_scalar(located)
    report.error(located.place, message, length=length, expected=expected, help=help)


def length_of_scalar(located: Located) -> int:
    """How many characters of its line a scalar takes, as far as that is known."""
    value = located.value
    return len(value) if isinstance(value, str) else 1


def words(located: Located, report: Report) -> list[tuple[str, Place]]:
    """The words of ``a, b`` or of ``[a, b]``, each with its place."""
    if isinstance(located.value, tuple):
        result = []
        for item in located.value:
            if isinstance(item.value, str):
                result.append((item.value, item.place))
            else:
                report.error(item.place, "not a word", expected="a list of words")
        return result
    text = str(located.value)
    if "," not in text and text == text.strip():
        return [(text, located.place)]
    found = []
    offset = 0
    for part in text.split(","):
        word = part.strip()
        place = located.at(offset + len(part) - len(part.lstrip()) if word else max(0, offset - 1))
        if word:
            found.append((word, place))
        else:
            report.error(place, "a comma with nothing beside it", expected="words with commas between them")
        offset += len(part) + 1
    return found


def known_words(located: Located, known: Iterable[str], what: str, report: Report) -> tuple[str, ...]:
    """Those of ``words`` that are among ``known``; the others are reported."""
    names = list(known)
    return tuple(w for w, place in words(located, report) if known_word(w, place, names, what, report))


def known_word(word: str, place: Place, known: Iterable[str], what: str, report: Report) -> bool:
    """Whether ``word`` is one of ``known``; reported if not."""
    names = list(known)
    if word in names:
        return True
    report.error(
        place,
        f'unknown {what} "{word}"',
        length=len(word),
        expected=one_of(names),
        help=suggestion(word, names),
    )
    return False
