"""Who may import whom, and who may name what: the rules that keep the parts apart.
    ir/                 nothing but itself
    codegen/            ir/, and nothing of the runtime, of what is generated, or of NumPy
    runtime/kernels/     arrays only: no Tensor, no autograd, no Type
    runtime/autograd/   no operator: they reach it as Nodes only
    generated/          nothing of codegen/
    runtime/            nothing that stands on a higher floor (FLOORS)
    import tengen       no yaml, jinja2, scipy or llvmlite
And no Python file lists backends or operators: what they are is said in the declarations alone.
"""

from __future__ import annotations

import ast
import builtins
import functools
import operator
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import pytest
from private_names import PRIVATE_THERE
from syntax_trees import absolute, imported, modules, nodes, tree

from tengen.codegen.derive.derived import derive
from tengen.codegen.emit.files import Renderer
from tengen.codegen.gen import runtime_dir, templates_dir
from tengen.codegen.model.operators import Declarations
from tengen.testing.declared import declarations

PROJECT = Path(__file__).resolve().parent.parent


# -- imports -------------------------------------------------------------------------------


def below(name: str, packages: tuple[str, ...]) -> bool:
    """Whether a name is one of the packages or in one."""
    return any(name == p or name.startswith(f"{p}.") for p in packages)


def offenders(folder: str, allowed: tuple[str, ...], forbidden: tuple[str, ...]) -> list[str]:
    """What a folder's modules import that is forbidden and not allowed."""
    return [
        f"{path.relative_to(PROJECT)} imports {name}"
        for path in modules(folder)
        for name in imported(path)
        if below(name, forbidden) and not below(name, allowed)
    ]


def test_the_generator_knows_nothing_of_arrays() -> None:
    forbidden = ("tengen", "numpy", "scipy", "ml_dtypes", "torch")
    assert not offenders("ir", ("tengen.ir",), forbidden)
    assert not offenders("codegen", ("tengen.codegen", "tengen.ir"), forbidden)


#: What ir/ has, each part of those before it.
IR = (
    "expressions",
    "reader",
    "writer",
    "statements",
    "types",
    "kernels",
    "routines",
    "scans",
    "stages",
    "bodies",
    "moves",
    "body_calls",
    "contractions",
    "views",
    "accesses",
    "factories",
    "windows",
    "lower",
    "fuse",
)
#: The packages of codegen/ in the order in which they run, then the modules that call them.
STAGES = (
    *("model", "read", "parse", "check", "derive", "specialise", "emit"),
    *("stored", "pipeline", "loaded", "outcome", "gen", "native", "cli", "commands"),
)


@pytest.mark.parametrize(("folder", "stages"), [("ir", IR), ("codegen", STAGES)])
def test_no_stage_of_the_generator_imports_a_later_one(folder: str, stages: tuple[str, ...]) -> None:
    """Not even inside a function. The command line names commands without importing them."""
    floors = {f"tengen.{folder}.{stage}": number for number, stage in enumerate(stages)}
    found = []
    for path in modules(folder):
        own = path.relative_to(PROJECT / folder).with_suffix("").parts[0]
        if own == "__init__":
            continue
        for name in imported(path):
            stage = ".".join(name.split(".")[:3])
            if floors.get(stage, 0) > stages.index(own):
                found.append(f"{path.relative_to(PROJECT)} imports {name}")
    assert not found


def test_no_stage_changes_what_another_made() -> None:
    """What is declared and what is derived of it are the same when all files have been made of them."""
    declared = declarations()
    renderer = Renderer(declared, runtime_dir(), templates_dir())
    before = repr(declared), repr(renderer.derived)
    renderer.files()
    assert (repr(declared), repr(renderer.derived)) == before


def test_what_stages_hand_on_is_frozen() -> None:
    """Save for the report, which collects the mistakes of a run."""
    found = [
        f"{path.relative_to(PROJECT)}: {node.name}"
        for path in (*(PROJECT / "ir").glob("*.py"), *modules("codegen/model"))
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
        for d in node.decorator_list
        if ast.unparse(d).startswith("dataclass") and "frozen=True" not in ast.unparse(d)
    ]
    assert found == ["codegen/model/diagnostics.py: Report"]


