"""From what is wrong about an operator to the place in the declarations where that is written."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...ir.expressions import Elements
from ..check.expand import parse_located_schema
from ..model.diagnostics import Report
from ..model.operators import Declarations, Derivative, Formula, Kernel, Operator, by_function
from ..model.source import Entry, Located, Place
from ..parse.formula import length_of, place_of, result_names
from ..read.entries import mechanism_of, read_entries
from ..read.fields import words
from ..read.functions import module_of
from .affected import called_names
from .written import kernel_functions, unjudged, written_at


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the declarations, how many characters are meant, and where more is written."""

    place: Place
    length: int = 1
    related: tuple[tuple[Place, str], ...] = ()


class Locator:
    """Knows where each part of each operator's declaration is written."""

    def __init__(self, declared: Declarations, folder: Path, runtime: Path) -> None:
        self.declared = declared
        self.folder, self.runtime = folder, runtime
        self.operators = {str(o.name): o for o in declared.operators}
        self.functions = by_function(declared.operators)
        self.derivatives = {str(d.name): d for d in declared.derivatives}
        self._entries: dict[str, dict[Place, Entry]] = {}

    def spot(self, name: str, kind: str, what: str = "", variant: str = "") -> Spot:
        """Where a part of an operator is written: ``kind`` and ``what`` are those of the runtime's Part."""
        operator = self.operators[name]
        found: Spot | None = None
        match kind:
            case "kernel":
                return self._kernel(self.operators.get(variant, operator), what)
            case "gradient":
                found = self._gradient(operator, what)
            case "tangent":
                found = self._tangent(operator, what)
            case "dtypes":
                found = self._dtypes(operator, what)
            case "batching":
                found = self._batching(operator)
            case "symbolic":
                rule = operator.symbolic
                found = None if rule is None or rule.derived else whole(rule.formula)
            case "reference":
                found = None if operator.reference is None else whole(operator.reference)
            case "alias":
                found = self._alias(operator)
            case "signature":
                located = self.field(operator, "func", "name")
                found = None if located is None else Spot(located.at(0), len(name.rpartition("::")[2]))
            case "sample":
                found = self._sample(operator, what)
        return found or self._kernel(operator, "")

    # -- kernels -------------------------------------------------------------------------------

    def read(self, names: Iterable[str]) -> None:
        """Read the modules with the kernels of operators, and all that these may import.

        Raises CommandError for one that is no Python.
        """
        for name in names:
            for key, kernel in self.operators[name].kernels.items():
                list(self._functions(key, kernel))
        for path in sorted((self.runtime / "kernels").rglob("*.py")):
            module_of(path)

    def _kernel(self, operator: Operator, backend: str) -> Spot:
        """The kernel of a backend; where that has none, the one that stands for it."""
        kernels = operator.kernels
        wanted = (backend, *(b.name for b in self.declared.backends), *kernels)
        key = next((key for key in wanted if key in kernels), None)
        if key is None:
            return Spot(operator.place)
        kernel = kernels[key]
        spot = whole(kernel.formula)
        return Spot(spot.place, spot.length, tuple(self._functions(key, kernel)))

    def _functions(self, key: str, kernel: Kernel) -> Iterator[tuple[Place, str]]:
        """Where the functions that a kernel names are written."""
        for package, qualified in kernel_functions(key, kernel):
            yield from self.function(package, qualified)

    def function(self, package: str, qualified: str) -> Iterator[tuple[Place, str]]:
        """Where a function of a package of the runtime is written: "module.function" below it."""
        place = written_at(self.runtime, package, qualified)
        if place is not None:
            yield place, f"{qualified.rpartition('.')[2]} is written here"

    def origin(self, file: str, line: int) -> Place | None:
        """A line of a function that a declaration names; None of one that is not of this project."""
        path, root = Path(file), self.runtime.resolve().parent
        return Place(path.relative_to(root).as_posix(), line, 1) if path.is_relative_to(root) else None

    # -- derivatives ---------------------------------------------------------------------------

    def _derivative(self, operator: Operator) -> Derivative | None:
        name = str(operator.name)
        return self.derivatives.get(name) or self.derivatives.get(name.removesuffix("_forward"))

    def _gradient(self, operator: Operator, argument: str) -> Spot | None:
        entry = self._derivative(operator)
        if entry is None:
            return None
        for names, formula in entry.gradients.items():
            if argument in names or not argument:
                return self._with_helpers(entry, formula, part_of(formula, names, argument))
        return Spot(entry.place)

    def _tangent(self, operator: Operator, number: str) -> Spot | None:
        entry = self._derivative(operator)
        if entry is None or not entry.jvps:
            return self._gradient(operator, "")
        names = result_names(operator.schema.returns)
        name = names[int(number)] if number and int(number) < len(names) else ""
        formula = entry.jvps.get(name) or next(iter(entry.jvps.values()))
        return self._with_helpers(entry, formula, whole(formula))

    def _with_helpers(self, entry: Derivative, formula: Formula, spot: Spot) -> Spot:
        """The spot of a formula, with the places of the functions of formulas/ that it calls.

        And of the kernels that it calls which nothing else judges, as backward operators' mostly are.
        """
        called = [entry.helpers[n] for n in sorted(formula.names()) if n in entry.helpers]
        related = [place for name in called for place in self.function("formulas", name)]
        for name in sorted(set(called_names(formula.tree)) - entry.helpers.keys()):
            for operator in self.functions.get(name, ()):
                if unjudged(operator):
                    related += self._kernel(operator, "").related
        return Spot(spot.place, spot.length, tuple(related))

    def primitive(self, name: str, operand: int | None, named: str) -> Spot:
        """The derivative of a primitive by an operand, or an operator in its ONNX form, or its function."""
        row = self.declared.primitives[name]
        if row.place is not None and named == row.function:
            return Spot(row.place, len(named))
        formula = None if operand is None or row.derivative is None else row.derivative[operand]
        if formula is not None:
            return whole(formula)
        assert row.onnx is not None
        source = row.onnx.formula.source
        return Spot(source.at(max(str(source.value).find(f"onnx.{named}"), 0)), len(f"onnx.{named}"))

    # -- keys ----------------------------------------------------------------------------------

    def field(self, operator: Operator, *keys: str) -> Located | None:
        """The value of the first of these keys that the operator's entry has."""
        entry = self.entry(operator)
        return next((entry.fields[k] for k in keys if entry and k in entry.fields), None)

    def entry(self, operator: Operator) -> Entry | None:
        """The entry that declares an operator."""
        return self._of_file(Path(operator.place.file).name).get(operator.place)

    def _of_file(self, name: str) -> Mapping[Place, Entry]:
        if name not in self._entries:
            path = self.folder / name
            found = read_entries(path, f"{self.folder.name}/{name}", mechanism_of(path) or "", Report())
            self._entries[name] = {entry.place: entry for entry in found}
        return self._entries[name]

    @functools.cached_property
    def categories(self) -> Mapping[str, str]:
        """The category of each dtype."""
        return {s.dtype: s.category for s in self.declared.scalar_types}

    def _dtypes(self, operator: Operator, dtype: str) -> Spot | None:
        located = self.field(operator, "dtypes", "types")
        while located is not None and isinstance(located.value, dict):
            located = next(iter(located.value.values()), None)
        if located is None:
            return None
        for covering in (dtype, self.categories.get(dtype), "all"):
            for word, place in words(located, Report()):
                if word == covering:
                    return Spot(place, len(word))
        return scalar(located)

    def _batching(self, operator: Operator) -> Spot | None:
        backward = str(operator.name).endswith("_backward") and operator.mechanism == "nn"
        keys = ("backward_batching", "batching") if backward else ("batching",)
        located = self.field(operator, *keys)
        if located is not None:
            if operator.batching is not None and operator.batching.formula is not None:
                return whole(operator.batching.formula)
            return scalar(located)
        tags, rule = self.field(operator, "tags"), operator.batching
        if tags is None or rule is None:
            return None
        return next((Spot(place, len(w)) for w, place in words(tags, Report()) if w == rule.kind), None)

    def _sample(self, operator: Operator, text: str) -> Spot | None:
        """A sample; that of the operator beside which one of nn.yaml is made."""
        beside = [o for o in self.declared.operators if o.place == operator.place]
        given = [s.source for o in beside for s in (*o.samples, *(e.sample for e in o.expected))]
        return next((scalar(source) for source in given if source.value == text), None)

    def _alias(self, operator: Operator) -> Spot | None:
        """The results of the schema, where an alias is annotated or missing."""
        located = self.field(operator, "func", "name")
        parsed = None if located is None else parse_located_schema(located, Report())
        if parsed is None:
            return None
        source = parsed[1]
        start = source.value.rindex("->") + 3
        return Spot(source.at(start), len(source.value) - start)


def whole(formula: Formula) -> Spot:
    """All of a formula, as far as it stands on its first line."""
    return scalar(formula.source)


def scalar(located: Located) -> Spot:
    """All of a value, as far as it stands on its first line."""
    text = located.value if isinstance(located.value, str) else " "
    lines = {start[0] for start in located.starts}
    ends = [offset for offset in lines if offset > 0 and located.at(offset).line != located.at(0).line]
    end = min([*ends, len(text)])
    return Spot(located.at(0) if located.starts else located.place, len(text[:end].rstrip()) or 1)


def part_of(formula: Formula, names: tuple[str, ...], name: str) -> Spot:
    """Of a formula that is a tuple of gradients the one for this argument; else all of it."""
    tree = formula.tree
    if isinstance(tree, Elements) and len(tree.elements) == len(names) and name in names:
        part = tree.elements[names.index(name)]
        return Spot(place_of(formula, part), length_of(formula, part))
    return whole(formula)
