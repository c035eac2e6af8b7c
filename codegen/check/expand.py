"""Check: what each of the three mechanisms declares, as the same kind of declaration.

A native entry declares one operator.  A cwrap block declares one whose kernel is a function of
a library.  An nn entry declares up to three operators and the derivatives that join them.
Nothing after this module knows which it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ..model.diagnostics import Report, suggestion
from ..model.names import IMPLICIT
from ..model.operators import ELEMENTWISE
from ..model.schema import Argument, BaseType, ListType, OperatorName, Return, Schema
from ..model.source import Entry, Located, Place
from ..parse.formula import as_text
from ..parse.schema import SchemaError, parse_schema
from ..read.fields import check_keys, known_word, known_words, length_of_scalar, require_keys, words
from ..read.functions import FunctionIndex, is_library_function
from ..read.keys import KEYS
from .body_kinds import OF_PLACES, kind_of_body
from .moves import is_move, linear
from .tables import Tables
from .windows import count_of_dims, is_maximum, is_window, read_at

_TENSOR = BaseType("Tensor")


@dataclass(frozen=True, slots=True)
class Declared:
    """One operator's schema and the keys of its entry, named as in native_functions.yaml."""

    schema: Schema
    place: Place
    mechanism: str
    fields: Mapping[str, Located]
    source: Located | None  # the string of the schema; None when the schema was derived
    given: frozenset[str] = frozenset()  # the keys that were written, rightly or not
    transposes: Declared | None = None  # the operator whose body, transposed, it has


def parse_located_schema(located: Located, report: Report) -> tuple[Schema, Located] | None:
    """The schema that a YAML string writes; mistakes are reported at their column."""
    source = as_text(located)
    try:
        return parse_schema(source.value), source
    except SchemaError as error:
        report.error(
            source.at(error.offset),
            error.message,
            length=error.length,
            expected=error.expected,
            help=error.help,
        )
        return None


def expand(
    entry: Entry, tables: Tables, functions: FunctionIndex, report: Report
) -> tuple[list[Declared], list[Entry]]:
    """The operators and the derivative entries that an entry of any mechanism stands for."""
    keys = KEYS[entry.mechanism]
    fields = check_keys(entry.fields, keys, "an entry of " + _FILE_OF[entry.mechanism], report)
    head = "func" if entry.mechanism == "native" else "name"
    if head not in fields:
        # A misspelt "func" is reported as an unknown key.
        if head not in entry.fields and not suggestion(head, entry.fields):
            expected = f"{head}: a schema, for instance exp(Tensor self) -> Tensor"
            report.error(entry.place, f'an entry without the key "{head}"', expected=expected)
        return [], []
    required = _REQUIRED[entry.mechanism]
    if entry.mechanism == "nn" and not _says_kernels(entry.fields):
        required = ("cname", *required)
    require_keys(entry.fields, required, keys, entry.place, report)
    written = fields.pop(head)
    parsed = parse_located_schema(written, report)
    if parsed is None:
        report.unread.add(as_text(written).value.split("(")[0])
        return [], []
    schema, source = parsed
    declared = Declared(schema, entry.place, entry.mechanism, fields, source, frozenset(entry.fields))
    if entry.mechanism == "cwrap":
        return _expand_cwrap(declared, tables, report), []
    if entry.mechanism == "nn":
        return _Nn(declared, tables, functions, report).expand()
    return [declared], []


_REQUIRED = {"native": (), "cwrap": ("cname", "types", "backends"), "nn": ("gradients",)}
#: What an nn entry has in the place of kernels by name, if it has no body.
_DISPATCHES = {"dispatch", "backward_dispatch"}
_FILE_OF = {"native": "native_functions.yaml", "nn": "nn.yaml", "cwrap": "a cwrap file"}


def _says_kernels(fields: Mapping[str, Located]) -> bool:
    """Whether an nn entry says its kernels, if not by name."""
    body = fields.get("body")
    return fields.keys() >= _DISPATCHES or (body is not None and is_move(body))


