"""The model: what each stage of the generator hands to the next.

Every class is a frozen dataclass and its fields are the documentation. The stages run in
the order of the sections below: ``read`` makes Entries, ``parse`` makes schemas and
formulas, ``check`` makes Operators of them, ``derive`` adds variants and derivatives,
``specialise`` makes method texts, ``hoist`` moves them up the class tree, ``render`` makes
files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from .ir import Call, Expr, names_in

# --------------------------------------------------------------------------------------
# read: where things are written


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a declaration file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def shifted(self, columns: int) -> Place:
        """The place ``columns`` further right on the same line."""
        return Place(self.file, self.line, self.column + columns)


@dataclass(frozen=True, slots=True)
class Located:
    """A YAML value and where it stands.

    ``value`` is a str, int, float, bool, None, a tuple of Located, or a mapping of str to
    Located. ``key`` is where its key stands when it is a mapping's value. For a string
    ``starts`` gives the place in the file of each of its lines' first characters, so that a
    column inside a formula, folded or not, can be pointed at.
    """

    value: Any
    place: Place
    key: Place | None = None
    starts: tuple[tuple[int, Place], ...] = ()

    def at(self, offset: int) -> Place:
        """The place of the character ``offset`` of a string value."""
        best = (0, self.place)
        for start in self.starts:
            if start[0] <= offset:
                best = start
        return best[1].shifted(offset - best[0])


@dataclass(frozen=True, slots=True)
class Entry:
    """One declaration as it stands in its file: keys and values, nothing understood yet."""

    mechanism: str  # "native" | "nn" | "cwrap" | "derivatives"
    place: Place
    fields: Mapping[str, Located]


# --------------------------------------------------------------------------------------
# parse: schemas


class SchemaType:
    """What can be asked of a type of the schema language."""

    __slots__ = ()

    @property
    def required(self) -> Type:
        """The type without the ``?``."""
        return self.element if isinstance(self, OptionalType) else cast("Type", self)

    @property
    def is_optional(self) -> bool:
        return isinstance(self, OptionalType)

    @property
    def is_tensor(self) -> bool:
        """``Tensor`` itself, not ``Tensor?``."""
        return self == BaseType("Tensor")

    @property
    def is_optional_tensor(self) -> bool:
        return self == OptionalType(BaseType("Tensor"))

    @property
    def is_tensor_list(self) -> bool:
        """``Tensor[]`` or ``Tensor?[]``."""
        return isinstance(self, ListType) and self.element.required.is_tensor

    @property
    def is_scalar(self) -> bool:
        """``Scalar``: a number of any kind."""
        return self == BaseType("Scalar")

    @property
    def is_dtype(self) -> bool:
        return self == BaseType("ScalarType")

    @property
    def is_optional_dtype(self) -> bool:
        return self == OptionalType(BaseType("ScalarType"))

    @property
    def is_int_list(self) -> bool:
        """``int[]``, of any length."""
        return isinstance(self, ListType) and self.size is None and str(self.element) in ("int", "SymInt")

    @property
    def is_option(self) -> bool:
        """Whether it is that of an option of factories: dtype, layout, device, pin_memory."""
        return self.is_optional and str(self.required) in ("ScalarType", "Layout", "Device", "bool")


@dataclass(frozen=True, slots=True)
class BaseType(SchemaType):
    """``Tensor``, ``Scalar``, ``int``, ``SymInt``, ``float``, ``bool``, ``str``, ``ScalarType``,
    ``Device``, ``Generator``, ...: the names of PyTorch's schema language."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OptionalType(SchemaType):
    element: Type

    def __str__(self) -> str:
        return f"{self.element}?"


@dataclass(frozen=True, slots=True)
class ListType(SchemaType):
    element: Type
    size: int | None

    def __str__(self) -> str:
        return f"{self.element}[{'' if self.size is None else self.size}]"


Type = BaseType | OptionalType | ListType


@dataclass(frozen=True, slots=True)
class Alias:
    """``(a)``, ``(a!)``, ``(a|b)``, ``(a! -> a|b)``: which memory an argument or result shares."""

    before: tuple[str, ...]
    write: bool
    after: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = "|".join(self.before) + ("!" if self.write else "")
        return text + (" -> " + "|".join(self.after) if self.after else "")


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    type: Type
    default: str | None = None  # as written: "1", "[]", "None", "Mean", "'none'"
    alias: Alias | None = None
    kwarg_only: bool = False
    offset: int = field(default=0, compare=False)  # of its first character in the schema's string

    def __str__(self) -> str:
        default = "" if self.default is None else f"={self.default}"
        return f"{_aliased(self.type, self.alias)} {self.name}{default}"

    @property
    def is_tensor(self) -> bool:
        """A Tensor or an optional Tensor (lists of tensors are not)."""
        return self.type.required.is_tensor

    @property
    def is_tensor_list(self) -> bool:
        return self.type.is_tensor_list

    @property
    def is_tensor_like(self) -> bool:
        return self.is_tensor or self.is_tensor_list


