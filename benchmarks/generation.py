"""Generation time for each operator, whole process and cold, against torchgen where installed."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

from harness import processes_in_turn, row

from tengen.codegen.derive import derive
from tengen.codegen.gen import declarations_dir, runtime_dir
from tengen.codegen.load import load

TORCHGEN = """
import os
import sys
from pathlib import Path
import torchgen
from torchgen.gen import main
packaged = Path(torchgen.__file__).parent / "packaged" / "ATen"
os.makedirs(sys.argv[1], exist_ok=True)  # where it also leaves files that it was not told to
os.chdir(sys.argv[1])
sys.argv = ["gen", "-s", str(packaged), "-d", sys.argv[1], "--per-operator-headers"]
main()
"""


def seconds_per_operator() -> dict[str, float]:
    """The time of both generators, or of ours alone, divided by the operators of each."""
    declared = load(declarations_dir(), runtime_dir())
    ours = len(derive(declared).variants)
    commands, counts = {}, {"tengen": ours}
    with tempfile.TemporaryDirectory() as scratch:
        spec = importlib.util.find_spec("torchgen")
        if spec is not None and spec.submodule_search_locations:
            packaged = Path(spec.submodule_search_locations[0]) / "packaged" / "ATen" / "native"
            text = (packaged / "native_functions.yaml").read_text(encoding="utf-8")
            counts["torchgen"] = text.count("\n- func:") + text.startswith("- func:")
            commands["torchgen"] = [sys.executable, "-c", TORCHGEN, f"{scratch}/torchgen"]
        commands["tengen"] = [sys.executable, "-m", "tengen.codegen.gen", "--output", f"{scratch}/tengen"]
        seconds = processes_in_turn(commands, rounds=3)
    return {n: t / counts[n] for n, t in seconds.items()}


def main() -> None:
    """Print the time for each operator of both generators."""
    print(row("generation, per operator", seconds_per_operator(), "torchgen"))


if __name__ == "__main__":
    main()
