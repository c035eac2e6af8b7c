"""``tengen init``: the library that it makes works, in every respect, as it is."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Workshop


def test_its_own_tests_pass(initial: Workshop) -> None:
    done = initial.run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=initial.root / "mylib")
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout


def test_generated_is_up_to_date(initial: Workshop) -> None:
    said = initial.tengen("gen", "--check", folder="mylib")
    assert {line.split()[0] for line in said.splitlines()} == {"same"}


def test_nothing_is_overwritten(initial: Workshop) -> None:
    path = initial.root / "mylib" / "README.md"
    before = path.read_text()
    assert "is there already; nothing was written" in initial.fails("init", "mylib")
    assert path.read_text() == before


@pytest.mark.parametrize("name", ["my-lib", "class", "tengen", "_lib", "a__b", "1st", ""])
def test_names_that_cannot_be(workshop: Workshop, name: str) -> None:
    assert f'"{name}" cannot name a library' in workshop.fails("init", name)
    assert not list(workshop.root.iterdir())


def test_path(workshop: Workshop) -> None:
    workshop.tengen("init", "mylib", "--path", "somewhere")
    assert (workshop.root / "somewhere" / "mylib" / "generated" / "functions.pyi").is_file()
    assert (workshop.root / "somewhere" / ".github" / "workflows" / "ci.yml").is_file()


def test_commands_work_in_the_library(workshop: Workshop) -> None:
    workshop.tengen("init", "mylib")
    said = workshop.tengen("explain", "smoothstep", folder="mylib")
    assert "mylib/declarations/native_functions.yaml:" in said and "MylibSmoothstepBackward0" in said
    assert "mylib/generated/functions.py:" in said
    said = workshop.tengen("explain", "moving_average", folder="mylib")
    assert "moving_average: mylib/kernels/filters.py:" in said
    workshop.tengen("new", "halved(Tensor self) -> Tensor", "--kernel", "self / 2", folder="mylib")
    workshop.tengen("fmt", folder="mylib")
    workshop.tengen("gen", folder="mylib")
    program = "import tengen, mylib; print(tengen.ops.mylib.halved(tengen.ones(2)))"
    assert workshop.python(program) == "tensor([0.5000, 0.5000])\n"


def test_another_folder_may_be_named(initial: Workshop) -> None:
    initial.tengen("gen", "--check", "--library", "mylib")
    assert "is no library" in initial.fails("gen", "--library", ".")


@pytest.mark.parametrize("backend", ["cpu", "meta"])
def test_each_class_adds_something(initial: Workshop, backend: str) -> None:
    """A method, the word that it lacks one, or a class more above it than its mother has."""
    for kind in ("types", "variable_types"):
        module = next(initial.root.glob(f"*/*/generated/{backend}_{kind}.py"))
        classes = [n for n in ast.parse(module.read_text()).body if isinstance(n, ast.ClassDef)]
        mothers = {ast.unparse(base) for c in classes for base in c.bases}
        assert classes
        for c in classes:
            own = [n for n in c.body if isinstance(n, ast.FunctionDef)]
            assert own or c.decorator_list or len(c.bases) > 1 or c.name in mothers, c.name


# -- with a backend --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def backend(workshops: Callable[[str], Workshop]) -> Workshop:
    """A library as ``init --backend`` makes it."""
    pytest.importorskip("array_api_strict")
    made = workshops("init_backend")
    said = made.tengen("init", "mybackend", "--backend", "array_api_strict")
    assert "wrote the library mybackend to mybackend/" in said
    return made


def test_the_tests_of_a_backend_pass(backend: Workshop) -> None:
    """A few of its operators here; on this array library tests/backends runs all."""
    some = "test_the_library or mul or sort or softmax or conv2d or as_strided"
    done = backend.run(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", some, cwd=backend.root / "mybackend"
    )
    assert done.returncode == 0 and " passed" in done.stdout and " skipped" in done.stdout, done.stdout


def test_a_backend_is_declared_as_the_formatter_writes_it(backend: Workshop) -> None:
    backend.tengen("fmt", "--check", folder="mybackend")
    said = backend.tengen("gen", "--check", folder="mybackend")
    assert {line.split()[0] for line in said.splitlines()} == {"same"}


def test_the_readme_of_a_backend_says_what_is(backend: Workshop) -> None:
    readme = backend.root / "mybackend" / "README.md"
    backend.python(f"import doctest; assert not doctest.testfile({str(readme)!r}, False).failed")


@pytest.mark.parametrize("module", ["array-lib", "", "a..b", "class", "a.1"])
def test_modules_that_cannot_be(workshop: Workshop, module: str) -> None:
    assert f'"{module}" cannot be an array library' in workshop.fails("init", "mylib", "--backend", module)
    assert not list(workshop.root.iterdir())


def test_a_device_that_is_taken_leaves_nothing(workshop: Workshop) -> None:
    (workshop.root / "mylib").mkdir()
    (workshop.root / "mylib" / "notes.txt").touch()
    said = workshop.fails("init", "mylib", "--backend", "dask")
    assert 'the device "dask" is that of the backend Dask' in said
    assert [p.name for p in workshop.root.rglob("*")] == ["mylib", "notes.txt"]
