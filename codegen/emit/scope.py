"""What a run generates: everything of tengen, or what a library adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..derive.derived import Derived
from ..model.derived import JvpSpec, NodeSpec, Variant
from ..model.groups import Group
from ..model.names import EXPLICIT
from ..model.operators import Backend, Declarations
from .page import lazy_module

#: The package of tengen's own generated code.
TENGEN = "tengen.generated"
#: What a library's generated code calls its own functions, Nodes and named tuples; tengen's are F, _nodes
#: and return_types there too.
FUNCTIONS, NODES, STRUCTURES = "L", "_library_nodes", "library_types"
#: The class of the recording methods that all backends have alike.
VARIABLE_TYPE = "VariableType"


def function_names(found: Mapping[str, Group]) -> list[str]:
    """The groups that are functions, and not methods alone."""
    return [n for n, g in found.items() if any("function" in v.operator.variants for v in g.variants)]


class Scope:
    """Which of the operators, Nodes and methods are written, and how the others are imported."""

    def __init__(self, declared: Declarations, derived: Derived, package: str = TENGEN) -> None:
        self.declared = declared
        self.derived = derived
        self.package = package
        self.library = declared.library
        #: Whether the tables are those that libraries add rows to.
        self.opens = not self.library
        self.variants = [v for v in derived.variants if v.name.namespace == self.library]
        #: Operators that are known but not generated here.
        self.others = [v for v in derived.variants if v.name.namespace != self.library]
        self.nodes = [n for n in derived.all_nodes() if declared.owns(n.place)]
        self.jvps: Mapping[str, JvpSpec] = {n: s for n, s in derived.jvps.items() if declared.owns(s.place)}
        self.backends = [b for b in declared.backends if b.library_of == self.library]

    # -- what is written -----------------------------------------------------------------------

    @property
    def of_type_default(self) -> Iterable[Variant]:
        """The variants whose methods in TypeDefault are written."""
        return [v for v in self.derived.variants if self._own(v) or self._differentiated(v, None)]

    def has_method(self, variant: Variant, backend: Backend, recording: bool) -> bool:
        """Whether a method of a backend's Types is written."""
        if self._own(variant) or backend in self.backends:
            return True
        kernel = variant.operator.kernels.get(backend.name)
        added = kernel is not None and self.declared.owns(kernel.formula.source.place)
        return added or (recording and self._differentiated(variant, backend))

    @property
    def of_variable_type(self) -> list[Variant]:
        """The variants whose recording methods are written into VariableType."""
        variants = [v for v in self.derived.variants if _records_plain_method(v) and self._has_history(v)]
        return [v for v in variants if self._own(v) or self._differentiated(v, None)]

    def _has_history(self, variant: Variant) -> bool:
        """Whether results may have one, be it that it is missing: what makes a tensor of numbers has none."""
        name = str(variant.operator.name)
        return self.derived.node(name, "") is not None or name in self.derived.missing

    def records(self, variant: Variant, backend: Backend) -> bool:
        """Whether a VariableType above a backend's recording Types has the method of a variant."""
        known = backend in self.backends or self._own(variant) or self._differentiated(variant, None)
        return known and _records_plain_method(variant)

    def has_node(self, node: NodeSpec, backend: Backend) -> bool:
        """Whether a Node over a backend's arrays is written."""
        return self.declared.owns(node.place) or backend in self.backends

    def _own(self, variant: Variant) -> bool:
        return variant.name.namespace == self.library

    def _differentiated(self, variant: Variant, backend: Backend | None) -> bool:
        """Whether a library gives the derivative of an operator of tengen."""
        node = self.derived.node(str(variant.name), backend.name if backend is not None else "")
        return node is not None and self.declared.owns(node.place)

    # -- imports -------------------------------------------------------------------------------

    @property
    def functions(self) -> str:
        """What generated code calls the module of the functions that are written."""
        return FUNCTIONS if self.library else "F"

    @property
    def function_imports(self) -> list[str]:
        """The lines that import the operators as functions."""
        own = [f"import {self.package}.functions as {FUNCTIONS}"] if self.library else []
        return [f"import {TENGEN}.functions as F", *own]

    @property
    def structure_imports(self) -> list[str]:
        """The lines that import named tuples."""
        own = [f"from {self.package} import return_types as {STRUCTURES}"] if self.library else []
        return [f"from {TENGEN} import return_types", *own]

    @property
    def node_modules(self) -> list[str]:
        """The lines that name the modules of Nodes without importing them."""
        own = [lazy_module(NODES, f"{self.package}.nodes")] if self.library else []
        return [lazy_module("_nodes", f"{TENGEN}.nodes"), *own]

    @property
    def node_imports(self) -> list[str]:
        """The lines that import the modules of Nodes."""
        own = [f"import {self.package}.nodes as {NODES}"] if self.library else []
        return [f"import {TENGEN}.nodes as _nodes", *own]

    @property
    def root(self) -> tuple[str, ...]:
        """The bases of TypeDefault: a library's is mixed in, and is no Type by itself."""
        return () if self.library else ("Type",)

    def variable_types(self, backend: Backend) -> dict[str, str]:
        """The lines that import the VariableTypes above a backend's recording Types, by class."""
        found = {}
        if self.library and self.of_variable_type:
            name = f"Library{VARIABLE_TYPE}"
            found[name] = f"from {self.package}.variable_types import {VARIABLE_TYPE} as {name}"
        if backend in self.backends:
            found[VARIABLE_TYPE] = f"from {TENGEN}.variable_types import {VARIABLE_TYPE}"
        return found

    def package_of(self, backend: Backend) -> str:
        """The package of the TypeDefault that a backend's Types derive from."""
        return TENGEN if backend in self.backends else self.package

    def group_package(self, backend: Backend) -> str:
        """The package of the Types of the group that a backend is a member of."""
        group = next(b for b in self.declared.backends if b.name == backend.group)
        return self.package if group.library_of else TENGEN

    def homes(self, functions: Mapping[str, str]) -> dict[str, str]:
        """By the name of an operator's function, the module that it is imported from."""
        own = f"{self.functions}."
        return {
            name: f"{self.package if text.startswith(own) else TENGEN}.functions"
            for name, text in functions.items()
        }


def _records_plain_method(variant: Variant) -> bool:
    """Whether what a variant's plain method gives is recorded; TypeDefault's composites record themselves."""
    return variant.kind in ("functional", "view") and (EXPLICIT not in variant.operator.kernels)
