"""Emit: the files of a backend: its Types, those that record, and its Nodes over arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

from ...ir.accesses import native_kernels
from ...ir.kernels import NativeKernel
from ...ir.lower.kernels import routines_used, row_of, write_routine
from ..check.lowered import Lowered
from ..derive.derived import Derived
from ..model import runtime_names
from ..model.derived import Variant
from ..model.methods import AbsentMethod, Method, TypeClass, type_class
from ..model.names import CATEGORIES
from ..model.nodes import NodeClass
from ..model.operators import Backend, Declarations
from ..model.optimizers import kernels_of
from ..model.source import OutputFile
from ..read.functions import FunctionIndex
from ..read.homes import Homes
from ..specialise.array_nodes import ArrayWriter
from ..specialise.array_results import assignments
from ..specialise.fast_paths import FastPaths, of_apply, of_method
from ..specialise.generic import make_cold_generic
from ..specialise.hoist import ClassNode, hoist, prune, tree
from ..specialise.inplace import InplaceWriter
from ..specialise.native import KERNELS, NativeForms
from ..specialise.recording import recorder
from ..specialise.type_methods import FLAT, Specialiser
from .page import TemplateRenderer, import_lines, lazy_module, lazy_modules
from .scope import Scope


class BackendFiles:
    """Makes the files of one backend."""

    def __init__(
        self,
        declared: Declarations,
        derived: Derived,
        backend: Backend,
        functions: FunctionIndex,
        homes: Homes,
        structures: dict[str, str],
        templates: TemplateRenderer,
        scope: Scope,
        lowered: Lowered,
    ) -> None:
        self.scope = scope
        self.homes = homes
        self.declared = declared
        self.derived = derived
        self.backend = backend
        self.templates = templates
        self.stem = backend.name.lower()
        self.scalars = [s for s in declared.scalar_types if s.name in backend.scalar_types]
        reduced = any(s.is_reduced for s in self.scalars)
        given = (derived, backend, functions, structures, declared.primitives, reduced)
        self.native_forms = self._native_forms(lowered)
        forms = self.native_forms
        self.array_specialiser = Specialiser(*given, native_forms=forms, package=scope.package)
        self.nodes = self._array_nodes()
        names = frozenset(n.name for n in self.nodes)
        self.specialiser = Specialiser(*given, names, forms, scope.package)
        #: What the C machine runs of each module, by the functions' names.
        self.fast_paths = FastPaths()
        #: Whether the classes are mixed into Types that are there: those that add nothing are left out.
        self.mixed_in = backend not in scope.backends
        self.plain: ClassNode | None = self._class_tree(recording=False)
        # A member of a group records what it computes as the group does.
        self.recording: ClassNode | None = None if backend.group else self._class_tree(recording=True)
        if backend.group and not self.specialiser.computed():
            self.plain = None
        if self.mixed_in and not backend.group:
            self._prune()

    def _native_forms(self, lowered: Lowered) -> NativeForms | None:
        if "native_kernels" not in self.backend.capabilities:
            return None
        forms = NativeForms(self.declared.routines, self.declared.primitives, lowered)
        if not self.declared.library:
            forms.kernels.update(self.declared.native_kernels)
            accesses = [o.access for o in self.declared.operators if o.access is not None]
            forms.kernels.update(native_kernels(accesses))
            forms.kernels.update(kernels_of(self.declared.optimizers))
        return forms

    def _prune(self) -> None:
        plain, recording = self.plain, self.recording
        if plain is not None and not prune(plain):
            self.plain = None
        needed = {f"Variable{name}" for name in _names(self.plain)} if self.plain else set()
        if recording is not None:
            needed |= {recording.name} if self.scope.variable_types(self.backend) else set()
            self.recording = recording if prune(recording, needed) else None

    @property
    def modules(self) -> tuple[str, str]:
        """The modules of the plain Types and of those that record; TypeDefault's where there is none."""
        default = f"{self.scope.package}.type_default"
        own = f"{self.scope.package}.{self.stem}"
        return (
            f"{own}_types" if self.plain else default,
            f"{own}_variable_types" if self.recording else default,
        )

    def files(self) -> list[OutputFile]:
        """The Types, the Variable Types, and the Nodes over arrays where the backend has them."""
        files = [self._types(self.plain, recording=False)] if self.plain else []
        files += [self._types(self.recording, recording=True)] if self.recording else []
        files += [self._node_file(self.nodes)] if self.nodes else []
        return [*files, self._kernel_file()] if self._kernels else files

    @property
    def _kernels(self) -> Mapping[str, NativeKernel]:
        """The native kernels, by name."""
        return {} if self.native_forms is None else self.native_forms.kernels

    def _kernel_file(self) -> OutputFile:
        kernels = []
        for name, kernel in sorted(self._kernels.items()):
            inputs, outputs, signature, text = row_of(kernel)
            operands = f"{inputs!r}, {outputs!r}, {signature!r}"
            short = f'"{name}": ({operands}, {text!r}),'
            *before, last = _in_lines(text)
            kernels.append(
                [short] if len(short) <= _ROW else [f'"{name}": ({operands},', *before, f"{last}),"]
            )
        routines = [
            (name, [(scalar, _in_lines(write_routine(p))) for scalar, p in sorted(found.items())])
            for name, found in sorted(routines_used(self._kernels.values(), self.declared.routines).items())
        ]
        return self.templates.page("kernels.py", "kernels.py.jinja", kernels=kernels, routines=routines)

    def _kernel_imports(self) -> list[str]:
        return self.homes.imports(runtime_names.NATIVE_KERNELS) if self._kernels else []

    def _kernel_lines(self) -> list[str]:
        return [f'{KERNELS} = kernels_of("{self.scope.package}.kernels")'] if self._kernels else []

    # -- Types -----------------------------------------------------------------------------

    def _types(self, top: ClassNode, recording: bool) -> OutputFile:
        if recording:
            default = [] if self.plain else ["TypeDefault"]
            plain = set(_names(self.plain)) if self.plain else set()
            classes = _classes(top, [*self.scope.variable_types(self.backend), *default], plain)
        else:
            classes = _classes(top, ["TypeDefault"], leaf_bases=self._group_leaves())
        classes = list(classes)
        stem = f"{self.stem}_{'variable_' if recording else ''}types"
        return self.templates.page(
            f"{stem}.py",
            "types.py.jinja",
            summary=f"The Types of backend {self.backend.name}{' that record' if recording else ''}: "
            "one class for each scalar type, and what they share above them.",
            imports=[
                *self._imports(),
                *(self._recording_imports() if recording else self._plain_imports()),
            ],
            libraries=sorted(self.specialiser.libraries.items()),
            assignments=[*self._kernel_lines(), *assignments(self.specialiser.array_results.used)],
            classes=classes,
            fast_paths=self._note_fast_paths(stem, classes),
        )

    def _note_fast_paths(self, stem: str, classes: Iterable[TypeClass]) -> list[str]:
        """Note the fast paths of methods; the classes that have such."""
        return classes_with_fast_paths(self.fast_paths, stem, classes) if self.has_fast_paths else []

    @property
    def has_fast_paths(self) -> bool:
        """Whether the C machine may run its methods: those of tengen itself over NumPy's arrays."""
        return self.specialiser.arrays and not self.scope.library

    def _class_tree(self, recording: bool) -> ClassNode:
        computed = self.specialiser.computed()
        variants = [v for v in computed if self.scope.has_method(v, self.backend, recording)]
        prefix = ("Variable" if recording else "") + self.backend.name
        branches: dict[str, dict[str, dict[str, Method]]] = {}
        in_place = self._inplace_writer() if recording else None
        for s in self.scalars:
            leaves = branches.setdefault(f"{prefix}{CATEGORIES[s.category]}Type", {})
            methods = leaves[f"{prefix}{s.name}Type"] = self.specialiser.methods(variants, s, recording)
            if in_place is not None:
                methods.update(in_place.methods(s))
        top = tree(f"{prefix}Type", branches)
        hoist(top)
        if not recording:
            hot = {f"{prefix}{s.name}Type" for s in self.scalars if s.category == FLAT}
            # What masks choose is as often of other dtypes.
            make_cold_generic(top, hot, {v.name.method for v in variants if v.operator.masks})
        for v in variants:
            general = self._recorder(v) if recording else AbsentMethod(v.name.method)
            if general is not None:
                top.methods.setdefault(general.name, general)
        return top

    def _recorder(self, variant: Variant) -> Method | None:
        """The recording method of all scalar types, where it is not that of all backends."""
        given = (variant, self.derived, self.specialiser.structures)
        own = recorder(*given, self.backend.name)
        shared = self.scope.records(variant, self.backend) and own == recorder(*given, "")
        return None if shared else own

    def _inplace_writer(self) -> InplaceWriter:
        """What makes the methods that write as they compute."""
        variants = [v for v in self.derived.variants if self.scope.has_method(v, self.backend, True)]
        return InplaceWriter(self.specialiser, self.declared.primitives, variants)

    def _imports(self) -> list[str]:
        return [
            *([f"import {self.backend.namespace} as xp"] if self.backend.namespace else []),
            *self.scope.structure_imports,
            *self.homes.imports(runtime_names.TYPES),
            *_array_class(self.backend),
            *self._kernel_imports(),
            *(self.homes.imports(runtime_names.FAST_PATHS) if self.has_fast_paths else []),
        ]

    def _plain_imports(self) -> list[str]:
        package = self.scope.package_of(self.backend)
        return [
            *self.homes.imports(runtime_names.PLAIN_TYPES),
            f"from {package}.type_default import TypeDefault",
            *self._group_imports(),
            "",
            *lazy_modules(self.specialiser.modules),
        ]

    def _group_leaves(self) -> dict[str, str]:
        """By the leaf of a member's Types that of its group."""
        own, group = self.backend.name, self.backend.group
        return {f"{own}{s.name}Type": f"{group}{s.name}Type" for s in self.scalars} if group else {}

    def _group_imports(self) -> list[str]:
        """The group's classes, from which the leaves derive too."""
        if not self.backend.group:
            return []
        names = ", ".join(self._group_leaves().values())
        module = f"{self.scope.group_package(self.backend)}.{self.backend.group.lower()}_types"
        return [f"from {module} import ({names})"]

    def _recording_imports(self) -> list[str]:
        module, plain = self.modules[0], sorted(_names(self.plain)) if self.plain else ["TypeDefault"]
        path = f"{self.scope.package}.{self.stem}_nodes"
        arrays = [lazy_module("_array_nodes", path)] if self.specialiser.array_nodes else []
        return [
            *self.homes.imports(runtime_names.RECORDING_TYPES),
            *self.scope.variable_types(self.backend).values(),
            f"from {module} import ({', '.join(plain)})",
            "",
            *lazy_modules(self.specialiser.modules),
            *self.scope.node_modules,
            *arrays,
        ]

    # -- Nodes over arrays -------------------------------------------------------------------

    def _array_nodes(self) -> list[NodeClass]:
        if not self.array_specialiser.arrays:
            return []
        kinds = ("functional", "view", "composite")
        operators = [v.operator for v in self.derived.variants if v.kind in kinds]
        scalar = next(s for s in self.scalars if s.category == "floating")
        writer = ArrayWriter(operators, self.array_specialiser, scalar.name)
        own = self.derived.alternatives.get(self.backend.name, {})
        specs = [own.get(name, spec) for name, spec in self.derived.nodes.items()]
        specs = [spec for spec in specs if self.scope.has_node(spec, self.backend)]
        return [made for spec in specs if (made := writer.node(spec)) is not None]

    def _node_file(self, classes: Sequence[NodeClass]) -> OutputFile:
        libraries = sorted(self.array_specialiser.libraries.items())
        lines = [*self._kernel_lines(), *assignments(self.array_specialiser.array_results.used)]
        lines += [f'{short} = LibraryFunction("{module}", "{name}")' for short, (module, name) in libraries]
        applying = [(f"{c.name}.apply", of_apply(c)) for c in classes] if self.has_fast_paths else []
        made = self.fast_paths.note(f"{self.stem}_nodes", applying)
        return self.templates.page(
            f"{self.stem}_nodes.py",
            "nodes.py.jinja",
            summary=f"Nodes over arrays, for the real floating-point Types of backend {self.backend.name}.",
            imports=[
                "from math import prod",
                f"import {self.backend.namespace} as xp",
                *self.scope.node_imports,
                *self.homes.imports(runtime_names.ARRAY_NODES),
                *_array_class(self.backend),
                *import_lines(self.array_specialiser.modules),
                *self._kernel_imports(),
                *(self.homes.imports(runtime_names.FAST_PATHS_OF_CLASSES) if made else []),
                *(["", *lines] if lines else []),
            ],
            classes=classes,
            method="apply",
            fast_paths="apply" if made else "",
        )


