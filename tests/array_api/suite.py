"""The test suite of the array API standard, data-apis/array-api-tests, run on ``tengen.array_api``.

    python dev.py array_api [CHECKOUT] [arguments of pytest]

CHECKOUT is a clone of the suite with its submodule; without it one is made in .cache. ARRAY_API_TESTS_MODULE
names another module to test. It takes minutes, and is no part of CI, which holds the signatures.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITE = "https://github.com/data-apis/array-api-tests"
#: What the suite needs besides pytest and hypothesis.
NEEDED = ("pytest-json-report", "ndindex>=1.8")
#: Dtypes of which PyTorch, and so tengen, has no arithmetic: the suite can leave them out.
WITHOUT_ARITHMETIC = "uint16,uint32,uint64"


def checkout(arguments: list[str]) -> Path:
    """The suite's folder: the first argument, taken off, or a clone."""
    if arguments and Path(arguments[0]).is_dir() and (Path(arguments[0]) / "array_api_tests").is_dir():
        return Path(arguments.pop(0)).resolve()
    folder = HERE.parents[1] / ".cache" / "array-api-tests"
    if not folder.exists():
        clone = ["git", "clone", "--quiet", "--depth=1", "--recurse-submodules", "--shallow-submodules"]
        subprocess.run([*clone, SUITE, str(folder)], check=True)
    return folder


def main(arguments: list[str]) -> int:
    """Run the suite; pytest's exit status."""
    folder = checkout(arguments)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *NEEDED], check=True)
    settings = {
        "ARRAY_API_TESTS_MODULE": "tengen.array_api",
        "ARRAY_API_TESTS_SKIP_DTYPES": WITHOUT_ARITHMETIC,
        **os.environ,
    }
    lists = [f"--{name}-file={HERE / name}.txt" for name in ("skips", "xfails")]
    options = ["-q", "-p", "no:cacheprovider", "--disable-deadline", *lists]
    command = [sys.executable, "-m", "pytest", *options, "array_api_tests", *arguments]
    return subprocess.run(command, cwd=folder, env=settings).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
