"""Generation time for each operator, against torchgen where it is installed.

    python benchmarks/generation.py

Both are whole processes that write all of their output into an empty folder: there is nothing that an
earlier run left, neither output nor the generator's note that nothing has changed.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path

from harness import processes_in_turn, python, row

from tengen.codegen.derive.derived import derive
from tengen.codegen.gen import declarations_dir, runtime_dir
from tengen.codegen.pipeline import load

TORCHGEN = """
import os
import sys
from pathlib import Path
import torchgen
from torchgen.gen import main
packaged = Path(torchgen.__file__).parent / "packaged" / "ATen"
os.makedirs(sys.argv[1])
os.chdir(sys.argv[1])  # where it also leaves files that it was not told to
sys.argv = ["gen", "-s", str(packaged), "-d", sys.argv[1], "--per-operator-headers"]
main()
"""


def seconds_per_operator(rounds: int = 3) -> dict[str, float]:
    """The time of both generators, or of ours alone, divided by the operators of each."""
    counts, commands = {"tengen": len(derive(load(declarations_dir(), runtime_dir())).variants)}, {}
    declared = torchgen_declarations()
    with tempfile.TemporaryDirectory() as scratch:
        output = f"{scratch}/output/generated"
        if declared is not None:
            text = declared.read_text(encoding="utf-8")
            counts["torchgen"] = text.count("\n- func:") + text.startswith("- func:")
            commands["torchgen"] = [*python(TORCHGEN), output]
        commands["tengen"] = [sys.executable, "-m", "tengen.codegen.gen", "--output", output]
        seconds = processes_in_turn(commands, rounds, lambda: _empty(Path(output).parent))
    return {n: t / counts[n] for n, t in seconds.items()}


def _empty(folder: Path) -> None:
    """An empty folder: the generator keeps its note beside its output."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def torchgen_declarations() -> Path | None:
    """The operators that torchgen generates from; None where it, or they, are not installed."""
    spec = importlib.util.find_spec("torchgen")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0], "packaged", "ATen", "native", "native_functions.yaml")
    return path if path.exists() else None


def main() -> None:
    """Print the time for each operator of both generators."""
    print(row("generation, per operator", seconds_per_operator(), "torchgen"))


if __name__ == "__main__":
    main()
