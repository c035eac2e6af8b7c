"""Check: a class of ``tengen.nn``, made of what is declared, among all others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from ...ir.reader import read_module
from ..model.diagnostics import Report, one_of, suggestion
from ..model.modules import LOSSES, ModuleClass
from ..model.source import Located, Place
from ..read.fields import check_word, is_word, known_word, report_scalar, words
from ..read.module_homes import ModuleHomes

_Fields = Mapping[str, Located]
#: What every module has, and what the bases of losses keep.
_OF_MODULE = frozenset({"training"})
#: Names that the text of ``extra_repr`` looks up in the instance, behind "{" or "self.".
_SHOWN = re.compile(r"\{([a-z_]\w*)|\bself\.([A-Za-z_]\w*)")
_WITH_ARGUMENTS = re.compile(r"\w+\(.*\)", re.S)
#: What annotations may name beside the words in those of the function.
_TYPES = frozenset({
    "Any", "None", "Sequence", "Tensor", "bool", "complex", "dict", "float", "int", "list", "str", "tuple",
})  # fmt: skip
_WORD = re.compile(r"[A-Za-z_]\w*")


def check_class(
    made: ModuleClass,
    fields: _Fields,
    classes: Mapping[str, ModuleClass],
    declared: Collection[str],
    homes: ModuleHomes,
    report: Report,
) -> None:
    """Reports what is wrong with a class: its name, module, base, parameters, and what it shows.

    ``declared`` are the names of all classes, of those that have a mistake, too.
    """
    if check_word(fields["name"], "the name of a class", report) and made.name in homes.written:
        home = homes.written[made.name]
        message = f"{made.name} is written by hand, in runtime/nn/modules/{home}.py"
        report_scalar(fields["name"], message, "another name", report)
    if made.home not in homes.bases:
        located = fields.get("home", fields["name"])
        known_word(made.home, located.place, homes.bases, "module with generated classes", report)
    elif "base" in fields and (made.base in classes or made.base not in declared):
        _check_base(made, fields["base"], classes, homes, report)
    _check_parameters(made, fields, report)
    for word, place in words(fields["buffers"], report) if "buffers" in fields else ():
        known_word(word, place, [p.name for p in made.init], "argument", report)
    for name, value in fields["attributes"].value.items() if "attributes" in fields else ():
        _check_attribute(made, name, value, report)
    if "repr" in fields:
        _check_shown(made, fields["repr"], classes, report)


def _check_base(
    made: ModuleClass,
    located: Located,
    classes: Mapping[str, ModuleClass],
    homes: ModuleHomes,
    report: Report,
) -> None:
    """The base is a class that the generated file has, or imports."""
    text = str(located.value)
    if "(" in text and not _WITH_ARGUMENTS.fullmatch(text):
        report_scalar(located, "a call that is not closed", "Upsample(size, scale_factor)", report)
        return
    beside = [c.name for c in classes.values() if c.home == made.home and c.name != made.name]
    own = beside if made.calls_base else ["Module", *LOSSES, *sorted(homes.bases[made.home]), *beside]
    if not known_word(made.base, located.place, own, f"base of a class of nn.modules.{made.home}", report):
        return
    chain = list(_bases(made, classes))
    if made.name in (c.name for c in chain):
        way = ", ".join(c.name for c in chain)
        report_scalar(located, f"{made.name} derives from itself, by way of {way}", "another base", report)


def _bases(made: ModuleClass, classes: Mapping[str, ModuleClass]) -> Iterator[ModuleClass]:
    """The declared classes that a class derives from, the nearest first, each once."""
    seen: set[str] = set()
    while made.base in classes and made.base not in seen:
        made = classes[made.base]
        seen.add(made.name)
        yield made


def _check_parameters(made: ModuleClass, fields: _Fields, report: Report) -> None:
    """No name twice, none that is required behind one that is not, and known types."""
    types = {word for p in made.function.parameters for word in _WORD.findall(p.annotation)}
    for key, given in (("init", made.init), ("forward", made.forward)):
        if key not in fields:
            continue
        located, optional = fields[key], False
        for at, p in enumerate(given):
            place = _place(located, p.name)
            if p.name == "self" or p.name in [q.name for q in given[:at]]:
                expected = "each argument once, without self"
                report.error(place, f'"{p.name}" is listed twice', length=len(p.name), expected=expected)
            if p.default is None and optional and not p.keyword:
                message = f'"{p.name}" is required, and stands behind one that is not'
                report.error(place, message, length=len(p.name), expected=f"{p.name}=DEFAULT")
            optional = optional or p.default is not None
            for word in _WORD.findall(re.sub(r"\"[^\"]*\"|'[^']*'", "", p.annotation)):
                if word not in types and word not in _TYPES:
                    known_word(word, _place(located, word), sorted(_TYPES | types), "type", report)


def _place(located: Located, word: str) -> Place:
    found = re.search(rf"\b{re.escape(word)}\b", str(located.value))
    return located.at(found.start() if found else 0)


def _check_attribute(made: ModuleClass, name: str, value: Located, report: Report) -> None:
    place = value.key or value.place
    if not is_word(name):
        report.error(place, f'"{name}" is no name', length=len(name), expected="the name of an attribute")
    elif value.value is None:
        known_word(name, place, [p.name for p in made.init], "argument that is not kept", report)


def _check_shown(
    made: ModuleClass, located: Located, classes: Mapping[str, ModuleClass], report: Report
) -> None:
    """What is printed is kept, by the class or by one that it derives from."""
    line = [made, *_bases(made, classes)]
    kept = {name for c in line for name in (*c.attributes, *c.buffers)} | _OF_MODULE
    for c in line:
        kept |= LOSSES.get(c.base, frozenset())
    if isinstance(located.value, tuple):
        for word, place in words(located, report):
            known_word(word, place, sorted(kept), "attribute", report)
        return
    text = str(located.value)
    for found in _SHOWN.finditer(text):
        word = found[1] or found[2]
        if word not in kept:
            report.error(
                located.at(found.start(1 if found[1] else 2)),
                f'unknown attribute "{word}"',
                length=len(word),
                expected=one_of(sorted(kept)),
                help=suggestion(word, kept),
            )
    try:
        read_module(f'f"{text}"')
    except SyntaxError:
        report_scalar(located, "no text with names in { }", '"{padding}"', report)
