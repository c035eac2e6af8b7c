"""``tengen new SCHEMA --kernel KERNEL``: writes the entry of an operator in its sorted place.

The file is the one whose operators are most like it, or the one that is named. The declarations
are checked with the entry in place, and nothing is written when there is a mistake.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import yaml

from tengen.codegen.commands.format import in_order
from tengen.codegen.commands.workspace import Workspace, add_workspace
from tengen.codegen.emit.write import replace
from tengen.codegen.model.diagnostics import DeclarationErrors, Diagnostic, suggestion
from tengen.codegen.model.names import COMPOSITES
from tengen.codegen.model.operators import Declarations, Operator
from tengen.codegen.model.schema import Schema
from tengen.codegen.model.source import Place
from tengen.codegen.parse.schema import SchemaError, parse_schema
from tengen.codegen.read.entries import mechanism_of
from tengen.codegen.read.file_text import EntryText, FileText, Item, Section, read_layout
from tengen.ir.expressions import Attribute, Call, Expr, Name, Operation, walk
from tengen.ir.reader import read_expression

_MECHANISM = "native"
_DEFAULT_FILE = "native_functions.yaml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("schema", help='the signature: "clamp_abs(Tensor self, Scalar bound) -> Tensor"')
    parser.add_argument("--kernel", required=True, help="an expression over arrays, or a kernel's name")
    parser.add_argument(
        "--composite", action="store_true", help="the kernel is an expression over Tensors, made of operators"
    )
    parser.add_argument("--backend", help="whose kernel it is (default: the first that is declared)")
    parser.add_argument("--tags", help="its tags (default: pointwise, where the kernel is that)")
    parser.add_argument("--variants", help="function, method or both (default: both where it takes a self)")
    parser.add_argument("--dtypes", help="the scalar types that it computes in")
    parser.add_argument("--sample", action="append", default=[], help="a call for its tests; may be repeated")
    parser.add_argument("--reference", help="the same over NumPy arrays, for its tests")
    parser.add_argument("--doc", help="a sentence that says what it computes")
    parser.add_argument("--file", metavar="NAME", help="the file of declarations (default: the likeliest)")
    parser.add_argument("--dry-run", action="store_true", help="print the entry; write nothing")
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """Write the entry. Returns the exit status: 1 when it would be wrong, with nothing written."""
    workspace = Workspace.of(options)
    try:
        schema = parse_schema(options.schema)
    except SchemaError as error:
        where = Place("the signature", 1, error.offset + 1)
        found = Diagnostic(where, error.message, error.length, error.expected)
        print(found.render(options.schema), file=sys.stderr)
        return 1
    declared = workspace.load()
    fields = entry_fields(schema, options, declared)
    name = options.file or likeliest_file(schema, fields.get("tags", ""), declared)
    if mechanism_of(Path(name)) != _MECHANISM or Path(name).name != name:
        print(f'"{name}" is no file of native functions: native_functions.PART.yaml', file=sys.stderr)
        return 1
    path = workspace.declarations / name
    entry = EntryText([Item(key, written(key, value)) for key, value in fields.items()])
    entry.items = in_order(entry, _MECHANISM)
    if options.dry_run:
        print("\n".join(entry.lines(False)))
        return 0
    text = inserted(path.read_text(encoding="utf-8") if path.exists() else "", entry)
    wrong = mistakes(workspace, path.name, text)
    if wrong is not None:
        print(wrong, file=sys.stderr)
        return 1
    replace(path, text)
    line = text.split("\n").index(entry.lines(False)[0]) + 1
    print(f"wrote {schema.name} to {workspace.declarations.name}/{name}:{line}")
    print("next: tengen gen, then tengen verify " + str(schema.name))
    return 0


def entry_fields(
    schema: Schema, options: argparse.Namespace, declared: Declarations
) -> dict[str, str | Sequence[str]]:
    """The keys of the entry and their values."""
    one = len(schema.returns) == 1 and schema.returns[0].type.is_tensor
    pointwise = one and not options.composite and is_pointwise(options.kernel, declared)
    takes_self = bool(schema.positional) and schema.positional[0].name == "self"
    key = COMPOSITES[0] if options.composite else options.backend or declared.backends[0].name
    fields: dict[str, str | Sequence[str]] = {"func": str(schema)}
    method = takes_self and not declared.library
    fields["variants"] = options.variants or ("function, method" if method else "function")
    tags = options.tags or ("[pointwise]" if pointwise else "")
    if tags:
        fields["tags"] = tags if tags.startswith("[") else f"[{tags}]"
    fields["dispatch"] = f"{key}: {options.kernel}"
    for given in ("dtypes", "doc", "reference"):
        if getattr(options, given):
            fields[given] = getattr(options, given)
    if options.sample:
        fields["samples"] = options.sample
    return fields


def is_pointwise(kernel: str, declared: Declarations) -> bool:
    """Whether a kernel is an expression of pointwise primitives alone."""
    try:
        tree = read_expression(kernel)
    except SyntaxError:
        return False
    called = [n for n in walk(tree) if isinstance(n, Call)]
    if isinstance(tree, Name) or any(not _of_namespace(n.function, declared) for n in called):
        return False
    return any(isinstance(n, Operation | Call) for n in walk(tree))


def _of_namespace(function: Expr, declared: Declarations) -> bool:
    """Whether it is a pointwise primitive, or a misspelt one, which the check names."""
    match function:
        case Attribute(Name("xp"), name):
            return name in declared.primitives or bool(suggestion(name, declared.primitives))
    return False


def likeliest_file(schema: Schema, tags: str | Sequence[str], declared: Declarations) -> str:
    """The file with the most operators of these tags and this number of Tensors."""
    wanted = {word.strip(" []") for word in str(tags).split(",")} - {""}

    def alike(operator: Operator) -> bool:
        tensors = sum(a.is_tensor for a in operator.schema.arguments)
        return operator.tags & wanted == wanted and tensors == sum(a.is_tensor for a in schema.arguments)

    own = (o for o in declared.operators if declared.owns(o.place))
    files = Counter(Path(o.place.file).name for o in own if alike(o))
    files = Counter({name: n for name, n in files.items() if mechanism_of(Path(name)) == _MECHANISM})
    return files.most_common(1)[0][0] if files else _DEFAULT_FILE


def written(key: str, value: str | Sequence[str]) -> list[str]:
    """A key's lines, as in a mapping that is indented by two."""
    if key == "dispatch":
        backend, _, kernel = str(value).partition(": ")
        return ["  dispatch:", f"    {backend}: {plain(kernel)}"]
    if isinstance(value, str):
        return [f"  {key}: {value if key in ('func', 'variants', 'tags') else plain(value)}"]
    return [f"  {key}: [{', '.join(quoted(v) for v in value)}]"]


def plain(text: str) -> str:
    """A YAML scalar that reads as ``text``: plain where that is possible, else quoted."""
    try:
        same = yaml.safe_load(f"key: {text}") == {"key": text}
    except yaml.YAMLError:
        same = False
    return text if same else quoted(text)


def quoted(text: str) -> str:
    """A YAML scalar in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def inserted(text: str, entry: EntryText) -> str:
    """The file with the entry in its sorted place, in the section where its neighbour stands."""
    layout = read_layout(text) if text.strip() else FileText([Section()])
    section, position = layout.sections[-1], len(layout.sections[-1].entries)
    for candidate in layout.sections:
        later = [i for i, e in enumerate(candidate.entries) if e.function > entry.function]
        if later:
            section, position = candidate, later[0]
            break
    section.entries.insert(position, entry)
    return layout.text()


def mistakes(workspace: Workspace, name: str, text: str) -> DeclarationErrors | None:
    """What would be wrong with the declarations if the file had this text."""
    with workspace.copy() as copy:
        (copy / name).write_text(text, encoding="utf-8")
        try:
            workspace.load_from(copy)
        except DeclarationErrors as errors:
            return errors
    return None