def classes_with_fast_paths(to: FastPaths, module: str, classes: Iterable[TypeClass]) -> list[str]:
    """Note the fast paths of the methods of a module's classes; the classes that have such."""
    found = []
    for c in classes:
        made = to.note(module, [(f"{c.name}.{m.name}", of_method(m)) for m in c.methods])
        found += [c.name] if made else []
    return found


#: The longest line that is a kernel, and the longest text in a line of one that has several.
_ROW, _LITERAL = 140, 110


def _in_lines(statements: str) -> list[str]:
    """The text of statements as Python's literals, as many of them in a line as fit."""
    *before, last = statements.split("; ")
    lines = [""]
    for statement in [*[f"{s}; " for s in before], last]:
        if lines[-1] and len(lines[-1]) + len(statement) > _LITERAL:
            lines.append("")
        lines[-1] += statement
    return list(map(repr, lines))


def _array_class(backend: Backend) -> list[str]:
    """Imports of the array class and of the function that makes one of a scalar."""
    if "array_class" not in backend.capabilities:
        return []
    lines = []
    for local, key in (("_array", "array_class"), ("_asarray", "as_array")):
        module, _, name = str(backend.capabilities[key]).rpartition(".")
        lines.append(f"from {module} import {name} as {local}")
    return lines


def _names(node: ClassNode) -> Iterable[str]:
    yield node.name
    for child in node.children:
        yield from _names(child)


def _classes(
    node: ClassNode,
    above: Sequence[str],
    plain: Collection[str] | None = None,
    inherited: Iterable[Method] = (),
    leaf_bases: Mapping[str, str] = MappingProxyType({}),
) -> Iterable[TypeClass]:
    """The class statements of a tree, superclasses first; ``above`` is what the first derives from.

    ``plain`` has the names of the plain classes, which those that record derive from; ``inherited`` the
    methods of the class above in the tree; ``leaf_bases`` has, by leaf, what it derives from too.
    """
    own = node.name.removeprefix("Variable")
    if node.name in leaf_bases:
        above = [*above, leaf_bases[node.name]]
    if plain is None:
        bases = tuple(above)
        doc = "What is the same for" if node.children else "The Type of"
    else:
        bases = (*above, own) if own in plain else tuple(above)
        doc = "Records what happens to" if node.children else "The recording Type of"
    doc = f"{doc} {own.removesuffix('Type')} tensors."
    yield type_class(node.name, bases, node.methods.values(), doc, inherited)
    for child in node.children:
        yield from _classes(child, [node.name], plain, node.methods.values(), leaf_bases)