@dataclass(frozen=True, slots=True)
class Return:
    type: Type
    name: str | None = None
    alias: Alias | None = None

    def __str__(self) -> str:
        return _aliased(self.type, self.alias) + ("" if self.name is None else f" {self.name}")


def _aliased(kind: Type, alias: Alias | None) -> str:
    """A type with its alias annotation, which stands behind the base type: ``Tensor(a!)[]``."""
    text = str(kind)
    if alias is None:
        return text
    base = text.rstrip("?[]0123456789")
    return f"{base}({alias}){text[len(base) :]}"


@dataclass(frozen=True, slots=True)
class OperatorName:
    """``add_.Tensor``: base ``add``, in place, overload ``Tensor``."""

    base: str  # without the trailing underscore of an in-place operator
    inplace: bool = False
    dunder: bool = False  # __and__, __iand__ ...: base is written with its underscores
    overload: str = ""
    namespace: str = ""  # the library whose operator it is; empty for tengen's own

    @property
    def function(self) -> str:
        """The name without the overload, as formulas and Python have it: ``add_``."""
        return self.base + ("_" if self.inplace and not self.dunder else "")

    @property
    def called(self) -> str:
        """The name without the overload, as the runtime has it: ``add_``, ``mylib::foo``."""
        return f"{self.namespace}::{self.function}" if self.namespace else self.function

    @property
    def method(self) -> str:
        """The name of the generated method of a Type: ``add__Tensor``, ``exp``, ``mylib__foo``."""
        function = f"{self.namespace}__{self.function}" if self.namespace else self.function
        return f"{function}_{self.overload}" if self.overload else function

    def __str__(self) -> str:
        return f"{self.called}.{self.overload}" if self.overload else self.called


@dataclass(frozen=True, slots=True)
class Schema:
    """A parsed signature. ``str(schema)`` is the very string that was read."""

    name: OperatorName
    positional: tuple[Argument, ...]
    kwarg_only: tuple[Argument, ...]  # without out arguments
    out: tuple[Argument, ...]  # keyword-only, written to: Tensor(a!) out
    returns: tuple[Return, ...]
    parenthesised: bool = False  # whether the returns were written in parentheses

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """All arguments save the out ones, in order."""
        return self.positional + self.kwarg_only

    def __iter__(self) -> Iterator[Argument]:
        return iter(self.arguments)

    def __str__(self) -> str:
        keywords = self.kwarg_only + self.out
        arguments = [*map(str, self.positional), *(["*"] if keywords else []), *map(str, keywords)]
        returns = ", ".join(map(str, self.returns))
        if self.parenthesised:
            returns = f"({returns})"
        return f"{self.name}({', '.join(arguments)}) -> {returns}"


# --------------------------------------------------------------------------------------
# parse: expressions


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression of the declaration language, parsed as Python.

    ``source`` gives the text and, through ``source.at(offset)``, the place of every part of the
    ``tree``, whose names are still unresolved.
    """

    source: Located
    tree: Expr

    @property
    def text(self) -> str:
        return str(self.source.value)

    def names(self) -> frozenset[str]:
        return names_in(self.tree)


@dataclass(frozen=True, slots=True)
class Kernel:
    """What a backend runs: a function of runtime/native/ by name, or an expression over arrays.

    For the Composite keys it is a function of runtime/composite/, or an expression over Tensors.
    A function is written "module.function", below tengen.native or tengen.composite; when it is a
    library's, "@mylib.native.module.function"; and "scipy.special:erf" elsewhere.
    """

    formula: Formula
    function: str | None = None  # for a bare name
    calls: Mapping[str, str] = field(default_factory=dict)  # functions that an expression names


# --------------------------------------------------------------------------------------
# check: operators and derivatives


#: What the rule of a write through a view calls the new contents of the view.
WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class Rule:
    """What an operator becomes elsewhere, as in ONNX: an expression, or a function by its name.

    Functions are written "module.function", below the package of the rule, or as a Kernel's.
    """

    formula: Formula
    function: str | None = None
    calls: Mapping[str, str] = field(default_factory=dict)  # functions that an expression names
    takes_result: bool = False  # whether the function has a last argument ``result``
    derived: bool = False  # from a kernel, not written


@dataclass(frozen=True, slots=True)
class Sample:
    """A call's arguments as written, e.g. ``[3, 4], dim=1``; ``raises`` for bad input.

    ``dtypes`` are the scalar types that it is for (``... for complex``); None: those of the operator.
    """

    source: Located
    call: Call
    raises: str | None = None
    dtypes: frozenset[str] | None = None


#: A number, or nested lists of numbers.
Nested = float | tuple["Nested", ...]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a sample gives: its results by name, and by argument the gradients of the sum of the results.

    ``tangents`` are what that sum moves by with an element of an argument, where this is another number.
    """

    sample: Sample
    results: Mapping[str, Nested]
    gradients: Mapping[str, Nested]
    tangents: Mapping[str, Nested]


