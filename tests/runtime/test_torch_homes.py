"""Under ``as_torch`` what PyTorch has by a name says ``torch...`` as its module, and is pickled by that."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[1] / "names" / "recorded.json"
#: Prints, of the public names of classes and functions, the modules, and what is not right.
WALK = """
import importlib, json, pickle, sys, types
import tengen
stand_in = tengen.as_torch()
import torch

kinds = (type, types.FunctionType, type(torch.abs))
found, seen = {}, {}
for place, names in json.load(open(sys.argv[1])).items():
    try:
        module = importlib.import_module(f"torch.{place}" if place else "torch")
    except ModuleNotFoundError:
        continue
    for name in names:
        value = getattr(module, name, None)
        if isinstance(value, kinds) and "Absent" not in type(value).__name__:
            where = f"{place}.{name}".lstrip(".")
            found[where] = value.__module__, type(value).__name__
            seen[where] = value
unpickled = []
for where, value in seen.items():
    if value.__module__.startswith("torch") and type(value).__name__ == "WithFastPath":
        if pickle.loads(pickle.dumps(value)) is not value:
            unpickled.append(where)
stand_in.undo()
after = [where for where, value in seen.items() if value.__module__.startswith("torch")]
print(json.dumps([found, unpickled, after]))
"""


def walk() -> Any:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WALK, RECORDED], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_public_names_say_torch_and_are_pickled_by_it() -> None:
    found, unpickled, after = walk()
    assert [where for where, (module, _) in found.items() if module.startswith("tengen")] == []
    assert unpickled == [] and after == []
    places = {
        "abs": "torch",
        "Generator": "torch",
        "UntypedStorage": "torch.storage",
        "linalg.LinAlgError": "torch.linalg",
        "nn.functional.softmax": "torch.nn.functional",
        "special.digamma": "torch._VF",
        "utils.checkpoint.get_device_states": "torch.utils.checkpoint",
        "use_deterministic_algorithms": "torch",
        "library.register_kernel": "torch.library",
        "FloatTensor": "torch",
        "cuda.HalfStorage": "torch.cuda",
        "sparse.LongTensor": "torch.sparse",
        "nn.functional.grouped_mm": "torch.nn.functional",
        "futures.collect_all": "torch.futures",
    }
    assert {where: found[where][0] for where in places} == places
    assert len(found) > 1000