@pytest.mark.parametrize(("function", "modules_of"), [("ast.parse", {"reader"}), ("ast.unparse", set())])
def test_text_is_read_and_written_in_one_module_each(function: str, modules_of: set[str]) -> None:
    """Python's trees are read in one module; text is written of the IR, and by no other tree."""
    found = {
        str(path.relative_to(PROJECT))
        for path in (*modules("ir"), *modules("codegen"))
        for node in nodes(path)
        if isinstance(node, ast.Attribute | ast.ImportFrom) and _names(node, function)
    }
    assert found == {f"ir/{module}.py" for module in modules_of}


def _names(node: ast.Attribute | ast.ImportFrom, function: str) -> bool:
    """Whether a function of a module is used, or imported."""
    if isinstance(node, ast.Attribute):
        return ast.unparse(node) == function
    return function in [f"{node.module}.{alias.name}" for alias in node.names]


#: The floors of runtime/, the lowest first: packages, and modules that stand elsewhere than their package.
FLOORS: tuple[tuple[str, ...], ...] = (
    (
        "core",
        "fast_paths",
        "utils.pytree",
        "utils.pytree_paths",
        "utils.pytree_text",
        "generating",
        "version",
        "cpu",
        "distributed",
        "multiprocessing",
    ),
    ("kernels", "machine_code", "settings"),
    ("autograd",),
    ("dispatch",),
    ("tensors", "random", "serialization", "storage", "types", "__config__"),
    ("composite", "formulas", "functional", "func.batched", "nested.lists"),
    ("autograd.forward", "autograd.forward_ad", "autograd.function"),
    ("func",),
    (
        "autograd.__init__",
        "autograd.gradcheck",
        "autograd.profiler",
        "autograd.profiler_util",
        "autograd.functional",
        "func.functional",
    ),
    (
        "library",
        "custom_operators",
        "ops",
        "array_api",
        "array_libraries",
        "distributions",
        "eigensolvers",
        "fft",
        "linalg",
        "masked",
        "quasirandom",
        "signal",
        "sparse",
        "special",
        "nested",
        "nn",
        "optim",
        "jit",
        "onnx",
    ),
    (
        "amp",
        "compilation",
        "compiler",
        "cpu.amp",
        "utils",
        "profiler",
        "cuda",
        "dask",
        "jax",
        "accelerator",
        "backends",
        "hub",
        "mps",
        "xpu",
    ),
    (
        "__init__",
        "namespace",
        "overrides",
        "as_torch",
        "torch_functorch",
        "torch_homes",
        "torch_imports",
        "torch_internals",
        "torch_private",
    ),
    ("testing", "custom_operators.checks", "__main__"),
)
LARGEST_RING = 12  # the most modules that may import each other in a ring


@functools.cache
def runtime_imports(for_types: bool = False) -> dict[str, frozenset[str]]:
    """For each module of runtime/, below its name there, the modules of runtime/ that it imports."""
    names = {module_name(path): path for path in modules("runtime")}
    return {name: frozenset(_modules_named(names, imported(path, for_types))) for name, path in names.items()}


def module_name(path: Path) -> str:
    """``autograd.node``; a package is ``autograd.__init__``."""
    return ".".join(path.relative_to(PROJECT / "runtime").with_suffix("").parts)


def _modules_named(names: Collection[str], found: Iterable[str]) -> Iterator[str]:
    """The modules that imported names are, or are names of."""
    for full in found:
        package, _, below_it = full.partition(".")
        if package == "tengen" and not below_it.startswith(("generated", "codegen", "ir")):
            for name in (below_it, below_it.rpartition(".")[0]):
                known = [m for m in (name, f"{name}.__init__".lstrip(".")) if m in names]
                if known:
                    yield known[0]
                    break


