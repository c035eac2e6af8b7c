"""Where tests have references: functions that declarations name, and that kernels are compared with."""

from __future__ import annotations

from pathlib import Path


def reference_files(tests: Path) -> list[Path]:
    """The modules of a folder of tests that have some: ``references*.py``, and all in ``references/``."""
    return sorted([*tests.glob("references*.py"), *tests.glob("references/*.py")])


def has_references(path: Path, tests: Path) -> bool:
    """Whether a file is such a module, or was one that is not there any more."""
    beside = path.parent == tests and path.name.startswith("references")
    return path.suffix == ".py" and (beside or path.parent == tests / "references")