@dataclass(frozen=True, slots=True)
class Batching:
    """How an operator is run for many examples at once; declarations/README.md has the kinds."""

    #: "pointwise" | "broadcast" | "reduction" | "leading" | "loss" | "random" | "fold" | "values" |
    #: "decompose" | "become" | "refuse" | "cases"
    kind: str
    tensors: tuple[str, ...]  # the arguments that are given with the examples in front
    dims: tuple[str, ...] = ()
    added: int = 0
    sizes: tuple[str, ...] = ()
    atleast_1d: bool = False  # whether tensors without dimensions count as having one, and may meet vectors
    rank: int = 0  # of what is not folded
    formula: Formula | None = None
    helpers: Mapping[str, str] = field(default_factory=dict)  # "module.function" below tengen.formulas
    text: str = ""  # why it is refused
    cases: tuple[tuple[tuple[str, ...] | None, Batching], ...] = ()  # by the arguments that have examples


@dataclass(frozen=True, slots=True)
class ResultLayout:
    """The layout of a result: "contiguous", "column_major", or one that is made from that of arguments."""

    kind: str
    arguments: tuple[str, ...] = ()
    flag: str | None = None  # a bool argument, without which it is contiguous


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator, whichever file it came from."""

    schema: Schema
    place: Place
    mechanism: str  # for diagnostics only
    variants: frozenset[str] = frozenset({"function"})
    kernels: Mapping[str, Kernel] = field(default_factory=dict)  # by dispatch key
    tags: frozenset[str] = frozenset()
    autogen: tuple[OperatorName, ...] = ()
    python_module: str | None = None
    operators: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # __mul__: (self, other)
    promote: str | None = None  # None: the operator does no promotion
    promoted: tuple[str, ...] = ()  # the arguments that take part
    zero_dim: tuple[str, ...] = ()  # those of same_dtype that may be of another dtype where they are 0-d
    numbers: str | None = None  # how numbers are converted to an integral dtype: None where they wrap
    dtypes: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by backend
    refuse: Mapping[str, str] = field(default_factory=dict)  # category of an operand: the error's text
    same_dtype: tuple[str, ...] = ()  # the Tensor arguments that must have one dtype
    result: str = "dynamic"  # "same" | "bool" | "real" | "int64" | "dynamic"
    layout: tuple[ResultLayout | None, ...] = ()  # of each result; () for what follows from the tags
    out: str = "cast"  # which dtypes out arguments may have: "cast", "exact", "computed" or "truth"
    overlap: Mapping[str, str] = field(
        default_factory=dict
    )  # argument: what it may share with what is written, "none" or "free"
    opmath: bool = True  # reduced floating types compute in float32
    factory: tuple[str, ...] | None = None  # see declarations/README.md
    domain: Mapping[str, str] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    reference: Formula | None = None
    determined: tuple[Formula, ...] = ()  # expressions of results that are not unique themselves
    expected: tuple[Expected, ...] = ()  # values at ties, at NaN, and where else they are a convention
    tolerance: Mapping[str, float] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)  # reasons, by ScalarType or aspect
    saves_result: bool = False  # whether a derivative that follows from the kernel may save the result
    symbolic: Rule | None = None  # over ONNX's operators
    no_symbolic: str = ""  # why none follows from the kernel
    write_back: Rule | None = None  # of a view: the tensor after a write to the view
    doc: str = ""
    accepted: Mapping[str, Located] = field(default_factory=dict)  # PyTorch's keys without effect here
    batching: Batching | None = None  # what vmap does to it; None: by its parts, or example by example

    @property
    def name(self) -> OperatorName:
        return self.schema.name

    @property
    def is_elementwise(self) -> bool:
        """Whether its kernel may be called on parts of its operands."""
        return not ELEMENTWISE.isdisjoint(self.tags)

    @property
    def result_kind(self) -> str:
        """How a result's Type follows: "same", "bool", "real", "int64" or "dynamic"."""
        if self.result != "dynamic" or "pointwise" not in self.tags:
            return self.result
        return _RESULT_OF_PROMOTION.get(self.promote or "", "same" if self.promote else "dynamic")