def _expand_cwrap(declared: Declared, tables: Tables, report: Report) -> list[Declared]:
    fields = dict(declared.fields)
    cname = fields.pop("cname", None)
    backends = fields.pop("backends", None)
    if "types" in fields:
        fields["dtypes"] = fields.pop("types")
    dispatch = dict(fields["dispatch"].value) if "dispatch" in fields else {}
    if backends is not None and cname is not None:
        if not is_library_function(cname.value):
            report.error(
                cname.place,
                f'"{cname.value}" names no function of a library',
                length=length_of_scalar(cname),
                expected="module:function, as scipy.special:erf",
            )
            cname = None
        for backend, place in words(backends, report):
            if not known_word(backend, place, tables.backends, "backend", report) or cname is None:
                continue
            if backend in dispatch:
                report.error(place, f"{backend} has a kernel in dispatch and by cname", length=len(backend))
            dispatch[backend] = cname
    if dispatch:
        fields["dispatch"] = Located(dispatch, declared.place, declared.place)
    # A block whose cname or backends are wrong is not also said to have no kernel.
    return [replace(declared, fields=fields, given=declared.given | {"dispatch"})]


class _Nn:
    """The expansion of one nn entry; see declarations/README.md."""

    def __init__(self, declared: Declared, tables: Tables, functions: FunctionIndex, report: Report) -> None:
        self.declared, self.tables, self.functions, self.report = declared, tables, functions, report
        self.schema = declared.schema
        self.place = declared.place
        self.fields = dict(declared.fields)
        self.base = str(self.schema.name.base)
        self.arguments = tuple(replace(a, kwarg_only=False) for a in self.schema.arguments)

    def expand(self) -> tuple[list[Declared], list[Entry]]:
        if "gradients" not in self.fields or not ("cname" in self.fields or _says_kernels(self.fields)):
            return [], []
        if not self.checked():
            return [], []
        self.cname = self.fields.pop("cname", None)
        self.origin = self.cname or Located(self.base, self.place)
        self.buffers = tuple(self.buffer_names())
        self.backward_layout = self.fields.pop("backward_layout", None)
        self.backward_flops = self.fields.pop("backward_flops", None)
        self.backward_batching = self.fields.pop("backward_batching", self.fields.get("batching"))
        self.gradients = tuple(self.gradient_names())
        self.unsaved = frozenset(self.unsaved_names())
        self.moves = kind_of_body(self.schema, self.fields.get("body")) in OF_PLACES
        self.maxima = self.moves and is_maximum(self.fields["body"])
        self.result = self.fields.pop("result", self.tangent())
        backward_derivatives = self.fields.pop("backward_derivatives", self.of_transposed())
        backward_dispatch = self.fields.pop("backward_dispatch", None)
        self.backward_native = self.fields.pop("backward_native", None)
        operators = [self.backward(backward_dispatch)]
        operators += self.with_buffers() if self.buffers else self.without_buffers()
        entries = [self.forward_derivative()]
        if backward_derivatives is not None:
            name = Located(f"{self.base}_backward", backward_derivatives.place, backward_derivatives.key)
            fields = {"name": name, **backward_derivatives.value}
            entries.append(Entry("derivatives", backward_derivatives.place, fields))
        return operators, entries

    def checked(self) -> bool:
        """Whether the schema is of the form that nn.yaml takes."""
        schema, source = self.schema, self.declared.source
        assert source is not None
        if schema.name.overload or schema.name.inplace or schema.out:
            self.report.error(
                source.place,
                "an nn operator has no overload and is not an in-place or out variant",
                length=len(str(schema.name)),
                expected="a plain name",
            )
            return False
        if [str(r) for r in schema.returns] != ["Tensor"]:
            offset = source.value.rindex("->") + 3
            self.report.error(
                source.at(offset),
                "an nn operator returns one Tensor",
                length=len(source.value) - offset,
                expected="-> Tensor (name the further results of the forward kernel in buffers)",
            )
            return False
        return True

    def buffer_names(self) -> Iterator[str]:
        taken = {a.name for a in self.arguments} | {"output", "grad_output", "output_mask"}
        for word, place in words(self.fields.pop("buffers"), self.report) if "buffers" in self.fields else ():
            if word in taken or not word.isidentifier():
                self.report.error(
                    place,
                    f'"{word}" cannot name a buffer',
                    length=len(word),
                    expected="a name that no argument or other result has",
                )
            else:
                taken.add(word)
                yield word

    def gradient_names(self) -> Iterator[str]:
        tensors = [a.name for a in self.arguments if a.is_tensor]
        yield from known_words(self.fields.pop("gradients"), tensors, "Tensor argument", self.report)

    def unsaved_names(self) -> Iterator[str]:
        optional = [a.name for a in self.arguments if a.type.is_optional_tensor]
        located = self.fields.pop("unsaved", None)
        for word, place in words(located, self.report) if located is not None else ():
            if word in optional:
                yield word
            else:
                self.report.error(place, f'"{word}" is no optional Tensor argument', length=len(word),
                                  expected="a Tensor? argument, for which the backward kernel gets None",
                                  help=suggestion(word, optional))  # fmt: skip

    # -- the operators

    def tangent(self) -> Located | None:
        """The tangent of an operator whose body says of places where elements are from."""
        if self.maxima:
            return self.text(self.chosen(f"{self.arguments[0].name}_t"))
        return self.text("auto_linear") if self.moves else None

    def chosen(self, tensor: str) -> str:
        """What of a tensor is where the maxima are."""
        return read_at(tensor, "".join(self.buffers), count_of_dims(self.schema, self.fields["body"]))

    def of_transposed(self) -> Located | None:
        """The derivatives of an operator that puts elements back: they are moved again."""
        if not self.moves or len(self.arguments) < 1:
            return None
        body, first = self.fields["body"], self.arguments[0].name
        others = "".join([f", {name}" for name in (*[a.name for a in self.arguments[1:]], *self.buffers)])
        formulas = {
            "grad_output": self.chosen("grad") if self.maxima else linear(self.schema, body, "grad"),
            first: "zeros_like(grad)",
            **dict.fromkeys(self.buffers, "non_differentiable"),
            "result": f"{self.base}_backward(grad_output_t, {first}_p{others})",
        }
        return replace(body, value={k: replace(body, value=v, starts=()) for k, v in formulas.items()})

    def kernels(self, suffix: str, given: Located | None) -> Located | None:
        """The dispatch of the forward or the backward operator; None where a body says it.

        A backend's own kernel, ``meta_NAME_forward``, goes before one without its device's name.
        """
        if self.cname is None:
            return given
        dispatch = dict(given.value) if given is not None else {}
        written = {name.strip() for key in dispatch for name in key.split(",")}
        name = f"{self.cname.value}_{suffix}"
        named = False
        for backend in self.tables.backends.values():
            if backend.runs_generically:  # it has the kernels of arrays in its own way
                continue
            modules = frozenset(backend.kernels)
            for candidate in (f"{backend.device}_{name}", name):
                if self.functions.find(candidate, modules):
                    named = True
                    if backend.name not in written:
                        dispatch[backend.name] = Located(candidate, self.cname.place, self.cname.key)
                    break
        if not named:
            self.report.error(
                self.cname.place,
                f'no backend has a kernel "{name}"',
                length=length_of_scalar(self.cname),
                expected=f"def {name}(...) in runtime/kernels/",
                help=suggestion(name, self.functions.names()),
            )
        return Located(dispatch, self.cname.place, self.cname.key)

    def derived(self, schema: Schema, fields: Mapping[str, Located]) -> Declared:
        kept = {
            k: v
            for k, v in self.fields.items()
            if k in ("dtypes", "opmath", "promote", "python_module", "structured")
        }
        own = self.fields.get("tags")
        given = [] if own is None else words(own, Report())  # what is wrong in it is said of the operator
        passed = [Located(word, place) for word, place in given if word in ELEMENTWISE]
        made = (Located(word, self.place) for word in ("generated", "internal"))
        tags = Located((*made, *passed), self.place)
        return Declared(
            schema, self.place, "nn", {**kept, "tags": tags, **fields}, None, frozenset({"dispatch"})
        )

    def text(self, value: str) -> Located:
        return Located(value, self.origin.place, self.origin.key)

    def backward(self, dispatch: Located | None) -> Declared:
        """``NAME_backward(grad_output, arguments, buffers, output_mask)``."""
        arguments = [Argument("grad_output", _TENSOR)]
        arguments += [replace(a, default=None) for a in self.arguments]
        arguments += [Argument(b, _TENSOR) for b in self.buffers]
        count = len(self.gradients)
        if count > 1:
            arguments.append(Argument("output_mask", ListType(BaseType("bool"), count)))
        returns = tuple(Return(_TENSOR, f"grad_{g}" if count > 1 else None) for g in self.gradients)
        schema = Schema(OperatorName(f"{self.base}_backward"), tuple(arguments), (), (), returns, count > 1)
        doc = self.text(f"The gradients of ``{self.base}``.")
        fields = {"doc": doc, "dtypes": self.inexact(), **self.dispatched("backward", dispatch)}
        if self.moves:
            fields["result"] = self.text("same")
            if not is_window(self.fields["body"]):
                fields["opmath"] = Located(False, self.place)
        if self.backward_batching is not None:
            fields["batching"] = self.backward_batching
        if self.backward_layout is not None:
            fields["layout"] = self.backward_layout
        if self.backward_flops is not None:
            fields["flops"] = self.backward_flops
        if self.backward_native is not None:
            fields["native"] = self.backward_native
        made = self.derived(schema, fields)
        return replace(made, transposes=self.forward()) if self.moves else made

    def dispatched(self, suffix: str, given: Located | None) -> dict[str, Located]:
        """The field ``dispatch`` of the forward or the backward operator."""
        kernels = self.kernels(suffix, given)
        return {} if kernels is None else {"dispatch": kernels}

    def inexact(self) -> Located:
        """The dtypes that have gradients: what is declared, without bools and integers."""
        declared = self.fields.get("dtypes")
        if declared is None:
            return self.text("all, -bool, -integral")
        if isinstance(declared.value, str):
            return replace(declared, value=f"{declared.value}, -bool, -integral")
        if isinstance(declared.value, tuple):
            without = (Located(word, declared.place) for word in ("-bool", "-integral"))
            return replace(declared, value=(*declared.value, *without))
        return declared

    def forward(self) -> Declared:
        """The recorded operator: NAME, or ``NAME_forward``, which returns the buffers too."""
        if not self.buffers:
            return self.declared
        returns = (Return(_TENSOR, "output"), *(Return(_TENSOR, b) for b in self.buffers))
        schema = Schema(
            OperatorName(f"{self.base}_forward"),
            self.schema.positional,
            self.schema.kwarg_only,
            (),
            returns,
            True,
        )
        doc = self.text(f"``{self.base}``, and what its backward needs.")
        made = {"doc": doc, **self.dispatched("forward", self.fields.get("dispatch"))}
        made |= {k: self.fields[k] for k in ("batching", "body", "layout") if k in self.fields}
        return self.derived(schema, made)

    def with_buffers(self) -> list[Declared]:
        """A recorded ``NAME_forward`` that returns the buffers too, and NAME, which drops them."""
        of_kernel = ("batching", "body", "dtypes", "layout", "native", "opmath", "promote", "dispatch")
        fields = {k: v for k, v in self.fields.items() if k not in of_kernel}
        opmath = self.fields.get("opmath")
        if opmath is not None and opmath.value is True:  # what the backward is given is of float32, too
            fields["opmath"] = opmath
        return [
            self.forward(),
            replace(self.declared, fields={**fields, "dispatch": self.composite("_forward", "[0]")}),
        ]

    def without_buffers(self) -> list[Declared]:
        """NAME itself is recorded; ``NAME_forward`` is another name for it."""
        kernels = self.dispatched("forward", self.fields.get("dispatch"))
        operator = replace(self.declared, fields={**self.fields, **kernels})
        schema = replace(self.schema, name=OperatorName(f"{self.base}_forward"))
        alias = self.derived(schema, {"doc": self.text(f"The same as ``{self.base}``.")})
        fields = {k: v for k, v in alias.fields.items() if k not in ("dtypes", "opmath", "promote")}
        return [operator, replace(alias, fields={**fields, "dispatch": self.composite("", "")})]

    def composite(self, suffix: str, after: str) -> Located:
        """The expression that calls ``NAME + suffix`` with all arguments."""
        given = [a.name for a in self.schema.positional] + [
            f"{a.name}={a.name}" for a in self.schema.kwarg_only
        ]
        call = f"{self.base}{suffix}({', '.join(given)}){after}"
        return replace(self.text(""), value={IMPLICIT: self.text(call)})

    def forward_derivative(self) -> Entry:
        """The derivative entry of the recorded operator."""
        arguments = ("None" if a.name in self.unsaved else a.name for a in self.arguments)
        given = ["grad", *arguments, *self.buffers]
        if len(self.gradients) > 1:
            given.append("grad_input_mask")
        fields = {
            "name": self.text(self.base + ("_forward" if self.buffers else "")),
            ", ".join(self.gradients): self.text(f"{self.base}_backward({', '.join(given)})"),
        }
        if self.result is not None:
            fields["output" if self.buffers else "result"] = self.result
        if self.buffers:
            flags = (True, *(False for _ in self.buffers))
            fields["output_differentiability"] = Located(
                tuple(Located(f, self.place) for f in flags), self.place
            )
        return Entry("derivatives", self.place, fields)
