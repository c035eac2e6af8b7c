"""A backend on another array library, which is a library of some lines: examples/array_api_backend."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Workshop

pytest.importorskip("array_api_strict")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "array_api_backend"


@pytest.fixture(scope="module")
def example(workshops: Callable[[str], Workshop]) -> Workshop:
    made = workshops("backend")
    ignored = shutil.ignore_patterns("generated", "__pycache__", ".cache")
    shutil.copytree(EXAMPLE, made.root / "strictlib", ignore=ignored)
    made.tengen("gen", folder="strictlib")
    return made


def test_it_is_short() -> None:
    files = [p for p in (EXAMPLE / "strictlib").rglob("*") if p.suffix in (".py", ".yaml")]
    own = [p for p in files if "generated" not in p.parts]
    assert sum(len(p.read_text().splitlines()) for p in own) < 50


def test_little_is_generated_for_it(example: Workshop) -> None:
    """A member of a group has the group's Types: only the files that every library has are there."""
    folder = example.root / "strictlib" / "strictlib" / "generated"
    files = [p for p in folder.iterdir() if p.suffix in (".py", ".pyi")]
    assert folder / "strict_types.py" not in files
    assert sum(len(p.read_text().splitlines()) for p in files) < 400


def test_it_computes_and_differentiates(example: Workshop) -> None:
    example.python("""
import tengen, strictlib
given = [[1.0, 2.0], [3.0, 4.0]]
x = tengen.tensor(given, device="strict", requires_grad=True)
y = tengen.tensor(given, requires_grad=True)
assert str(x.device) == "strict" and type(x._array).__module__.startswith("array_api_strict")
def f(x):
    return ((x.sigmoid() * x + 2).exp().log() @ x.tanh()).sum() / tengen.maximum(x, x * x).sum()
f(x).backward()
f(y).backward()
assert tengen.allclose(x.grad.cpu(), y.grad)
assert str(x.grad.device) == "strict"
value, tangent = tengen.func.jvp(tengen.sin, (x.detach(),), (x.detach(),))
assert tengen.allclose(tangent.cpu(), y.detach().cos() * y.detach())
assert (x + 1j).dtype is tengen.complex64
""")


def test_it_writes_in_place(example: Workshop) -> None:
    """Though its arrays have no strides, of which in-place operators ask whether they may write."""
    example.python("""
import tengen, strictlib
def f(m, device):
    leaf = m.arange(6.0, device="cpu").reshape(2, 3).to(device).requires_grad_()
    x = leaf * 1
    x.mul_(2).add_(leaf).sub_(1)
    x += leaf.detach()
    x.sigmoid_()
    y = leaf.detach() * 1
    y.add_(3.0).mul_(0.5)
    z = y * 0
    tengen.add(y, y, out=z)
    version = y._version
    y.neg_()
    assert y._version == version + 1
    (x * z).sum().backward()
    return [t.detach().cpu() for t in (x, y, z, leaf.grad)]
for there, here in zip(f(tengen, "strict"), f(tengen, "cpu"), strict=True):
    assert tengen.allclose(there, here), (there, here)
""")
    program = "x = tengen.ones(2, device='strict')\nx.add_(tengen.ones(3, device='strict'))"
    said = example.raises(f"import tengen, strictlib\n{program}")
    assert "must match the size" in said or "doesn't match the broadcast shape" in said


def test_what_it_lacks_is_an_error(example: Workshop) -> None:
    said = example.raises("import tengen, strictlib\ntengen.ones(2, device='strict').as_strided((1,), (1,))")
    assert "\"as_strided\" not implemented for 'Float' (Strict)" in said
    said = example.raises("import tengen, strictlib\ntengen.ones(2, device='strict') + tengen.ones(2)")
    assert "Expected all tensors to be on the same device" in said


def test_the_device_is_not_there_before(example: Workshop) -> None:
    assert "device type at start of device string: strict" in example.raises(
        "import tengen; tengen.device('strict')"
    )


def test_what_adds_nothing_is_not_generated(example: Workshop) -> None:
    """A library without methods for tengen's own backends has no classes for these."""
    folder = example.root / "strictlib" / "strictlib" / "generated"
    assert not [p.name for p in folder.iterdir() if p.name.startswith(("cpu_", "meta_"))]


OWN_KERNELS = '''
calls = []


def own_sine(xp, self):
    """The sine, and what it was called with."""
    calls.append(("sin", type(self).__module__.partition(".")[0]))
    return xp.sin(self)


def own_sort(xp, self, dim, descending):
    """As the group's, in the other order."""
    from tengen.kernels.array_api.sorting import sort

    calls.append(("sort", type(self).__module__.partition(".")[0]))
    return sort(xp, self, dim, not descending)
'''


def test_a_member_may_have_kernels_of_its_own(workshops: Callable[[str], Workshop]) -> None:
    """Those under its dispatch key go before the group's, also in place, and nowhere else."""
    made = workshops("own_kernels")
    folder = made.root / "strictlib"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("generated", "__pycache__", ".cache"))
    kernels = folder / "strictlib" / "kernels" / "strict"
    kernels.mkdir(parents=True)
    for path in (kernels.parent / "__init__.py", kernels / "__init__.py"):
        path.touch()
    (kernels / "own.py").write_text(OWN_KERNELS)
    own = {"sin": "own_sine(self)", "sort": "own_sort"}
    entries = [f"- name: {name}\n  dispatch: {{Strict: {kernel}}}\n" for name, kernel in own.items()]
    (folder / "strictlib" / "declarations" / "kernels.yaml").write_text("\n".join(entries))
    made.tengen("gen", folder="strictlib")
    assert (folder / "strictlib" / "generated" / "strict_types.py").is_file()
    made.python("""
import tengen, strictlib
from strictlib.kernels.strict.own import calls
x = tengen.tensor([1.0, 3.0, 2.0], device="strict", requires_grad=True)
x.sin().sum().backward()
assert tengen.allclose(x.grad.cpu(), x.detach().cpu().cos())
assert calls == [("sin", "array_api_strict")]
x.detach().clone().sin_()
assert len(calls) == 2
values, places = x.sort()
assert values.tolist() == [3, 2, 1] and places.tolist() == [1, 2, 0] and calls[-1][0] == "sort"
values.backward(tengen.tensor([1.0, 2.0, 3.0], device="strict"))
assert tengen.allclose(x.grad.cpu(), x.detach().cpu().cos() + tengen.tensor([3.0, 1.0, 2.0]))
there = tengen.tensor([1.0, 3.0, 2.0])
there.sin()
assert there.sort().values.tolist() == [1, 2, 3]
assert len(calls) == 3
""")