#: The tags that say that each element of the results comes from the elements at the same place.
ELEMENTWISE = frozenset({"pointwise", "elementwise"})
_RESULT_OF_PROMOTION = {"always_bool": "bool", "complex_to_float": "real"}


@dataclass(frozen=True, slots=True)
class Shared:
    """A part that formulas have in common, or that one has several times: it is computed before them."""

    name: str  # by which the formulas call it
    formula: Formula
    users: tuple[str, ...]  # the inputs, or the results, whose formulas need it


@dataclass(frozen=True, slots=True)
class Derivative:
    """An entry of derivatives.yaml, names resolved."""

    name: OperatorName
    place: Place
    gradients: Mapping[tuple[str, ...], Formula]  # ("self",) or jointly ("self", "other")
    jvps: Mapping[str, Formula] = field(default_factory=dict)  # by result: "result", "values"
    non_differentiable: frozenset[str] = frozenset()
    output_differentiability: tuple[bool, ...] | None = None
    dispatch: Mapping[str, Derivative] = field(default_factory=dict)  # per-key alternatives
    helpers: Mapping[str, str] = field(default_factory=dict)  # "module.function" below tengen.formulas
    node: str | None = None  # the name that its Node shows
    shared: tuple[Shared, ...] = ()  # of gradients; only derived entries have some
    jvp_shared: tuple[Shared, ...] = ()


@dataclass(frozen=True, slots=True)
class ScalarType:
    """One scalar type, from scalar_types.yaml."""

    name: str  # "Float"
    dtype: str  # "float32", the name users write
    aliases: tuple[str, ...]  # ("float",)
    category: str  # "bool" | "integral" | "floating" | "reduced" | "complex"
    array: str  # numpy's name, or "ml_dtypes:bfloat16"
    opmath: str  # the ScalarType computed in: "Float" for Half
    real: str  # the ScalarType of abs(): "Float" for ComplexFloat
    promotes_to: tuple[str, ...]  # its immediate superiors in the promotion lattice


@dataclass(frozen=True, slots=True)
class Backend:
    """One backend, from backends.yaml."""

    name: str  # "CPU"
    device: str  # "cpu"
    library: str  # the module, or "module:object", that implements tengen.backend.Library for it
    namespace: str  # the module that is ``xp`` in expressions
    kernels: tuple[str, ...]  # modules of kernel functions
    scalar_types: tuple[str, ...]
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    library_of: str = ""  # the library that declares it; empty for tengen's own


@dataclass(frozen=True, slots=True)
class Primitive:
    """An elementwise function that kernels written as expressions may use, from primitives.yaml."""

    name: str  # "arctan2", of the array namespace
    arguments: int
    operator: str | None = None  # the same function over Tensors: "atan2"
    symbol: str | None = None  # the same in Python: "+", "-x"
    helper: str | None = None  # the same of Python numbers: "module.function", below tengen.formulas
    #: By each argument, in x, y, z and result; None where nothing flows, to a condition or from one.
    derivative: tuple[Formula | None, ...] | None = None
    real: bool = False  # whether these hold for real arguments only
    out: bool = True  # whether the array namespace has it with ``out=``, as it has ufuncs
    costly: bool = False  # whether an element takes longer to compute than to bring from memory
    onnx: Rule | None = None  # in x, y and z, as ONNX


@dataclass(frozen=True, slots=True)
class Declarations:
    """Everything that was declared, checked."""

    operators: tuple[Operator, ...]
    derivatives: tuple[Derivative, ...]
    scalar_types: tuple[ScalarType, ...]
    backends: tuple[Backend, ...]
    tags: Mapping[str, str]
    primitives: Mapping[str, Primitive] = field(default_factory=dict)
    library: str = ""  # whose declarations they are, on top of tengen's; empty for tengen's own
    folder: str = ""  # of the library's declarations, as places have it

    def owns(self, place: Place) -> bool:
        """Whether something is declared where code is generated for: by the library, if there is one."""
        return place.file.startswith(self.folder)


# --------------------------------------------------------------------------------------
# derive: variants, Nodes, jvps


