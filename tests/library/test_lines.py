"""What is told of a program that uses a library names the program's line, not the library's code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Workshop

BEGINNING = """\
import warnings
import tengen, mylib
ops = tengen.ops.mylib
warnings.simplefilter("always")
x = tengen.tensor([0.2, 0.4], requires_grad=True)
"""
#: Programs whose text is told with the line that ends with "# here".
PROGRAMS = {
    "trace": """
def double(x):
    return ops.smoothstep(x) * 2  # here
print(str(tengen.jit.trace(double, (x,)).graph).replace(" # ", " at "))
""",
    "export": """
def halves(x):
    return ops.moving_average_backward(x, 0.5, 0)  # here
tengen.onnx.export(halves, (x,), "never.onnx")
""",
    "anomaly": """
with tengen.autograd.detect_anomaly():
    y = ops.moving_average(x)  # here
    y.register_hook(lambda grad: grad * float("nan"))
    y.sum().backward()
""",
    "resized": """
out = tengen.empty(1)
ops.smoothstep(x.detach(), out=out)  # here
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_line_is_the_programs(name: str, initial: Workshop) -> None:
    path = initial.root / "program.py"
    text = BEGINNING + PROGRAMS[name]
    path.write_text(text)
    said = initial.run(str(path)).stdout.replace('", line ', ":")
    number = text[: text.index("# here")].count("\n") + 1
    assert f"program.py:{number}" in said, said
    told = [line for line in said.split("\n") if "Traceback (most recent" in line]
    code = said.partition("Traceback (most recent")[0] if told else said
    for folder in ("generated", "kernels", "composite", "formulas"):
        assert f"mylib/{folder}/" not in code, said