def floor(name: str) -> int:
    """The floor of a module: that of the longest prefix which has one."""
    floors = {prefix: number for number, prefixes in enumerate(FLOORS) for prefix in prefixes}
    while name not in floors:
        assert "." in name, f"{name} has no floor"
        name = name.rpartition(".")[0]
    return floors[name]


def test_nothing_in_the_runtime_imports_upward() -> None:
    """Not even inside a function or for type checkers: Layers, what registers itself, Protocols of core/."""
    found = [
        f"{name} (floor {floor(name)}) imports {other} (floor {floor(other)})"
        for name, others in runtime_imports(for_types=True).items()
        for other in others
        if floor(other) > floor(name)
    ]
    assert not found


def test_every_module_has_a_floor() -> None:
    for name in runtime_imports():
        floor(name)


def test_every_floor_is_one() -> None:
    """Each name in the table is a package or module, and something below it is imported from above."""
    known = set(runtime_imports())
    for prefix in (p for prefixes in FLOORS for p in prefixes):
        assert prefix in known or f"{prefix}.__init__" in known, prefix


def test_rings_of_modules_are_small() -> None:
    rings = [ring for ring in strongly_connected(runtime_imports()) if len(ring) > LARGEST_RING]
    assert not rings


def strongly_connected(edges: Mapping[str, Collection[str]]) -> list[set[str]]:
    """The sets of nodes that reach each other (Kosaraju's algorithm)."""
    order: list[str] = []
    seen: set[str] = set()
    for root in edges:
        waiting = [] if root in seen else [(root, iter(edges[root]))]
        seen.add(root)
        while waiting:
            node, rest = waiting[-1]
            following = next((n for n in rest if n not in seen), None)
            if following is None:
                order.append(node)
                waiting.pop()
            else:
                seen.add(following)
                waiting.append((following, iter(edges[following])))
    backward: dict[str, set[str]] = {node: set() for node in edges}
    for node, others in edges.items():
        for other in others:
            backward[other].add(node)
    found: list[set[str]] = []
    placed: set[str] = set()
    for root in reversed(order):
        group, stack = set[str](), [root]
        while stack:
            node = stack.pop()
            if node not in placed:
                placed.add(node)
                group.add(node)
                stack += backward[node]
        if group:
            found.append(group)
    return found


def test_rings_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set[str]()}
    assert sorted(map(sorted, strongly_connected(edges))) == [["a", "b", "c"], ["d"]]


def test_imports_inside_the_runtime_are_relative() -> None:
    """So that editors find their way in the folder. What uses tengen as programs do need not."""
    found = [
        f"{path.relative_to(PROJECT)}:{node.lineno}"
        for path in modules("runtime")
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom)
        and not node.level
        and below(node.module or "", ("tengen",))
        and not below(node.module or "", ("tengen.generated", "tengen.codegen", "tengen.ir"))
    ]
    assert not found


