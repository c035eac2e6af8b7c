"""JSON Schemas of the declaration files, for editors that complete and check YAML by them.

They are made of the tables of keys that the checker uses, so they cannot say anything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..check.operators import (
    NUMBERS,
    OUTS,
    PROMOTE_KEYS,
    PROMOTE_KINDS,
    PYTHON_MODULES,
    RESULTS,
    SPECIAL_METHODS,
    VARIANTS,
)
from ..check.optimizers import OPTIMIZER_KEYS, REQUIRED
from ..model.names import CATEGORIES, COMPOSITES
from ..model.operators import Declarations
from ..model.source import OutputFile
from ..read.entries import MODULES
from ..read.keys import DERIVATIVE_KEYS, KEYS, MODULE_KEYS, Key
from ..read.overloads import KEY as OVERLOADS, OF
from .page import HEADER
from .write import sealed

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Mapping[str, Any] = {
    "str": {"type": "string"},
    "bool": {"type": "boolean"},
    "list": {"type": "array"},
    "map": {"type": "object"},
    "number": {"type": "number"},
    "scalar": {"type": ["string", "number", "boolean"]},
}
#: The keys that an entry must have.
_REQUIRED = {"native": ["func"], "nn": ["name", "gradients"]}
_FILES = {"native": "native_functions", "nn": "nn"}


def schemas(declared: Declarations) -> list[OutputFile]:
    """A schema for each mechanism that reads YAML."""
    found = []
    for mechanism, file in _FILES.items():
        properties = _properties(KEYS[mechanism].values(), declared)
        if OVERLOADS in properties:
            properties[OVERLOADS]["additionalProperties"] = _overload(properties)
        found.append(_file(file, _entries(properties, _REQUIRED[mechanism])))
    derivative = _entries(_properties(DERIVATIVE_KEYS.values(), declared), ["name"])
    # Every other key names arguments or results, and its value is a formula.
    derivative["items"]["additionalProperties"] = _TYPES["scalar"]
    module = _entries(_properties(MODULE_KEYS.values(), declared), ["name", "function"])
    found += [_file("derivatives", derivative), _file(MODULES, module)]
    if not declared.library:  # which has none
        optimizer = _entries(_properties(OPTIMIZER_KEYS.values(), declared), [*REQUIRED])
        found.append(_file("optimizers", optimizer))
    return found


def _file(name: str, schema: Mapping[str, Any]) -> OutputFile:
    whole = {"$schema": _DRAFT, "$comment": HEADER, "title": f"{name}.yaml", **schema}
    return OutputFile(f"{name}.schema.json", sealed(json.dumps(whole, indent=1, sort_keys=False) + "\n"))


def _overload(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An overload with numbers: the keys of an entry, and which arguments are numbers."""
    keys = {name: value for name, value in properties.items() if name not in ("func", OVERLOADS)}
    of = {"anyOf": [_TYPES["str"], _TYPES["list"]], "description": "the arguments that are numbers"}
    return {"type": "object", "properties": {OF: of, **keys}, "required": [OF], "additionalProperties": False}


def _entries(properties: Mapping[str, Any], required: list[str]) -> dict[str, Any]:
    """A file: a list of entries."""
    entry = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return {"type": ["array", "null"], "items": entry}


def _properties(keys: Iterable[Key], declared: Declarations) -> dict[str, Any]:
    special = _special(declared)
    made = {}
    for key in keys:
        value = special.get(key.name) or _of_kinds(key.kinds)
        said = key.meaning or "one of PyTorch's keys: accepted, without effect"
        made[key.name] = {**value, "description": said}
    return made


def _of_kinds(kinds: Iterable[str]) -> dict[str, Any]:
    choices = [_TYPES[kind] for kind in kinds]
    return dict(choices[0]) if len(choices) == 1 else {"anyOf": choices}


def _words(known: Iterable[str]) -> dict[str, Any]:
    """``a, b`` or ``[a, b]``, of known words."""
    each = sorted(known)
    one = "|".join(each)
    return {
        "anyOf": [
            {"type": "array", "items": {"enum": each}},
            {"enum": each},
            {"type": "string", "pattern": rf"^ *({one}) *(, *({one}) *)*$"},
        ]
    }


def _mapping(names: Iterable[str], value: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping whose keys are these, or several of them with commas."""
    each = sorted(names)
    one = "|".join(each)
    return {
        "type": "object",
        "properties": {name: value for name in each},
        "patternProperties": {rf"^({one})( *, *({one}))+$": value},
    }


def _special(declared: Declarations) -> dict[str, dict[str, Any]]:
    """The keys of which more is known than the kind of their values."""
    backends = [b.name for b in declared.backends]
    scalars = [s.dtype for s in declared.scalar_types]
    kernel = _TYPES["scalar"]
    kinds = {"enum": list(PROMOTE_KINDS)}
    names = {"anyOf": [_TYPES["str"], {"type": "array", "items": _TYPES["str"]}]}
    parts = dict(zip(PROMOTE_KEYS, (kinds, names, names, {"enum": list(NUMBERS)}), strict=True))
    promote = {"type": "object", "properties": parts, "additionalProperties": False}
    inner = {key.name: _of_kinds(key.kinds) | {"description": key.meaning} for key in MODULE_KEYS.values()}
    module = {"type": "object", "properties": inner, "required": ["name"], "additionalProperties": False}
    return {
        "module": {"anyOf": [_TYPES["str"], module]},
        "variants": _words(VARIANTS),
        "tags": _words(declared.tags),
        "python_module": {"enum": list(PYTHON_MODULES)},
        "promote": {"anyOf": [kinds, promote]},
        "result": {"anyOf": [{"enum": list(RESULTS)}, _TYPES["scalar"]]},
        "out": {"enum": list(OUTS)},
        "dispatch": _mapping([*backends, *COMPOSITES], {**kernel, "description": "a kernel"}),
        "refuse": {
            "type": "object",
            "properties": {"args": names},
            "propertyNames": {"anyOf": [{"enum": [*CATEGORIES, "args"]}, {"pattern": "^[a-z_]"}]},
        },
        "operators": {"type": "object", "propertyNames": {"enum": sorted(SPECIAL_METHODS)}},
        "dtypes": {
            "anyOf": [_TYPES["str"], {"type": "array", "items": _TYPES["str"]}, {"type": "object"}],
            "examples": ["all", *CATEGORIES, *scalars],
        },
    }
