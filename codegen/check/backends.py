"""Check: backends.yaml, of tengen and of a library."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from ..model.diagnostics import Report, one_of
from ..model.names import LAYOUTS, STRIDED
from ..model.operators import Backend, ScalarType
from ..model.source import Located, Place
from ..read.fields import is_word, known_word, known_words, report_scalar, require_keys, words
from ..read.functions import ABSOLUTE, FunctionIndex
from ..read.keys import Key
from ..read.libraries import Library
from ..read.tables import report_twice, table_rows
from .capabilities import check_capabilities
from .homes import Homes

Fields = Mapping[str, Located]

_KEYS = {
    key.name: key
    for key in (
        Key("name", ("str",), "the dispatch key: CPU"),
        Key("device", ("str",), "the device type: cpu"),
        Key("library", ("str",), "the module that allocates, casts and copies"),
        Key("namespace", ("str",), "the module that is xp in expressions"),
        Key("kernels", ("str", "list"), "packages of kernel functions; -name leaves one out"),
        Key("group", ("bool", "str"), "true for a group, which no device has; the group of a member"),
        Key("extra", ("str",), "the extra by which its array library is installed"),
        Key("layouts", ("str", "list"), "the layouts of its tensors, where these are not strided"),
        Key("scalar_types", ("str", "list"), "the scalar types it has, or all"),
        Key("capabilities", ("map",), "facts that the generator asks for"),
    )
}
_MUST = ("name", "device", "library", "namespace")
_EXTRA = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


def load_backends(
    directory: Path, scalar_types: Mapping[str, ScalarType], functions: FunctionIndex, report: Report
) -> dict[str, Backend]:
    """The backends of tengen by name; mistakes are reported."""
    result: dict[str, Backend] = {}
    rows = _rows(directory, report, needs_kernels=True)
    homes = Homes({"tengen": functions.package.parent})
    for fields in rows:
        kernels = _modules(fields["kernels"], functions, report) if "kernels" in fields else ()
        made = _backend(fields, kernels, scalar_types, result, homes, report)
        _check_device(made, fields, result, report)
        result[made.name] = made
    for fields in rows:
        check_capabilities(fields, result, functions, report)
    return result


def _rows(
    directory: Path, report: Report, display: str = "", needs_kernels: bool = False
) -> list[dict[str, Located]]:
    """The entries of backends.yaml that have the keys which their kind needs."""
    rows = table_rows(directory, "backends.yaml", _KEYS, ("name",), report, display)
    found = []
    for fields, place in rows:
        needed = _MUST + (("kernels",) if needs_kernels else ())
        if "group" in fields and fields["group"].value is not False:
            needed = ("name", "kernels") if fields["group"].value is True else ("name", "device", "library")
        require_keys(fields, needed, _KEYS, place, report)
        if all(key in fields for key in needed):
            found.append(fields)
    return found


def _backend(
    fields: Fields,
    kernels: tuple[str, ...],
    scalar_types: Mapping[str, ScalarType],
    known: Mapping[str, Backend],
    homes: Homes,
    report: Report,
) -> Backend:
    group = _group(fields.get("group"), known, report)
    types = tuple(scalar_types) if group is None else group.scalar_types
    if "scalar_types" in fields and fields["scalar_types"].value != "all":
        types = _some_words(fields["scalar_types"], scalar_types, "scalar type", report)
    for key, expected in _NAMES.items():
        if key in fields:
            _check_name(fields[key], key, expected, homes, report)
    layouts: tuple[str, ...] = (STRIDED,)
    if "layouts" in fields:
        layouts = _some_words(fields["layouts"], LAYOUTS, "layout", report)
    own = {k: v.value for k, v in fields["capabilities"].value.items()} if "capabilities" in fields else {}
    text = {key: str(fields[key].value) if key in fields else "" for key in _NAMES}
    return Backend(
        **text,
        kernels=kernels if group is None else (*group.kernels, *kernels),
        scalar_types=types,
        capabilities=own if group is None else {**group.capabilities, **own},
        layouts=layouts,
        group="" if group is None else group.name,
        is_group="group" in fields and fields["group"].value is True,
    )


def _group(located: Located | None, known: Mapping[str, Backend], report: Report) -> Backend | None:
    """The group of a member, which stands before it; an unknown one is reported."""
    if located is None or isinstance(located.value, bool):
        return None
    groups = [b.name for b in known.values() if b.is_group]
    if not known_word(str(located.value), located.place, groups, "group of backends", report):
        return None
    return known[str(located.value)]


def library_backends(
    library: Library,
    known: Mapping[str, Backend],
    scalar_types: Mapping[str, ScalarType],
    functions: FunctionIndex,
    report: Report,
) -> dict[str, Backend]:
    """The backends of tengen, with a library's kernels, and those that the library declares."""
    result = dict(known)
    directory = library.declarations
    rows = []
    if (directory / "backends.yaml").is_file():
        rows = _rows(directory, report, library.display)
    homes = Homes({"tengen": functions.package.parent, library.package: library.folder})
    for fields in rows:
        made = _backend(fields, (), scalar_types, result, homes, report)
        for other in result.values():
            for key, value in (("name", other.name), ("device", other.device)):
                if value and key in fields and fields[key].value == value:
                    report.error(
                        fields[key].place,
                        f'the {key} "{value}" is that of the backend {other.name}',
                        length=len(value),
                        expected=f"a {key} that no other backend has",
                    )
        result.setdefault(made.name, replace(made, library_of=library.name))
    inside = f"{ABSOLUTE}{library.package}.kernels"
    own = [m for m in functions.modules if m == inside or m.startswith(f"{inside}.")]
    special = {f"{inside}.{name.lower()}": name for name in result}  # kernels of one backend alone
    for name, backend in result.items():
        # What is for no backend alone is NumPy's: a group's kernels are given a namespace.
        meant = (name, backend.group) if backend.runs_generically else (None, name)
        modules = [m for m in own if _special(m, special) in meant]
        result[name] = replace(backend, kernels=(*backend.kernels, *modules))
    for fields in rows:
        check_capabilities(fields, result, functions, report)
    return result


