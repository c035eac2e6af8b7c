"""Files with mistakes in them. ``mutated.py`` says what is done, and tries as many as one wants."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

#: 20,000 take half a minute: python tests/files/mutated.py --count 20000 --seed N
COUNT = 3000


def test_mutated_files_load_data_or_raise_the_documented_error(tmp_path: Path) -> None:
    """In a process of its own, which a crash would end and which has a limit for its memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    command = [sys.executable, str(Path(__file__).with_name("mutated.py")), "--count", str(COUNT)]
    run = subprocess.run(
        [*command, "--keep", str(tmp_path / "mutated.bin")],
        preexec_fn=limit,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each thread takes addresses
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{COUNT} files of seed 0: " in run.stdout
