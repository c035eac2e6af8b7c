"""Modules for another library's arrays, where that library is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules[{name!r}] = None  # what makes `import` fail
import tengen
try:
    import tengen.{name}
except ImportError as error:
    print(error)
assert not tengen.ones(2).isnan().any()
"""


@pytest.mark.parametrize("name", ["dask", "jax"])
def test_the_import_says_what_to_install(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(name=name)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert f"it needs the package {name}: pip install tengen[{name}]" in done.stdout