@dataclass(frozen=True, slots=True)
class Variant:
    """An operator as it will be generated, and how it relates to the one that was declared."""

    operator: Operator
    kind: str  # "functional" | "view" | "inplace" | "out" | "composite"
    base: OperatorName | None = None  # the functional operator of an in-place or out variant
    exposed: bool = True  # False: a method of Types only, without a binding

    @property
    def name(self) -> OperatorName:
        return self.operator.schema.name


@dataclass(frozen=True, slots=True)
class Saved:
    """One value that a Node keeps for its formulas.

    ``what`` is "tensor", "tensors" (a list), "result", "value", or the metadata kept of a tensor
    or a list of them: "shape", "type", "stride", "storage_offset".
    ``needed_by`` are the positions, among the Node's inputs, whose formulas use it.
    """

    slot: str  # "_self", "_self_shape"
    source: str  # the argument or result it comes from
    what: str
    needed_by: tuple[int, ...]
    index: int = 0  # of a result: its number
    condition: str = ""  # of wrap_opt_if: when it is kept


@dataclass(frozen=True, slots=True)
class Gradient:
    """The formula of one input, or jointly of several, of a Node."""

    inputs: tuple[int, ...]  # positions among the Node's inputs
    formula: Formula
    target: str | None = None  # a part that the formulas of these inputs share, by its name in them


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A backward Node: what it saves and the formulas it applies."""

    name: str  # the class, "MulBackward0"
    operator: Operator
    inputs: tuple[Argument, ...]  # the differentiable arguments, in the schema's order
    outputs: tuple[int, ...]  # the differentiable results
    gradients: tuple[Gradient, ...]
    saved: tuple[Saved, ...]
    place: Place
    shown: str | None = None  # the name that users see, where it is not the class's
    helpers: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[Argument, ...] = ()  # Tensor arguments of which the entry says nothing
    module: str = "_nodes"  # what generated code calls the module of the class

    @property
    def constants(self) -> tuple[int, ...]:
        """The numbers of the saved results that have no gradient."""
        return tuple(s.index for s in self.saved if s.what == "result" and s.index not in self.outputs)


@dataclass(frozen=True, slots=True)
class JvpSpec:
    """The forward-mode derivative of an operator: a function of primals, tangents and results."""

    name: str
    operator: Operator
    formulas: tuple[tuple[int, Formula], ...]  # by result
    kind: str  # "formula" | "auto_linear" | "auto_element_wise"
    place: Place
    helpers: Mapping[str, str] = field(default_factory=dict)
    shared: tuple[Shared, ...] = ()


# --------------------------------------------------------------------------------------
# specialise: classes of Nodes (methods.py has those of Types)


@dataclass(frozen=True, slots=True)
class Branch:
    """The part of a Node's apply that computes the gradients of some inputs."""

    condition: str
    prepare: tuple[str, ...]  # statements that unpack what the formula uses
    targets: str  # "g0" or "g0, g1"
    formula: str
    statements: tuple[str, ...] = ()  # what the formula has names for
    small: str = ""  # the condition for computing so; else ``blocked`` are the statements that compute
    blocked: tuple[str, ...] = ()
    several: bool = False  # whether it gives the gradients of a list of tensors
    gives_arrays: bool = False  # whether ``formula`` gives an array also where NumPy has scalars


@dataclass(frozen=True, slots=True)
class NodeClass:
    """The class of a Node in one of its two forms: over Tensors, or over arrays."""

    name: str
    bases: str
    slots: tuple[str, ...]
    parameter: str  # "grad" or "grads"
    gradients: tuple[str, ...]  # the names set to None first
    common: tuple[tuple[str, tuple[str, ...]], ...]  # conditions, and what several branches would unpack
    branches: tuple[Branch, ...]
    returned: str
    released: tuple[str, ...] = ()  # the slots whose use after backward is an error
    shown: str | None = None  # the name that users see, where it is not the class's
    num_inputs: int | None = 1  # how many gradients it receives; None: as many as the list has
    constants: tuple[int, ...] = ()  # the saved results that have no gradient
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """What the sum of a forward-mode formula has of one tangent."""

    tangent: str
    first: str  # where it is the only one so far
    further: str  # the operator and the operand that add it to others


@dataclass(frozen=True, slots=True)
class JvpFunction:
    """A forward-mode function."""

    name: str
    parameters: str
    zeros: tuple[tuple[str, str], ...]  # tangents that may be None, and their primals
    formulas: tuple[str, ...]
    doc: str
    shared: tuple[tuple[str, str], ...] = ()  # names and what is assigned to them before
    terms: tuple[Term, ...] = ()  # of a sum by tangents that may be None, of which the formula is made


# --------------------------------------------------------------------------------------
# render and write


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A generated file: its path below the output folder and its text."""

    path: str
    text: str
