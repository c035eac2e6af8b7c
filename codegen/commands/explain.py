"""``tengen explain OPERATOR``: everything that one entry becomes, and all that is written by hand for it.

Each with file and line: the entry; the functions that its keys name, and those of operators that are named
after it; functions of its name, functions that call it, and tests; and what is generated.

``tengen explain --where generated/FILE:LINE`` goes the other way, from a line of generated code
to the declarations that it was made of.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tengen.codegen.commands.handwritten import Found, HandWritten
from tengen.codegen.commands.where import Definition, Index
from tengen.codegen.commands.workspace import Workspace, add_workspace
from tengen.codegen.commands.written import cases_of, kernel_functions
from tengen.codegen.derive.derived import Derived, derive, saved_values
from tengen.codegen.derive.differentiate import derivative_of
from tengen.codegen.derive.graph import Underivable
from tengen.codegen.derive.plan import Language
from tengen.codegen.model.derived import NodeSpec, Variant
from tengen.codegen.model.diagnostics import suggestion
from tengen.codegen.model.operators import Declarations, Derivative, Formula, Kernel, Operator, ScalarType
from tengen.codegen.read.functions import source_of

from ..model.names import CATEGORIES

_WIDTH = 14
#: The tag of operators that are no function or method for users.
_INTERNAL = "internal"
#: What the report calls the keys that name functions.
_KEYS = {
    "dispatch": "kernels",
    "body": "kernels",
    "derivative": "formulas",
    "symbolic": "ONNX",
    "batching": "batching",
    "write_back": "write back",
    "flops": "flops",
    "reference": "reference",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "operator",
        nargs="?",
        help='its name, as "mul" or "mul.Tensor"; without one the operators are counted',
    )
    parser.add_argument("--where", metavar="FILE:LINE", help="a line of a generated file")
    parser.add_argument(
        "--dtype", metavar="DTYPE", help="show the code, as it is specialised for this dtype: float32"
    )
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """Print what there is to say. Returns the exit status."""
    if options.operator is not None and options.where is not None:
        print("tengen explain takes an operator, or --where FILE:LINE", file=sys.stderr)
        return 2
    workspace = Workspace.of(options)
    declared = workspace.load()
    if options.operator is None and options.where is None:
        print(count_of(declared))
        return 0
    explainer = Explainer(workspace, declared)
    scalars = {s.dtype: s for s in declared.scalar_types}
    if options.dtype is not None:
        if options.dtype not in scalars:
            print(f'no dtype is named "{options.dtype}": {", ".join(scalars)}', file=sys.stderr)
            return 2
        explainer.scalar = scalars[options.dtype]
    lines = explainer.where(options.where) if options.where else explainer.explain(options.operator)
    if isinstance(lines, str):
        print(lines, file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


def kin(scalar: ScalarType) -> tuple[str, ...]:
    """The words by which the classes of a scalar type's Types go, the narrowest first."""
    return scalar.name, CATEGORIES[scalar.category], "Floating" if scalar.category == "reduced" else "", ""


def row(name: str, text: str) -> str:
    """A line of the report: a name, and what is said of it."""
    return f"  {name:<{_WIDTH}} {text}"


def count_of(declared: Declarations) -> str:
    """How many operators are declared, overloads counted each, and how many functions and methods they are.

    What follows from an entry, as in-place and out variants, is not counted.
    """
    operators = [o for o in declared.operators if declared.owns(o.place)]
    called = [o for o in operators if _INTERNAL not in o.tags]
    functions = {o.name.function for o in called}
    return (
        f"{len(called):,} operators, overloads of {len(functions):,} functions and methods; "
        f"{len(operators) - len(called):,} more that only others call"
    )


