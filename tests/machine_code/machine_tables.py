"""A table of kernels whose IR stands here, so that what becomes of IR is tested without the lowering.

``python machine_tables.py PROGRAM`` runs a program in a process of its own with ``kernels`` of this table.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tengen.machine_code import lowering
from tengen.machine_code.tables import Kernel, Table

NAME = "machine_tables"
KERNELS = {
    "double_and_add": (("x", "y"), ("z",), "", "z = x + x + y"),
    "total": (("x[n]",), ("y",), "(n)->()", "y = sum(x)"),
    "_pick": (("x", "k:int64"), ("y",), "", "y = x * to_float(k)"),
}
ROUTINES: dict[str, dict[str, str]] = {}

LOOP = """
define i32 @kernel(ptr %context, ptr %args, ptr %dims, ptr %steps, ptr %data) {{
entry:
  %n = load i64, ptr %dims
{operands}
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%next, %end]
{addresses}
{body}
end:
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i32 0
}}
"""
BODIES = {
    "double_and_add": """
  %x = load {t}, ptr %at0
  %y = load {t}, ptr %at1
  %w = fadd {t} %x, %x
  %z = fadd {t} %w, %y
  store {t} %z, ptr %at2
  br label %end""",
    "_pick": """
  %x = load {t}, ptr %at0
  %k = load i64, ptr %at1
  %f = sitofp i64 %k to {t}
  %y = fmul {t} %x, %f
  store {t} %y, ptr %at2
  br label %end""",
    "total": """
  %length_at = getelementptr i64, ptr %dims, i64 1
  %length = load i64, ptr %length_at
  %inner_at = getelementptr i64, ptr %steps, i64 2
  %inner = load i64, ptr %inner_at
  br label %test
test:
  %j = phi i64 [0, %loop], [%following, %row]
  %sum = phi {t} [0.0, %loop], [%grown, %row]
  %in = icmp slt i64 %j, %length
  br i1 %in, label %row, label %out
row:
  %far = mul i64 %j, %inner
  %at = getelementptr i8, ptr %at0, i64 %far
  %v = load {t}, ptr %at
  %grown = fadd {t} %sum, %v
  %following = add i64 %j, 1
  br label %test
out:
  store {t} %sum, ptr %at1
  br label %end""",
}


def ir(table: Table, kernel: Kernel, scalar: str) -> str:
    """A loop over strided operands, element by element. Forms for reduced types do nothing."""
    operands, addresses = [], []
    for i in range(len(kernel.inputs) + len(kernel.outputs)):
        for what, of, kind in (("base", "args", "ptr"), ("step", "steps", "i64")):
            operands.append(f"  %{what}_at{i} = getelementptr {kind}, ptr %{of}, i64 {i}")
            operands.append(f"  %{what}{i} = load {kind}, ptr %{what}_at{i}")
        addresses.append(f"  %far{i} = mul i64 %i, %step{i}")
        addresses.append(f"  %at{i} = getelementptr i8, ptr %base{i}, i64 %far{i}")
    body = BODIES.get(kernel.name, "  br label %end").format(
        t={"float32": "float", "float64": "double"}[scalar]
    )
    return LOOP.format(operands="\n".join(operands), addresses="\n".join(addresses), body=body)


def use_this_ir() -> None:
    """In place of the lowering's."""
    lowering.ir = ir  # type: ignore[assignment]


PREFIX = """
import sys
import numpy as np
from tengen.machine_code import Kernels, lowering
import machine_tables
machine_tables.use_this_ir()
kernels = Kernels("machine_tables")
x = np.arange(4, dtype="float32")
def right(u):
    return u is not None and np.array_equal(u(x, np.float32(1)), x * 2 + 1)
"""


def start(program: str, **environment: str) -> subprocess.Popen[str]:
    """A process that runs a program with ``kernels``, ``x`` and ``right``."""
    path = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
    inherited = {name: value for name, value in os.environ.items() if name != "TENGEN_NATIVE"}
    return subprocess.Popen(
        [sys.executable, "-c", PREFIX + program],
        env={**inherited, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(program: str, **environment: str) -> str:
    """What such a process prints. It must end well."""
    process = start(program, **environment)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip()
