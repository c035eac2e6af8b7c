"""Generating runs no code of the declarations: SECURITY.md promises it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_texts_that_are_code_are_errors_or_texts(tmp_path: Path) -> None:
    """Each kind of text at each place of an entry; ``hostile_declarations.py`` watches the process."""
    script = Path(__file__).with_name("hostile_declarations.py")
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "copies")], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert "files generated" in run.stdout and not (tmp_path / "hostile_mark").exists()
