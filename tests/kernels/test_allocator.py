"""Arrays come from memory that arrays before them left."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import tengen
x = tengen.ones(1 << 20, requires_grad=True)
def run():
    (x.sigmoid() * x.tanh() + x.exp()).sum().backward()
    x.grad = None
for _ in range(5):
    run()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    run()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the thresholds are glibc's")
def test_pages_are_not_given_back_between_operators():
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    command = [sys.executable, "-c", PROGRAM]
    faults = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    pages_of_one_array = (4 << 20) // 4096
    assert int(faults) < pages_of_one_array  # 20 runs of a dozen arrays each