class Explainer:
    """Says what became of the declarations."""

    def __init__(self, workspace: Workspace, declared: Declarations) -> None:
        self.workspace = workspace
        self.declared = declared
        self.derived: Derived = derive(declared)
        self.hand = HandWritten(workspace, declared)
        self.index = Index(workspace.output, self.derived)
        self.variants = {str(v.name): v for v in self.derived.variants}
        self.language = Language.of(declared)
        self.written = {o.name for o in declared.operators}  # which have entries
        #: The scalar type for which code is shown; None shows none.
        self.scalar: ScalarType | None = None

    # -- from an operator --------------------------------------------------------------------

    def explain(self, name: str) -> list[str] | str:
        """The report on an operator, or on all overloads of a function; a str says what is wrong."""
        chosen = [name] if name in self.variants else self.index.functions.get(name, [])
        if not chosen:
            close = suggestion(name, [*self.variants, *self.index.functions])
            return f'no operator is named "{name}"' + (f": {close}" if close else "")
        lines: list[str] = []
        for each in chosen:
            lines += [*self._operator(self.variants[each]), ""]
        for function in dict.fromkeys(self.variants[each].name.function for each in chosen):
            lines += [*self._by_hand(function), ""]
        return lines[:-1]

    def _operator(self, variant: Variant) -> Iterator[str]:
        operator = variant.operator
        yield str(operator.schema)
        yield row("declared", self._place(operator.place.file, operator.place.line))
        if operator.doc:
            yield row("doc", operator.doc)
        if variant.base is not None:
            yield row("derived from", f"{variant.base}, as its {variant.kind} variant")
        others = [n for n in self.index.functions[variant.name.called] if n != str(variant.name)]
        if others:
            yield row("overloads", ", ".join(others))
        related = [str(v.name) for v in self.derived.variants if v.base == variant.name]
        if related:
            yield row("variants", ", ".join(related))
        yield from self._facts(variant)
        yield from self._kernels(operator)
        if variant.base is None or variant.name in self.written:
            yield from self._derivatives(operator)
            yield from self._symbolic(operator)
            yield from self._rules(operator)
            yield from self._parts(operator)
        yield from self._generated(variant)
        if self.scalar is not None:
            yield from self._specialised(variant, self.scalar)

    def _facts(self, variant: Variant) -> Iterator[str]:
        operator = variant.operator
        yield row("kind", variant.kind)
        if operator.tags:
            yield row("tags", ", ".join(sorted(operator.tags)))
        for backend, types in operator.dtypes.items():
            yield row(f"dtypes {backend}", self._dtypes(types))
        promoted = f" of {', '.join(operator.promoted)}" if operator.promoted else ""
        yield row("promotion", f"{operator.promote or 'none'}{promoted}")
        yield row("result dtype", operator.result)
        for special, order in operator.operators.items():
            yield row("operator", f"{special}({', '.join(order)})")

    def _dtypes(self, types: Iterable[str]) -> str:
        chosen = set(types)
        every = [s for s in self.declared.scalar_types]
        if chosen >= {s.name for s in every}:
            return "all"
        return ", ".join(s.dtype for s in every if s.name in chosen) or "none"

    # -- kernels -------------------------------------------------------------------------------

    def _kernels(self, operator: Operator) -> Iterator[str]:
        for key, kernel in operator.kernels.items():
            place = kernel.formula.source.place
            first, *more = kernel.formula.text.strip().split("\n")
            yield row(f"kernel {key}", f"{first}    {self._place(place.file, place.line)}")
            yield from [row("", line) for line in more]
            for found in self._functions(key, kernel):
                yield row("", found)
        for key, kernel in self.hand.of_groups(operator):
            yield row(f"kernel {key}", "the functions of the same names")
            for found in self._functions(key, kernel):
                yield row("", found)

    def _functions(self, key: str, kernel: Kernel) -> Iterator[str]:
        """Where the functions that a kernel names are written."""
        for package, qualified in kernel_functions(key, kernel):
            if ":" in qualified:
                yield f"{qualified} of the library"
            for found in self.hand.function(package, qualified):
                yield located(found)

    # -- derivatives ---------------------------------------------------------------------------

    def _derivatives(self, operator: Operator) -> Iterator[str]:
        name = str(operator.name)
        written = next((d for d in self.declared.derivatives if str(d.name) == name), None)
        if written is not None:
            yield row("derivative", self._place(written.place.file, written.place.line))
            yield from self._formulas(written, "as written")
        elif operator.is_composite:
            yield row("derivative", "that of the operators it is made of")
        try:
            derived = derivative_of(operator, self.language)
        except Underivable as reason:
            if written is None and not operator.is_composite:
                yield row("derivative", f"none: no entry, and none can be derived: {reason}")
        else:
            chosen = "as derived" + ("" if written is None else ", and not used")
            yield from self._formulas(derived, chosen)
        node = self.derived.nodes.get(name)
        if node is not None:
            yield row("saved", "; ".join(self._saved(node)) or "nothing")

    def _symbolic(self, operator: Operator) -> Iterator[str]:
        """How it is written as ONNX, or why that does not follow from the kernel."""
        rule = operator.symbolic
        if rule is not None:
            place = rule.formula.source.place
            how = "derived" if rule.derived else self._place(place.file, place.line)
            yield row("ONNX", f"{rule.formula.text}    {how}")
        elif operator.is_composite:
            yield row("ONNX", "that of the operators it is made of")
        else:
            reason = f", and none can be derived: {operator.no_symbolic}" if operator.no_symbolic else ""
            yield row("ONNX", f"none: no symbolic{reason}")

    def _rules(self, operator: Operator) -> Iterator[str]:
        """The expressions of other keys: what vmap does, how writes go through a view, the reference."""
        batching = operator.batching
        if batching is not None:
            formulas = [b.formula for b in cases_of(batching) if b.formula is not None]
            yield from self._keys("batching", formulas) if formulas else [row("batching", batching.kind)]
        if operator.write_back is not None:
            yield from self._keys("write back", [operator.write_back.formula])
        if operator.flops is not None:
            yield from self._keys("flops", [operator.flops.formula])
        if operator.reference is not None:
            yield from self._keys("reference", [operator.reference])

    def _keys(self, name: str, formulas: Iterable[Formula]) -> Iterator[str]:
        for formula in formulas:
            place = formula.source.place
            yield row(name, f"{formula.text.strip()}    {self._place(place.file, place.line)}")
            name = ""

    def _parts(self, operator: Operator) -> Iterator[str]:
        """The functions that the keys name, and the operators; of those that are named after it all."""
        yield from self._named(operator, besides=("dispatch",))
        beside = self.hand.beside(operator)
        kin = {o.name for o in beside}
        called = [o for o in self.hand.called(operator) if o.name not in kin]
        name = "calls"
        for each in called:
            yield row(name, f"{each.name}: {self._place(each.place.file, each.place.line)}")
            name = ""
        for each in beside:
            yield row("with", f"{each.name}: {self._place(each.place.file, each.place.line)}")
            yield from self._named(each)

    def _named(self, operator: Operator, besides: Sequence[str] = ()) -> Iterator[str]:
        last = ""
        for key, found in self.hand.named(operator):
            if key not in besides:
                yield row(_KEYS[key] if key != last else "", f"  {located(found)}")
                last = key

    def _modules(self, function: str) -> Iterator[str]:
        """The classes of ``tengen.nn`` that are declared to call a function, and where they are generated."""
        for module in self.declared.modules:
            if module.function.called.rpartition(".")[2] == function:
                yield f"{module.name}: {self._place(module.place.file, module.place.line)}"
                for made in self.index.of_module(module.name):
                    yield f"{self._place(self.workspace.shown + '/' + made.file, made.line)}  {made.name}"

    def _by_hand(self, function: str) -> Iterator[str]:
        """What names a function of operators: other code, and tests."""
        tested = self.hand.tested(function)
        named, callers = self.hand.named_after(function), self.hand.callers(function)
        modules = list(self._modules(function))
        if named or callers or tested or modules:
            yield f"{function}, by hand"
        yield from _listed("modules", modules)
        yield from _listed("named so", map(located, named))
        yield from _listed("called in", map(located, callers))
        yield from _listed(
            "tests", (f"{f.file}:{f.line}" + f" and {f.count - 1} more" * (f.count > 1) for f in tested)
        )

    def _formulas(self, entry: Derivative, how: str) -> Iterator[str]:
        yield row("", how)
        for part in entry.shared:
            yield row("", f"  {part.name} = {part.formula.text}")
        for inputs, formula in entry.gradients.items():
            yield row("", f"  {', '.join(inputs)}: {formula.text}")
        for part in entry.jvp_shared:
            yield row("", f"  {part.name} = {part.formula.text}")
        for result, formula in entry.jvps.items():
            yield row("", f"  {result}: {formula.text}")

    def _saved(self, node: NodeSpec) -> Iterator[str]:
        whole = saved_values(node.operator, node.gradients)
        for saved in whole:
            users = ", ".join(node.inputs[i].name for i in saved.needed_by)
            what = (
                saved.source
                if saved.what in ("tensor", "tensors", "value", "result")
                else (f"{saved.what} of {saved.source}")
            )
            yield f"{what} (for {users})"

    # -- generated code ------------------------------------------------------------------------

    def _generated(self, variant: Variant) -> Iterator[str]:
        if not self.index.all:
            yield row("generated", "nothing yet: `tengen gen` makes it")
        first = True
        for definition in self.index.of_operator(str(variant.name)):
            text = f"{self._place(self.workspace.shown + '/' + definition.file, definition.line)}"
            yield row("generated" if first else "", f"{text}  {definition.name}")
            first = False

    def _specialised(self, variant: Variant, scalar: ScalarType) -> Iterator[str]:
        """The methods that tensors of a dtype run, and the Nodes that they record."""
        node = self.derived.nodes.get(str(variant.name))
        for backend in self.declared.backends:
            stem = backend.name.lower()
            methods = [f"{backend.name}{part}Type.{variant.name.method}" for part in kin(scalar)]
            methods.append(f"TypeDefault.{variant.name.method}")
            yield from self._code([f"{stem}_types.py", "type_default.py"], methods)
            if node is not None:
                yield from self._code([f"{stem}_nodes.py", "nodes.py"], [node.name])

    def _code(self, files: list[str], names: list[str]) -> Iterator[str]:
        """The source of the first definition that there is, files first."""
        by_name = {(d.file, d.name): d for d in self.index.all}
        found = next((by_name[f, n] for f in files for n in names if (f, n) in by_name), None)
        if found is None:
            return
        lines = source_of(self.workspace.output / found.file).split("\n")
        yield ""
        yield f"  # {self._place(self.workspace.shown + '/' + found.file, found.line)} {found.name}"
        yield from (f"  {line}" for line in lines[found.line - 1 : found.end])

    # -- to the declaration ----------------------------------------------------------------------

    def where(self, text: str) -> list[str] | str:
        """What a line of generated code was made of; a str says what is wrong."""
        found = re.fullmatch(r"(.+):(\d+)(?::\d+)?", text)
        if found is None:
            return f'"{text}" is not FILE:LINE'
        given, line = Path(found.group(1)), int(found.group(2))
        file, path = given.name, self.workspace.output / given.name
        elsewhere = given.exists() and not (path.exists() and given.samefile(path))
        if elsewhere or not path.is_file():
            return f"{given} is no generated file: these are in {self.workspace.shown}/"
        last = len(source_of(path).splitlines())
        if not 1 <= line <= last:
            return f"{self.workspace.shown}/{file} has no line {line}: it ends with line {last}"
        definition = self.index.at(file, line)
        if definition is None:
            return self._in_module(file, line) or f"line {line} of {file} belongs to no operator alone"
        lines = [f"{self.workspace.shown}/{file}:{line} is in {definition.name}"]
        for name in self.index.operators_of(definition):
            lines += self._origin(name, definition)
        return lines

    def _in_module(self, file: str, line: int) -> list[str] | None:
        """What a line of a class of ``tengen.nn`` was made of; None if it is in none."""
        for module in self.declared.modules:
            if any(d.file == file and d.line <= line <= d.end for d in self.index.of_module(module.name)):
                place = self._place(module.place.file, module.place.line)
                return [
                    f"{self.workspace.shown}/{file}:{line} is in {module.name}",
                    f"  {module.name}, which calls {module.function.called}: {place}",
                ]
        return None

    def _origin(self, name: str, definition: Definition) -> Iterator[str]:
        variant = self.variants[name]
        operator = variant.operator
        place = operator.place
        how = f", the {variant.kind} variant of {variant.base}" if variant.base is not None else ""
        yield f"  {name}{how}: {self._place(place.file, place.line)}"
        derivative = next((d for d in self.declared.derivatives if str(d.name) == name), None)
        if derivative is not None and ("nodes" in definition.file or "jvps" in definition.file):
            yield f"    derivative: {self._place(derivative.place.file, derivative.place.line)}"

    def _place(self, file: str, line: int) -> str:
        return f"{file}:{line}"


def _listed(name: str, texts: Iterable[str]) -> Iterator[str]:
    """Rows below one name."""
    for number, text in enumerate(texts):
        yield row("" if number else name, text)


def located(found: Found) -> str:
    """A function, and where it is."""
    return f"{found.name}: {found.file}:{found.line}"
