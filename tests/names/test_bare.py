"""With nothing installed but what a wheel asks for each public name is there, or says what to install."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: What packages are imported as, where that is not their own name, and what they bring themselves.
IMPORTED = {"pyyaml": ("yaml", "_yaml"), "jinja2": ("jinja2", "markupsafe")}

WALK = """
import sys, importlib.abc, importlib.metadata
hidden = set(importlib.metadata.packages_distributions()) - set(sys.argv[1].split(","))

class Bare(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Bare())
import importlib, inspect, json, pkgutil, pydoc, warnings
import tengen, tengen.onnx
warnings.simplefilter("ignore")
members = dict(inspect.getmembers(tengen))
assert "sum" in members and "onnx" in members
pages = [len(pydoc.render_doc(place)) for place in (tengen, tengen.nn, tengen.onnx, tengen.Tensor)]
wrong, seen, found = [], set(), 0

def walk(module):
    global found
    if module.__name__ in seen:
        return
    seen.add(module.__name__)
    for name in sorted({*dir(module), *getattr(module, "__all__", ())}):
        if name.startswith("_"):
            continue
        found += 1
        try:
            value = getattr(module, name)
        except Exception as error:
            wrong.append((f"{module.__name__}.{name}", str(error)))
            continue
        if inspect.ismodule(value) and value.__name__.startswith("tengen."):
            walk(value)

walk(tengen)
#: Parts of what is public: whoever needs the library imports the whole.
inner = ("kernels", "machine_code", "array_libraries", "onnx", "generated")
inner = tuple([f"tengen.{name}." for name in inner])
for module in pkgutil.walk_packages(tengen.__path__, "tengen.", onerror=lambda name: None):
    if "._" not in module.name and not module.name.startswith(inner):
        try:
            importlib.import_module(module.name)
        except Exception as error:
            wrong.append((module.name, str(error)))
for call in ("tengen.onnx.export(tengen.sin, tengen.ones(2))", "tengen.ones(2, device='dask')"):
    try:
        eval(call)
        wrong.append((call, "no error"))
    except Exception as error:
        wrong.append((call, str(error)))
print(json.dumps({"found": found, "pages": pages, "wrong": wrong}))
"""


def of_the_wheel() -> set[str]:
    """What the packages are imported as that a wheel asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [re.split(r"[^\w-]", each)[0].lower() for each in project["dependencies"]]
    return {"tengen", *(module for name in names for module in IMPORTED.get(name, (name,)))}


def test_every_public_name() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WALK, ",".join(sorted(of_the_wheel()))], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["found"] > 3_000 and all(page > 500 for page in answer["pages"])
    unexplained = [each for each in answer["wrong"] if "pip install" not in each[1]]
    assert not unexplained, unexplained
    assert {"tengen.jax", "tengen.dask"} <= {name for name, _ in answer["wrong"]}
