"""Emit: every generated file of a set of declarations, in memory."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..check.lowered import Lowered
from ..derive.derived import derive
from ..model import runtime_names
from ..model.groups import Group, exported_name, groups
from ..model.methods import AbsentMethod, Method, type_class
from ..model.names import NUMPY_NAMES, TENSOR_OPTIONS
from ..model.operators import Backend, Declarations
from ..model.source import OutputFile
from ..read.functions import FunctionIndex
from ..read.homes import Homes
from ..read.libraries import Library, index
from ..specialise.batching import BatchingWriter
from ..specialise.binding import Binding
from ..specialise.bindings import BindingWriter
from ..specialise.default_methods import VariantWriter
from ..specialise.fast_paths import FastPaths, grouped, of_binding, of_release
from ..specialise.nodes import NodeWriter
from ..specialise.recording import recorder
from ..specialise.rows import (
    COLUMNS,
    autocast_rows,
    operator_row,
    promotion_table,
    scalar_type_rows,
    structure_rows,
    structures,
    tag_rows,
    variable,
)
from ..specialise.rules import imports as rule_imports, rows as rule_rows
from ..specialise.updates import update_rows
from .docs import reference
from .docstrings import DocstringWriter
from .forms import form_files
from .json_schema import schemas
from .modules import module_files
from .page import HEADER, TemplateRenderer, import_lines, lazy_modules
from .scope import TENGEN, VARIABLE_TYPE, Scope, function_names
from .stubs import StubWriter
from .type_files import BackendFiles, classes_with_fast_paths
from .write import sealed

#: The module of the functions that are no names of ``tengen`` itself.
REST = "internal_functions"


class Renderer:
    """Makes the files. The order of the methods is that of the runtime's imports."""

    def __init__(
        self,
        declared: Declarations,
        runtime: Path,
        templates: Path,
        library: Library | None = None,
        lowered: set[str] | None = None,
    ) -> None:
        """``lowered`` is what is known of machine code, as ``Lowered`` has it."""
        self.declared = declared
        self.lowered = Lowered(declared.routines, set() if lowered is None else lowered)
        self.derived = derive(declared)
        self.homes = Homes(runtime)
        self.kernel_functions = index(runtime, "kernels", library)
        self.variadic = FunctionIndex(runtime, "functional.py")
        self.templates = TemplateRenderer(templates)
        package = TENGEN if library is None else f"{library.package}.generated"
        self.scope = Scope(declared, self.derived, package)
        self.groups = groups(self.scope.variants)
        self.structures = structures(self.derived.variants)
        self.docstrings = DocstringWriter(StubWriter(self.groups, self.structures), declared.scalar_types)
        others = {name: f"F.{name}" for name in function_names(groups(self.scope.others))}
        own = {name: f"{self.scope.functions}.{name}" for name in function_names(self.groups)}
        #: What the C machine runs of each module, by the functions' names.
        self.fast_paths = FastPaths()
        #: What generated code calls the function of each operator.
        self.functions = others | own

    def files(self) -> list[OutputFile]:
        """Every file, sorted by path."""
        found = self._files()
        found += self._fast_paths() if self.fast_paths.found else []
        return sorted(found, key=lambda f: f.path)

    def _fast_paths(self) -> list[OutputFile]:
        """By module each fast path, with the functions that it is for; ``@`` is the function's own name.

        And the functions that have none, with the reason: that a change loses a fast path is seen there.
        """
        found = {module: grouped(of) for module, of in sorted(self.fast_paths.found.items())}
        without = dict(sorted(self.fast_paths.without.items()))
        return [_functions("fast_paths.json", found), _functions("without_fast_paths.json", without)]

    def _files(self) -> list[OutputFile]:
        return [
            self.templates.page("__init__.py", "init.py.jinja"),
            *self._tables(),
            self._nodes(),
            self._jvps(),
            self._batching(),
            self._type_default(),
            *self._variable_type(),
            *[f for b in self.declared.backends for f in self._backend_files(b)],
            *self._bindings(),
            *self._modules(),
            *self._stubs(),
            *self._rules(),
            *module_files(self.templates, self.declared.modules),
            *self._optimizers(),
            *schemas(self.declared),
            self.templates.page(
                "operators.md",
                "operators.md.jinja",
                groups=reference(self.groups, self.declared.derivatives),
            ),
        ]

    # -- tables ----------------------------------------------------------------------------

    def _tables(self) -> list[OutputFile]:
        return [
            self._scalar_types(),
            self._promotion(),
            self._backends(),
            self._operators(),
            self._places(),
            self._tags(),
            self._return_types(),
            *form_files(self.templates, self.scope, self.kernel_functions),
        ]

    def _backends(self) -> OutputFile:
        return self.templates.page(
            "backends.py",
            "backends.py.jinja",
            backends=[self._backend_row(b) for b in self.scope.backends if not b.is_group],
            opens=self.scope.opens,
        )

    def _backend_row(self, backend: Backend) -> dict[str, Any]:
        """Where a backend's Types are: of a member those of the group, and its own where it has kernels."""
        own = f"{self.scope.package}.{backend.name.lower()}"
        types = own
        if backend.group:
            types = f"{self.scope.group_package(backend)}.{backend.group.lower()}"
        return {
            "backend": backend,
            "types": f"{types}_types",
            "variable_types": f"{types}_variable_types",
            "own": f"{own}_types" if backend.group and self._backend(backend).plain else "",
        }

    def _return_types(self) -> OutputFile:
        rows = structure_rows(self.scope.variants, self.structures)
        return self.templates.page("return_types.py", "return_types.py.jinja", structures=rows)

    def _scalar_types(self) -> OutputFile:
        scalars = self.declared.scalar_types
        rows = scalar_type_rows(scalars)
        aliases = [(variable(a), variable(s.dtype)) for s in scalars for a in s.aliases]
        names = sorted([r["variable"] for r in rows] + [a for a, _ in aliases])
        return self.templates.page(
            "scalar_types.py", "scalar_types.py.jinja", scalars=rows, aliases=aliases, names=names
        )

    def _promotion(self) -> OutputFile:
        table = promotion_table(self.declared.scalar_types)
        order = [s.dtype for s in self.declared.scalar_types]
        rows = [(a, [table[a, b] for b in order]) for a in order]
        return self.templates.page("promotion.py", "promotion.py.jinja", order=order, table=rows)

    def _operators(self) -> OutputFile:
        variants = self.scope.variants
        overloads = [
            (g.called, tuple(str(v.name) for v in (*g.variants, *g.outs))) for g in self.groups.values()
        ]
        return self.templates.page(
            "operators.py",
            "operators.py.jinja",
            rows=sorted((str(v.name), operator_row(v)) for v in variants),
            columns=[(name, type_, textwrap.wrap(doc, 105)) for name, type_, doc in COLUMNS],
            overloads=sorted(overloads),
            autocast=sorted(autocast_rows(variants)),
            deprecated=sorted((g.called, orders) for g in self.groups.values() if (orders := g.deprecated)),
            opens=self.scope.opens,
            options=TENSOR_OPTIONS,
            numpy_names=[(theirs, name) for name, found in NUMPY_NAMES.items() for theirs in found],
        )

    def _places(self) -> OutputFile:
        nodes = self.scope.nodes
        declared = {str(v.name) for v in self.scope.variants if v.base is None}
        operators = [v.operator for v in self.scope.variants]
        return self.templates.page(
            "places.py",
            "places.py.jinja",
            operators=sorted(
                (str(v.name), v.operator.place.file)
                for v in self.scope.variants
                if v.base is None or str(v.base) not in declared
            ),
            nodes=sorted((n.name, str(n.operator.name), n.place.file) for n in nodes),
            public=sorted({(o.name.function, o.public) for o in operators if o.public}),
            opens=self.scope.opens,
        )

    def _tags(self) -> OutputFile:
        return self.templates.page("tags.py", "tags.py.jinja", rows=sorted(tag_rows(self.scope.variants)))

    # -- derivatives -----------------------------------------------------------------------

    def _nodes(self) -> OutputFile:
        writer = NodeWriter(self.functions, self.declared.operators)
        classes = [writer.node(n) for n in self.scope.nodes]
        releasing = [] if self.scope.library else [(f"{c.name}.release", of_release(c)) for c in classes]
        made = self.fast_paths.note("nodes", releasing)
        imports = [
            *self.scope.function_imports,
            *self.homes.imports(runtime_names.NODES),
            *import_lines(writer.modules),
            *(self.homes.imports(runtime_names.FAST_PATHS_OF_CLASSES) if made else []),
        ]
        return self.templates.page(
            "nodes.py",
            "nodes.py.jinja",
            summary="Every derivative's Node over Tensors: differentiable, and the same for every Type.",
            imports=imports,
            classes=classes,
            method="apply_graph",
            fast_paths="release" if made else "",
        )

    def _jvps(self) -> OutputFile:
        writer = NodeWriter(self.functions, self.declared.operators)
        functions = {n: writer.jvp(s, self.derived.nodes.get(n)) for n, s in self.scope.jvps.items()}
        imports = [
            *self.scope.function_imports,
            *self.homes.imports(runtime_names.JVPS),
            *import_lines(writer.modules),
        ]
        return self.templates.page(
            "jvps.py",
            "jvps.py.jinja",
            functions=functions,
            imports=imports,
            opens=self.scope.opens,
        )

    def _batching(self) -> OutputFile:
        writer = BatchingWriter(self.functions)
        rows = writer.rows(self.scope.variants)
        imports = [
            *self.scope.function_imports,
            "from tengen.func import batching_table as rules",
            *import_lines(writer.modules),
        ]
        return self.templates.page(
            "batching.py",
            "batching.py.jinja",
            rows=rows,
            functions=writer.made,
            imports=imports,
            opens=self.scope.opens,
        )

    # -- Types -----------------------------------------------------------------------------

    def _type_default(self) -> OutputFile:
        writer = VariantWriter(self.derived, self.structures, self.functions)
        found: dict[str, Method] = {m.name: m for v in self.scope.of_type_default for m in writer.methods(v)}
        for name in (v.name for v in self.scope.variants):
            found.setdefault(name.method, AbsentMethod(name.method))
        doc = "What no backend computes itself: composites, in-place and out variants."
        classes = [type_class("TypeDefault", self.scope.root, found.values(), doc)]
        return self.templates.page(
            "type_default.py",
            "types.py.jinja",
            summary="What the Types of all backends share.",
            imports=[
                *self.scope.function_imports,
                *self.scope.structure_imports,
                *self.homes.imports(runtime_names.TYPE_DEFAULT),
                *([] if self.scope.library else self.homes.imports(runtime_names.FAST_PATHS)),
                "",
                *lazy_modules(writer.modules),
                *self.scope.node_modules,
            ],
            libraries=[],
            assignments=[],
            classes=classes,
            fast_paths=[]
            if self.scope.library
            else classes_with_fast_paths(self.fast_paths, "type_default", classes),
        )

    def _variable_type(self) -> list[OutputFile]:
        given = (self.derived, self.structures, "")
        found = [m for v in self.scope.of_variable_type if (m := recorder(v, *given)) is not None]
        if not found:
            return []
        doc = (
            "Calls the plain method, which stands below it among a Type's bases, and records what that gave."
        )
        return [
            self.templates.page(
                "variable_types.py",
                "types.py.jinja",
                summary="What the Types that record share, whatever their backend.",
                imports=[
                    *self.scope.structure_imports,
                    *self.homes.imports(runtime_names.VARIABLE_TYPE),
                    "",
                    *self.scope.node_modules,
                ],
                libraries=[],
                assignments=[],
                classes=[type_class(VARIABLE_TYPE, (), found, doc)],
                fast_paths=[],
            )
        ]

    def _backend_files(self, backend: Backend) -> list[OutputFile]:
        made = self._backend(backend)
        files = made.files()
        self.fast_paths.update(made.fast_paths)
        return files

    def _backend(self, backend: Backend) -> BackendFiles:
        return BackendFiles(
            self.declared,
            self.derived,
            backend,
            self.kernel_functions,
            self.homes,
            self.structures,
            self.templates,
            self.scope,
            self.lowered,
        )

    # -- bindings --------------------------------------------------------------------------

    def _bindings(self) -> list[OutputFile]:
        writer = BindingWriter(self.groups, self.structures)
        common = self._binding_imports()
        return [self._methods(writer, common), *self._functions(writer, common)]

    def _binding_imports(self) -> list[str]:
        fast_paths = () if self.scope.library else runtime_names.FAST_PATHS_OF_BINDINGS
        return self.homes.imports(runtime_names.BINDINGS, fast_paths)

    def _documented(self, bindings: Iterable[Binding], docstring: Callable[[Group], str]) -> list[Binding]:
        """The bindings by name, each with its docstring; Python's special methods have none."""
        made = [
            replace(b, doc=docstring(self.groups[b.name])) if b.name in self.groups else b for b in bindings
        ]
        return sorted(made, key=lambda b: b.name)

    def _methods(self, writer: BindingWriter, common: list[str]) -> OutputFile:
        bindings = self._documented(writer.methods(), self.docstrings.method)
        return self.templates.page(
            "tensor_methods.py",
            "bindings.py.jinja",
            fast_paths=self._note_fast_paths("tensor_methods", bindings, "TensorMethods"),
            structure_imports=self.scope.structure_imports,
            summary="The methods of Tensor.",
            imports=[
                *common,
                *self.homes.imports(runtime_names.METHODS),
            ],
            bindings=bindings,
            class_name="TensorMethods",
            special=writer.special_methods(),
            names=[],
            rest="",
        )

    def _functions(self, writer: BindingWriter, common: list[str]) -> list[OutputFile]:
        """The functions of ``tengen`` itself, and the others, which load when they are asked for."""
        made = self._documented(writer.functions(), self.docstrings.function)
        names = self._top_level()
        listed = set(names)
        first = [b for b in made if b.name in listed]
        others = [b for b in made if b.name not in listed]
        return [
            self._function_page("functions.py", common, first, "The operators as functions.", names, REST),
            self._function_page(f"{REST}.py", common, others, "The functions that ``tengen`` has not."),
        ]

    def _function_page(
        self,
        file: str,
        common: list[str],
        bindings: list[Binding],
        summary: str,
        names: Iterable[str] = (),
        rest: str = "",
    ) -> OutputFile:
        return self.templates.page(
            file,
            "bindings.py.jinja",
            fast_paths=self._note_fast_paths(file.removesuffix(".py"), bindings),
            structure_imports=self.scope.structure_imports,
            summary=summary,
            imports=[
                *common,
                *self.homes.imports(runtime_names.FUNCTIONS),
            ],
            bindings=bindings,
            class_name="",
            special=[],
            names=names,
            rest=rest,
        )

    def _note_fast_paths(self, module: str, bindings: Iterable[Binding], owner: str = "") -> str:
        """Note the fast paths of bindings; what has them as attributes, if the C machine is to run them."""
        if self.scope.library:
            return ""
        prefix = f"{owner}." if owner else ""
        self.fast_paths.note(module, [(f"{prefix}{b.name}", of_binding(b)) for b in bindings])
        return owner or "globals()"

    def _top_level(self) -> list[str]:
        """The functions of ``tengen`` itself, less those that ``tengen.functional`` has."""
        names = function_names(self.groups)
        plain = {n for n in names if self.groups[n].python_module is None and not n.startswith("_")}
        if self.scope.library:  # all of a library's operators are in tengen.ops
            return sorted(plain)
        plain.difference_update(self.variadic.functions)
        return sorted(n for n in plain if not self.groups[n].is_internal)

    def _modules(self) -> list[OutputFile]:
        """``nn_functions.py`` and the like: functions under the names of their submodule."""
        modules: dict[str, list[tuple[str, str]]] = {}
        for name in function_names(self.groups):
            group = self.groups[name]
            if group.python_module is not None and not group.is_internal:
                modules.setdefault(group.python_module, []).append((name, exported_name(group)))
        return [
            self.templates.page(
                f"{module}_functions.py",
                "module.py.jinja",
                summary=f"The functions of tengen.{module}.",
                exports=[(f"{f} as {name}" if name != f else f, name) for f, name in sorted(exports)],
            )
            for module, exports in sorted(modules.items())
        ]

    def _rules(self) -> list[OutputFile]:
        """How operators are written elsewhere, for who asks: one table for each purpose."""
        variants = self.scope.variants
        homes = self.scope.homes(self.functions)
        return [
            self.templates.page(
                "symbolics.py",
                "rules.py.jinja",
                summary="How each operator is written as ONNX.",
                imports=[
                    *self.homes.imports(runtime_names.SYMBOLICS),
                    *rule_imports(variants, "tengen.onnx", homes, "symbolic"),
                ],
                table="SYMBOLICS",
                module="symbolics",
                opens=self.scope.opens,
                rows=rule_rows(variants, "symbolic"),
            ),
            self.templates.page(
                "write_backs.py",
                "rules.py.jinja",
                summary="Of each view operator: the tensor after a write to the view, made without writing.",
                imports=rule_imports(variants, "tengen", homes, "write_back"),
                table="WRITE_BACKS",
                module="write_backs",
                opens=self.scope.opens,
                rows=rule_rows(variants, "write_back"),
            ),
            self.templates.page(
                "flops.py",
                "rules.py.jinja",
                summary="How many operations on floating-point numbers a call of an operator counts as.",
                imports=rule_imports(variants, "tengen", homes, "flops"),
                table="FLOPS",
                module="flops",
                opens=self.scope.opens,
                rows=rule_rows(variants, "flops"),
            ),
        ]

    def _optimizers(self) -> list[OutputFile]:
        updates = self.declared.optimizers
        rows = update_rows(updates, self.declared.primitives)
        own = not self.scope.library and updates
        return [self.templates.page("optimizers.py", "optimizers.py.jinja", updates=rows)] if own else []

    def _stubs(self) -> list[OutputFile]:
        writer = StubWriter(self.groups, self.structures)
        return [
            self._function_stubs(writer),
            self.templates.page(
                "tensor_methods.pyi",
                "stubs.pyi.jinja",
                summary="The methods of Tensor.",
                stubs=sorted(writer.methods(), key=lambda s: s.name),
                class_name="TensorMethods",
                imports=self.scope.structure_imports,
                names=[],
            ),
            self.templates.page(
                "return_types.pyi",
                "return_types.pyi.jinja",
                structures=structure_rows(self.derived.variants, self.structures),
            ),
        ]

    def _function_stubs(self, writer: StubWriter) -> OutputFile:
        return self.templates.page(
            "functions.pyi",
            "stubs.pyi.jinja",
            summary="The operators as functions.",
            stubs=sorted(writer.functions(), key=lambda s: s.name),
            class_name="",
            imports=self.scope.structure_imports,
            names=self._top_level(),
        )


def _functions(path: str, modules: Mapping[str, Mapping[str, Sequence[str]]]) -> OutputFile:
    """A file that has functions by module and by what is said of them."""
    written = {
        module: {said: " ".join(names) for said, names in of.items()} for module, of in modules.items()
    }
    return OutputFile(path, sealed(json.dumps({"$comment": HEADER, **written}, indent=0) + "\n"))