def _special(module: str, packages: Mapping[str, str]) -> str | None:
    """The backend whose kernels a module is for, where it is for one alone."""
    return next((b for p, b in packages.items() if module == p or module.startswith(f"{p}.")), None)


#: The keys that name something, and what is expected of them.
_NAMES = {
    "name": "a word, as CPU",
    "device": "a word, as cpu",
    "library": "a module, as tengen.kernels.cpu, or module:name",
    "namespace": "a module, as numpy",
    "extra": "what pip takes in brackets: jax",
}


def _check_name(located: Located, key: str, expected: str, homes: Homes, report: Report) -> None:
    """A device is a word, a namespace is a module, a library is one or an object in one."""
    value = located.value
    if key == "extra":
        good = _EXTRA.fullmatch(value) is not None
    else:
        parts = value.replace(":", ".", 1) if key == "library" else value
        good = all(is_word(part) for part in (parts.split(".") if key in _MUST[2:] else [parts]))
    if not good:
        report_scalar(located, f'"{value}" is no {key}', expected, report)
    elif key in _MUST[2:]:
        homes.check(located, key, report)


def _some_words(located: Located, known: Collection[str], what: str, report: Report) -> tuple[str, ...]:
    """``known_words``, of which there is one at least, and none twice."""
    seen: dict[str, Place] = {}
    for word, place in words(located, Report()):
        if word in seen:
            report_twice(Located(word, place), seen[word], report)
        seen.setdefault(word, place)
    if not seen:
        report.error(located.place, f"no {what} is listed", expected=one_of(known))
    return known_words(located, known, what, report)


def _check_device(made: Backend, fields: Fields, known: Mapping[str, Backend], report: Report) -> None:
    """Of a device and a layout there is one backend."""
    for other in known.values():
        both = [layout for layout in made.layouts if layout in other.layouts]
        if made.device and made.device == other.device and both:
            message = (
                f"{made.name} and {other.name} are both of the device {made.device} and the layout {both[0]}"
            )
            report_scalar(fields["device"], message, "another device, or other layouts", report)


def _modules(located: Located, functions: FunctionIndex, report: Report) -> tuple[str, ...]:
    """The modules below runtime/kernels that ``[functions, -native.meta]`` means."""
    chosen: set[str] = set()
    inner = [m for m in functions.modules if not m.startswith(ABSOLUTE)]
    for word, place in words(located, report):
        minus = word.startswith("-")
        package = word[minus:]
        below = [f"kernels.{m}" if m else "kernels" for m in inner]
        under = {m for m, full in zip(inner, below, strict=True) if f"{full}.".startswith(f"{package}.")}
        if not under:
            known_word(package, place.shifted(minus), ["kernels", *below], "package of kernels", report)
        chosen = chosen - under if minus else chosen | under
    return tuple(sorted(chosen - {""}))
