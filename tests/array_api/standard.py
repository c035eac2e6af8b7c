"""The names and signatures of the array API standard, from a checkout of data-apis/array-api.

    python tests/array_api/standard.py CHECKOUT

writes signatures.json anew. The tests need no checkout.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

VERSION = "2025.12"
FILE = Path(__file__).parent / "signatures.json"
#: The stubs of which functions are not the namespace's own.
PLACES = {"fft": "fft", "linalg": "linalg", "info": "info", "array_object": "Tensor"}


def record(checkout: Path) -> dict[str, dict[str, str]]:
    """By place ("" is the namespace) and name, signatures without annotations; "" of what is no function."""
    found: dict[str, dict[str, str]] = {}
    stubs = checkout / "src" / "array_api_stubs" / f"_{VERSION.replace('.', '_')}"
    for file in sorted(stubs.glob("[a-z]*.py")):
        place = found.setdefault(PLACES.get(file.stem, ""), {})
        body = ast.parse(file.read_text(encoding="utf-8")).body
        if file.stem == "constants":
            place.update(_exported(body))
        elif file.stem != "data_types":  # which has the equality of dtypes alone
            place.update(_signatures(body))
    found[""].update(_dtypes(ast.parse((stubs / "_types.py").read_text(encoding="utf-8")).body))
    found[""]["__array_namespace_info__"] = found["info"].pop("__array_namespace_info__")
    return {place: dict(sorted(names.items())) for place, names in sorted(found.items())}


def _exported(body: list[ast.stmt]) -> dict[str, str]:
    """The names of ``__all__``."""
    values = [n.value for n in body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__"]
    return {name: "" for value in values for name in ast.literal_eval(value)}


def _dtypes(body: list[ast.stmt]) -> dict[str, str]:
    """The names of the dtypes: the keys of the type that ``dtypes`` of the inspection API returns."""
    kinds = [n.value for n in body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "DataTypes"]
    keys = [d.keys for kind in kinds for d in ast.walk(kind) if isinstance(d, ast.Dict)]
    return {ast.literal_eval(k): "" for k in keys[0] if k is not None}


def _signatures(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _signatures(node.body)
        elif isinstance(node, ast.FunctionDef) and node.name != "__init__":
            given = node.args
            for argument in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs):
                if argument is not None:
                    argument.annotation = None
            attribute = any(ast.unparse(d) == "property" for d in node.decorator_list)
            yield node.name, "" if attribute else f"({ast.unparse(given)})"


if __name__ == "__main__":
    FILE.write_text(json.dumps(record(Path(sys.argv[1])), indent=1) + "\n", encoding="utf-8")