def private_names(path: Path, parsed: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Names with an underscore that a module of runtime/ takes from another one of the runtime's."""
    known = {f"tengen.{name.removesuffix('.__init__')}" for name in runtime_imports()}
    others: dict[str, str] = {}
    for node in parsed:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            full = f"{absolute(path, node)}.{alias.name}"  # type: ignore[arg-type]
            if full in known:
                others[alias.asname or alias.name] = full
            elif full.rpartition(".")[0] in known and is_private(alias.name):
                yield node.lineno, alias.name
    for node in parsed:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and is_private(node.attr):
            owner = others.get(node.value.id)
            if owner is not None and f"{owner}.{node.attr}" not in known:
                yield node.lineno, node.attr


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_no_module_uses_the_private_names_of_another() -> None:
    found = [
        f"{path.relative_to(PROJECT)}:{line} {name}"
        for path in modules("runtime")
        for line, name in private_names(path, nodes(path))
        if name not in PRIVATE_THERE
    ]
    assert not found


def test_private_names_are_found() -> None:
    """Imported ones, and those that stand behind the name of a module; not attributes of anything else."""
    text = "from ..views import _pieces\nfrom ..nn import pooling as host\nhost._places\nother._mask"
    path = PROJECT / "runtime" / "kernels" / "array_api" / "windows.py"
    assert list(private_names(path, list(ast.walk(ast.parse(text))))) == [(1, "_pieces"), (3, "_places")]


#: What kernels share with higher floors; the last is the line of a program to warn of.
_CORE = ("costs", "memory_format", "numbers", "sym_int", "user_stack")
NOT_OF_TENSORS = tuple(f"tengen.core.{name}" for name in _CORE)


@pytest.mark.parametrize("folder", ["runtime", "codegen", "ir", "tests"])
def test_no_file_is_long(folder: str) -> None:
    """A file has one subject: what has more than 600 lines has two."""
    lengths = {str(p.relative_to(PROJECT)): len(p.read_bytes().splitlines()) for p in modules(folder)}
    assert not {name: count for name, count in lengths.items() if count > 600}


def test_every_package_is_installed() -> None:
    """What setuptools puts into a wheel is listed: a package that is not works in a clone alone."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = {name: PROJECT / path for name, path in settings["package-dir"].items()}
    found = {
        ".".join((name, *init.parent.relative_to(folder).parts))
        for name, folder in folders.items()
        for init in folder.rglob("__init__.py")
    }
    assert set(settings["packages"]) == found


#: The one way from a kernel to its IR. It is imported where an object has to be compiled that is not on disk.
LOWERING = "runtime/machine_code/lowering.py imports tengen.ir.lower."


def test_kernels_see_arrays_only() -> None:
    allowed = ("tengen.kernels", "tengen.machine_code", "tengen.fast_paths", *NOT_OF_TENSORS)
    found = offenders("runtime/kernels", allowed, ("tengen",))
    assert not [f for f in found if not f.startswith(LOWERING)]


def test_autograd_names_no_operator() -> None:
    """But forward/, which computes with tangents by operators; strides are numbers, and so is new memory."""
    core = ("autograd", "core", "func", "kernels.layout", "kernels.uninitialized")
    core += ("dispatch.operator", "dispatch.legacy_type_dispatch", "fast_paths")
    found = offenders("runtime/autograd", tuple(f"tengen.{name}" for name in core), ("tengen",))
    assert not [f for f in found if not f.startswith("runtime/autograd/forward/")]


def test_generated_code_does_without_the_generator() -> None:
    assert not offenders("generated", (), ("tengen.codegen", "tengen.templates", "yaml", "jinja2"))


def test_the_runtime_does_without_the_generator() -> None:
    """But for what tests operators by their declarations, which is no part of what users run; and one more.

    Schemas that users write at run time are in the language of the declarations, which has one parser.
    """
    found = offenders("runtime", (), ("tengen.codegen", "tengen.templates", "yaml", "jinja2"))
    grammar = "runtime/custom_operators/schemas.py imports tengen.codegen."
    allowed = (f"{grammar}model.schema", f"{grammar}parse.schema.")
    found = [f for f in found if not f.startswith(allowed)]
    command = "runtime/__main__.py imports tengen.codegen.cli."  # it is the generator's
    assert not [f for f in found if not f.startswith(("runtime/testing/", command))]


def test_relative_imports_are_understood() -> None:
    """The rules above would hold of anything if they did not see what is imported."""
    known = set(imported(PROJECT / "codegen" / "parse" / "schema.py"))
    assert "tengen.codegen.model.schema.Schema" in known
    assert "tengen.tensors.tensor.Tensor" in set(imported(PROJECT / "generated" / "cpu_types.py"))
    assert offenders("generated", (), ("tengen.kernels",))


def test_importing_tengen_loads_nothing_that_is_needed_later() -> None:
    program = "import sys, tengen; tengen.ones(2) + 1; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    late = ("yaml", "jinja2", "scipy", "torch", "llvmlite", "tengen.codegen", "tengen.ir")
    late += ("tengen.generated.meta_types",)
    assert not [name for name in loaded.stdout.split() if below(name, late)]


# -- names ---------------------------------------------------------------------------------

#: What operators are called that Python has words for: special methods, builtins, methods of its types.
PYTHON = {
    name.strip("_")
    for owner in (builtins, operator, bool, int, float, complex, str, list, dict, set)
    for name in dir(owner)
}


@functools.cache
def declared() -> Declarations:
    return declarations()


@functools.cache
def operator_names() -> frozenset[str]:
    """The names of all operators, with and without the overload, save Python's own words."""
    variants = derive(declared()).variants
    names = {name for v in variants for name in (str(v.name), v.name.function, v.name.base)}
    return frozenset(names - PYTHON)


def strings(path: Path) -> Iterator[tuple[ast.Constant, str]]:
    """The string constants of a module that are no docstrings, and the definitions that each is in."""
    waiting: list[tuple[ast.AST, str]] = [(tree(path), "")]
    while waiting:
        node, names = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, names
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names += f"_{node.name}"
        waiting += [(child, names) for child in ast.iter_child_nodes(node)]


#: The packages of runtime/ that belong to single operators and backends.
KERNELS = ("composite", "formulas", "kernels", "machine_code")


def core() -> list[Path]:
    """The generator, and the runtime without what belongs to single operators and backends."""
    of_operators = [PROJECT / "runtime" / name for name in KERNELS]
    found = [path for folder in ("codegen", "ir", "runtime") for path in modules(folder)]
    return [path for path in found if not any(path.is_relative_to(folder) for folder in of_operators)]


def test_nothing_names_a_backend() -> None:
    """But for the likes of ``Tensor.cpu`` and ``save_on_cpu``: PyTorch's names have a device in them."""
    backends = {word for b in declared().backends for word in (b.name, b.device)}
    named = [
        f"{path.relative_to(PROJECT)}:{node.lineno} {node.value!r}"
        for path in core()
        for node, names in strings(path)
        if node.value in backends and str(node.value) not in names.split("_")
    ]
    assert not [n for n in named if not n.startswith(EXCUSED)]


#: The dispatch keys of PyTorch's own file, which is read too; what PyTorch has as defaults and in a warning.
EXCUSED = (
    "codegen/check/derivatives.py",
    "runtime/__init__.py",
    "runtime/accelerator.py",
    "runtime/amp/",
    "runtime/autograd/profiler/__init__.py",
    "runtime/autograd/saved_variable_hooks.py",
    "runtime/backends/",
    "runtime/cpu/amp.py",
    "runtime/cuda/",
    "runtime/dispatch/autocast",
    "runtime/nn/utils/init.py",
    "runtime/utils/_foreach_utils.py",
)


def test_nothing_lists_operators() -> None:
    """No list, set, tuple or dict has the names of three operators."""
    found = []
    for path in core():
        for node in nodes(path):
            items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
            values = {item.value for item in items if isinstance(item, ast.Constant)}
            listed = sorted(values & operator_names())
            if len(listed) >= 3:
                found.append(f"{path.relative_to(PROJECT)}:{node.lineno} {listed}")
    assert not found


#: Calls in autograd that look like an operator's and are none, of what is no Tensor; and those of
#: ``save_on_cpu`` and ``allow_mutation_on_saved_tensors``, which do what a user's hook would do.
OTHERS = {
    "math.prod",
    "memory.view",
    "random.random",
    "random.uniform",
    "self.clone",
    "layer.linear",
    "map.adjoint",
    "tensor.detach",
    "tensor.to",
    "packed[1].to",
}


def test_autograd_calls_no_operator() -> None:
    """The engine moves arrays: it calls the backend's library, and no method of Tensor that is declared."""
    found = []
    for path in modules("runtime/autograd"):
        if path.parent.name == "forward":
            continue
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner, called = ast.unparse(node.func.value), ast.unparse(node.func)
                known = node.func.attr in operator_names() and called not in OTHERS
                if known and owner.rpartition(".")[2] != "lib" and owner.partition(".")[0] != "np":
                    found.append(f"{path.relative_to(PROJECT)}:{node.lineno} {called}")
    assert not found
