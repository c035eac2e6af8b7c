"""What a class of ``tengen.nn`` is made of, where it follows from a declaration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .source import Place

#: The bases of losses, which are written by hand, and the attributes that they keep.
LOSSES: Mapping[str, frozenset[str]] = {
    "_Loss": frozenset({"reduction"}),
    "_WeightedLoss": frozenset({"reduction", "weight"}),
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function, as Python writes it."""

    name: str
    annotation: str = "Any"
    default: str | None = None  # None: it is required
    keyword: bool = False  # keyword-only

    def __str__(self) -> str:
        return f"{self.name}: {self.annotation}{'' if self.default is None else f' = {self.default}'}"

    @property
    def is_input(self) -> bool:
        """Whether calls of a module are given it: a tensor that is required."""
        return self.default is None and self.annotation == "Tensor"


@dataclass(frozen=True, slots=True)
class Signature:
    """A function that a module calls: its parameters, and where its name and those of its types are."""

    called: str  # "F.relu"
    parameters: tuple[Parameter, ...]
    returns: str
    doc: str  # its first sentences
    imports: frozenset[str] = frozenset()  # the lines that the annotations and the call need


@dataclass(frozen=True, slots=True)
class ModuleClass:
    """A module without parameters of its own: what it is made with, and how it calls its function."""

    name: str
    place: Place
    home: str  # the module of tengen.nn.modules that it is in
    function: Signature
    init: tuple[Parameter, ...]
    forward: tuple[Parameter, ...]
    passed: tuple[str, ...]  # what the function is given: "input", "inplace=self.inplace"
    attributes: Mapping[str, str] = field(default_factory=dict)  # what is kept, by name: expressions
    buffers: tuple[str, ...] = ()
    base: str = "Module"
    base_arguments: str = ""
    calls_base: bool = False  # whether the base does everything: it has the attributes and ``forward``
    checks: tuple[str, ...] = ()  # before it is made
    input_checks: tuple[str, ...] = ()  # before the function is called
    shown: str | None = None  # the text of ``extra_repr``, an f-string; None: as the base
    doc: str = ""
    helpers: Mapping[str, str] = field(default_factory=dict)  # functions that expressions name: their module
