"""Import time: ``import tengen`` and a first tensor, against ``import numpy``.

Both are whole processes, so the interpreter's own start is in both figures; the last line
takes it away.
"""

from __future__ import annotations

from harness import processes_in_turn, python, row


def main() -> None:
    """Print the ratio, and the milliseconds that tengen adds to NumPy."""
    found = processes_in_turn(
        {
            "python": python("pass"),
            "numpy": python("import numpy; numpy.ones(1)"),
            "tengen": python("import tengen; tengen.ones(1)"),
        },
        rounds=15,
    )
    print(row("import and a first array", found, "numpy"))
    print(f"tengen adds {1e3 * (found['tengen'] - found['numpy']):.0f} ms to NumPy's import")


if __name__ == "__main__":
    main()
