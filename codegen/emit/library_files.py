"""Emit: the files of a library: what its operators, kernels and derivatives add to tengen's."""

from __future__ import annotations

from pathlib import Path

from ..model.operators import Declarations
from ..model.source import OutputFile, Place
from ..read.libraries import Library
from ..specialise.bindings import BindingWriter
from .docs import reference
from .files import Renderer
from .forms import form_files
from .json_schema import schemas
from .stubs import StubWriter
from .type_files import BackendFiles


class LibraryRenderer(Renderer):
    """Makes the files of a library. Those of tengen are what they are, wherever it is installed."""

    def __init__(
        self,
        declared: Declarations,
        runtime: Path,
        templates: Path,
        library: Library,
        version: str,
        lowered: set[str] | None = None,
    ) -> None:
        super().__init__(declared, runtime, templates, library, lowered)
        self.library = library
        self.version = version

    def _files(self) -> list[OutputFile]:
        writer = BindingWriter(self.groups, self.structures)
        derivatives = [d for d in self.declared.derivatives if self.declared.owns(d.place)]
        backends = [self._backend(b) for b in self.declared.backends]
        return [
            self.templates.page("__init__.py", "init.py.jinja"),
            self._manifest([b for b in backends if b.mixed_in]),
            *([self._backends()] if self.scope.backends else []),
            self._operators(),
            self._places(),
            self._return_types(),
            *form_files(self.templates, self.scope, self.kernel_functions),
            self._nodes(),
            self._jvps(),
            self._batching(),
            self._type_default(),
            *self._variable_type(),
            *[f for b in backends for f in b.files()],
            self._library_functions(writer),
            self._function_stubs(StubWriter(self.groups, self.structures)),
            *self._rules(),
            *schemas(self.declared),
            self.templates.page(
                "operators.md", "operators.md.jinja", groups=reference(self.groups, derivatives)
            ),
        ]

    def _library_functions(self, writer: BindingWriter) -> OutputFile:
        """All of a library's functions: they are in ``tengen.ops``."""
        bindings = self._documented(writer.functions(), self.docstrings.function)
        return self._function_page(
            "functions.py",
            self._binding_imports(),
            bindings,
            "The operators as functions.",
            self._top_level(),
        )

    def _manifest(self, known: list[BackendFiles]) -> OutputFile:
        """What the runtime looks at first."""
        return self.templates.page(
            "library.py",
            "library.py.jinja",
            name=self.library.name,
            version=self.version,
            folder=self.library.display,
            backends=[b.name for b in self.scope.backends],
            types=[(b.backend.name, *b.modules) for b in known],
            added=sorted(self._added()),
        )

    def _added(self) -> list[tuple[str, str]]:
        """What the library gives operators of tengen, and where it says so."""
        owns = self.declared.owns
        found: list[tuple[str, Place]] = [
            (f"the derivative of {n.operator.name}", n.place)
            for n in self.scope.nodes
            if not n.operator.name.namespace
        ]
        for operator in self.declared.operators:
            for key, kernel in operator.kernels.items():
                if not operator.name.namespace and owns(kernel.formula.source.place):
                    found.append((f"the kernel of {operator.name} for {key}", kernel.formula.source.place))
        return [(what, f"{place.file}:{place.line}") for what, place in found]
