"""Import time: ``import tengen``, and with it a first tensor, against NumPy's.

    python benchmarks/import_time.py

All are whole processes, timed by the processor; what an empty one takes is taken away.
"""

from __future__ import annotations

from collections.abc import Iterable

from harness import processes_in_turn, python, row


def seconds(libraries: Iterable[str], first_tensor: bool = False, rounds: int = 15) -> dict[str, float]:
    """The seconds of importing each library, and of a first array of it, less those of an empty process."""
    commands = {"python": python("pass")}
    for name in libraries:
        commands[name] = python(f"import {name}" + f"; {name}.ones(1)" * first_tensor)
    found = processes_in_turn(commands, rounds)
    return {name: t - found["python"] for name, t in found.items() if name != "python"}


def main() -> None:
    """Print the ratios, and the milliseconds that tengen adds to NumPy."""
    for first_tensor in (False, True):
        found = seconds(("numpy", "tengen"), first_tensor)
        print(row("import and a first array" if first_tensor else "import", found, "numpy"))
        print(f"tengen adds {1e3 * (found['tengen'] - found['numpy']):.0f} ms to NumPy's")


if __name__ == "__main__":
    main()
