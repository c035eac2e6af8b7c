"""Render: every generated file of a set of declarations, in memory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from .batching import BatchingWriter
from .bindings import BindingWriter, exported_name, groups
from .derive import derive
from .docs import reference
from .json_schema import schemas
from .kernels import FunctionIndex
from .model import Declarations, Method, OutputFile, TypeClass
from .nodes import NodeWriter
from .page import Press, import_lines, lazy_module
from .rows import operator_row, promotion_table, scalar_type_rows, structure_fields, structures, variable
from .stubs import StubWriter
from .symbolic import imports as rule_imports
from .symbolic import rows as rule_rows
from .type_files import BackendFiles
from .variants import VariantWriter


class Renderer:
    """Makes the files. The order of the methods is that of the runtime's imports."""

    def __init__(self, declared: Declarations, runtime: Path, templates: Path) -> None:
        self.declared = declared
        self.derived = derive(declared)
        self.native = FunctionIndex(runtime / "native")
        self.variadic = FunctionIndex(runtime, "variadic.py")
        self.press = Press(templates)
        self.groups = groups(self.derived.variants)
        self.structures = structures(self.derived.variants)
        self.functions = frozenset(
            name
            for name, g in self.groups.items()
            if any("function" in v.operator.variants for v in g.variants)
        )

    def files(self) -> list[OutputFile]:
        """Every file, sorted by path."""
        made = [
            self.press.page("__init__.py", "init.py.jinja"),
            *self._tables(),
            self._nodes(),
            self._jvps(),
            self._batching(),
            self._type_default(),
            *[f for b in self.declared.backends for f in self._backend(b.name)],
            *self._bindings(),
            *self._modules(),
            *self._stubs(),
            *self._rules(),
            *schemas(self.declared),
            self.press.page(
                "operators.md",
                "operators.md.jinja",
                groups=reference(self.groups, self.declared.derivatives),
            ),
        ]
        return sorted(made, key=lambda f: f.path)

    # -- tables ----------------------------------------------------------------------------

    def _tables(self) -> list[OutputFile]:
        return [
            self._scalar_types(),
            self._promotion(),
            self.press.page("backends.py", "backends.py.jinja", backends=self.declared.backends),
            self._operators(),
            self._places(),
            self.press.page(
                "return_types.py",
                "return_types.py.jinja",
                structures=sorted(structure_fields(self.derived.variants, self.structures).items()),
            ),
        ]

    def _scalar_types(self) -> OutputFile:
        scalars = self.declared.scalar_types
        rows = scalar_type_rows(scalars)
        aliases = [(variable(a), variable(s.dtype)) for s in scalars for a in s.aliases]
        names = sorted([r["variable"] for r in rows] + [a for a, _ in aliases])
        return self.press.page(
            "scalar_types.py", "scalar_types.py.jinja", scalars=rows, aliases=aliases, names=names
        )

    def _promotion(self) -> OutputFile:
        table = promotion_table(self.declared.scalar_types)
        order = [s.dtype for s in self.declared.scalar_types]
        rows = [(a, [table[a, b] for b in order]) for a in order]
        return self.press.page("promotion.py", "promotion.py.jinja", order=order, table=rows)

    def _operators(self) -> OutputFile:
        variants = self.derived.variants
        overloads = [(n, tuple(str(v.name) for v in (*g.variants, *g.outs))) for n, g in self.groups.items()]
        return self.press.page(
            "operators.py",
            "operators.py.jinja",
            rows=sorted((str(v.name), operator_row(v)) for v in variants),
            overloads=sorted(overloads),
            methods=sorted((v.name.method, str(v.name)) for v in variants),
        )

    def _places(self) -> OutputFile:
        nodes = self.derived.all_nodes()
        return self.press.page(
            "places.py",
            "places.py.jinja",
            operators=sorted(
                (str(v.name), v.operator.place.file, str(v.base or v.name)) for v in self.derived.variants
            ),
            nodes=sorted((n.name, str(n.operator.name), n.place.file) for n in nodes),
        )

    # -- derivatives -----------------------------------------------------------------------

    def _nodes(self) -> OutputFile:
        writer = NodeWriter(self.functions)
        classes = [writer.node(n) for n in self.derived.all_nodes()]
        imports = [
            "import tengen.generated.functions as F",
            "from tengen.autograd.node import Node, SavesResults",
            "from tengen.autograd.saved_variable import FREED, unpack_result, unpack_tensor",
            "from tengen.node_support import graph_is_kept, materialize, not_implemented, spread",
            "from tengen.node_support import unpack_tensors",
            "from tengen.size import Size",
            *import_lines(writer.modules),
        ]
        return self.press.page(
            "nodes.py",
            "nodes.py.jinja",
            summary="Every derivative's Node over Tensors: differentiable, and the same for every Type.",
            imports=imports,
            classes=classes,
            method="apply_graph",
            arrays=False,
        )

    def _jvps(self) -> OutputFile:
        writer = NodeWriter(self.functions)
        functions = [
            asdict(writer.jvp(spec, self.derived.nodes.get(name))) | {"operator": name}
            for name, spec in self.derived.jvps.items()
        ]
        imports = [
            "import tengen.generated.functions as F",
            "from tengen.node_support import zero_tangent",
            "from tengen.operator import operator",
            *import_lines(writer.modules),
        ]
        return self.press.page("jvps.py", "jvps.py.jinja", functions=functions, imports=imports)

    def _batching(self) -> OutputFile:
        writer = BatchingWriter(self.functions)
        rows = writer.rows(self.derived.variants)
        imports = [
            "import tengen.generated.functions as F",
            "from tengen.func import batching_table as rules",
            *import_lines(writer.modules),
        ]
        return self.press.page(
            "batching.py", "batching.py.jinja", rows=rows, functions=writer.made, imports=imports
        )

    # -- Types -----------------------------------------------------------------------------

    def _type_default(self) -> OutputFile:
        writer = VariantWriter(self.derived, self.structures, self.functions)
        found = {m.name: m for v in self.derived.variants for m in writer.methods(v)}
        for name in (v.name for v in self.derived.variants):
            found.setdefault(name.method, Method(name.method, str(name), "", "", "absent", ""))
        methods = [found[name] for name in sorted(found)]
        doc = "What no backend computes itself: composites, in-place and out variants."
        return self.press.page(
            "type_default.py",
            "types.py.jinja",
            backend="any",
            recording=False,
            imports=[
                "import tengen.generated.functions as F",
                "from tengen.autograd.edge import gradient_edge",
                "from tengen.autograd.grad_mode import grad_mode",
                "from tengen.autograd.variable_type_utils import run_inplace, run_out",
                "from tengen.generated import return_types",
                "from tengen.node_support import LazyModule, not_differentiable, record_composite, versions",
                "from tengen.node_support import run_not_implemented",
                "from tengen.operator import operator",
                "from tengen.tensor import Tensor",
                "from tengen.type import Absent, Type",
                *import_lines(writer.modules),
                "",
                lazy_module("_nodes", "nodes"),
            ],
            libraries=[],
            classes=[TypeClass("TypeDefault", ("Type",), tuple(methods), doc)],
            scalars=False,
        )

    def _backend(self, name: str) -> list[OutputFile]:
        backend = next(b for b in self.declared.backends if b.name == name)
        return BackendFiles(
            self.declared, self.derived, backend, self.native, self.structures, self.press
        ).files()

    # -- bindings --------------------------------------------------------------------------

    def _bindings(self) -> list[OutputFile]:
        writer = BindingWriter(self.groups, self.structures)
        common = ["from tengen.generated import return_types", "from tengen.interception import active"]
        words = "from tengen.words import MISSING, worded"
        return [
            self.press.page(
                "tensor_methods.py",
                "bindings.py.jinja",
                summary="The methods of Tensor.",
                imports=[*common, "from tengen.tensor_base import TensorBase", words],
                bindings=sorted(writer.methods(), key=lambda b: b.name),
                class_name="TensorMethods",
                special=writer.special_methods(),
                names=[],
            ),
            self.press.page(
                "functions.py",
                "bindings.py.jinja",
                summary="The operators as functions.",
                imports=[
                    *common,
                    "from tengen.operator import call, make, one_type",
                    "from tengen.tensor import Tensor",
                    words,
                ],
                bindings=sorted(writer.functions(), key=lambda b: b.name),
                class_name="",
                special=[],
                names=self._top_level(),
            ),
        ]

    def _top_level(self) -> list[str]:
        """The functions of ``tengen`` itself, less those that ``tengen.variadic`` has."""
        plain = {n for n in self.functions if self.groups[n].python_module is None and not n.startswith("_")}
        return sorted(plain.difference(self.variadic.functions))

    def _modules(self) -> list[OutputFile]:
        """``nn_functions.py`` and the like: functions under the names of their submodule."""
        modules: dict[str, list[tuple[str, str]]] = {}
        for name in self.functions:
            group = self.groups[name]
            if group.python_module is not None:
                modules.setdefault(group.python_module, []).append((name, exported_name(group)))
        return [
            self.press.page(
                f"{module}_functions.py",
                "module.py.jinja",
                summary=f"The functions of tengen.{module}.",
                exports=sorted(exports),
            )
            for module, exports in sorted(modules.items())
        ]

    def _rules(self) -> list[OutputFile]:
        """How operators are written elsewhere, for who asks: one table for each purpose."""
        variants = self.derived.variants
        return [
            self.press.page(
                "symbolics.py",
                "rules.py.jinja",
                summary="How each operator is written as ONNX.",
                imports=["from tengen.onnx.builder import onnx", *rule_imports(variants, "tengen.onnx")],
                table="SYMBOLICS",
                rows=rule_rows(variants),
            ),
            self.press.page(
                "write_backs.py",
                "rules.py.jinja",
                summary="Of each view operator: the tensor after a write to the view, made without writing.",
                imports=rule_imports(variants, "tengen", written=True),
                table="WRITE_BACKS",
                rows=rule_rows(variants, written=True),
            ),
        ]

    def _stubs(self) -> list[OutputFile]:
        writer = StubWriter(self.groups, self.structures)
        return [
            self.press.page(
                "functions.pyi",
                "stubs.pyi.jinja",
                summary="The operators as functions.",
                stubs=sorted(writer.functions(), key=lambda s: s.name),
                class_name="",
                names=self._top_level(),
            ),
            self.press.page(
                "tensor_methods.pyi",
                "stubs.pyi.jinja",
                summary="The methods of Tensor.",
                stubs=sorted(writer.methods(), key=lambda s: s.name),
                class_name="TensorMethods",
                names=[],
            ),
            self.press.page(
                "return_types.pyi",
                "return_types.pyi.jinja",
                structures=sorted(structure_fields(self.derived.variants, self.structures).items()),
            ),
        ]
