"""What is declared: operators, derivatives, backends, scalar types and primitives, checked."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...ir.accesses import Access
from ...ir.bodies import Body
from ...ir.contractions import Contraction
from ...ir.expressions import Call, Expr, names_in
from ...ir.factories import Factory
from ...ir.kernels import NativeKernel
from ...ir.moves import Move
from ...ir.routines import Routine, Routines
from ...ir.views import View
from ...ir.windows import Window
from .modules import ModuleClass
from .names import APART, IMPLICIT, LIMITED, STRIDED
from .optimizers import OptimizerUpdate
from .schema import (
    OperatorName,
    Schema,
)
from .source import Located, Place

#: What the body of an operator may say.
Said = Body | Move | Window | View | Contraction | Access | Factory


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

    @property
    def implemented(self) -> bool:
        """Whether it computes something, and does not only say that nothing does."""
        return not self.text.startswith("not_implemented(")

    def names(self) -> frozenset[str]:
        return names_in(self.tree)


@dataclass(frozen=True, slots=True)
class Kernel:
    """What a backend runs: a function of runtime/kernels/ by name, or an expression over arrays.

    For the Composite keys it is a function of runtime/composite/, or an expression over Tensors.
    A function is written "module.function", below tengen.kernels or tengen.composite; when it is a
    library's, "@mylib.kernels.module.function"; and "scipy.special:erf" elsewhere.
    """

    formula: Formula
    function: str | None = None  # for a bare name
    calls: Mapping[str, str] = field(default_factory=dict)  # functions that an expression names
    #: By operand the call that looks at it, or converts it, before the expression is computed.
    prepared: Mapping[str, Expr] = field(default_factory=dict)
    masks: frozenset[str] = frozenset()  # those of them that are bool then


#: What the rule of a write through a view calls the new contents of the view.
WRITTEN = "written"
#: What rules call what the operator gives: a Tensor, or several.
RESULT = "result"


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
    """How an operator is run on a batch; declarations/README.md has the kinds."""

    #: "pointwise" | "broadcast" | "reduction" | "leading" | "loss" | "random" | "fold" | "values" |
    #: "decompose" | "become" | "refuse" | "cases"
    kind: str
    tensors: tuple[str, ...]  # the arguments that are given with the batch dimension in front
    dims: tuple[str, ...] = ()
    added: int = 0
    sizes: tuple[str, ...] = ()
    atleast_1d: bool = False  # whether tensors without dimensions count as having one, and may meet vectors
    rank: int = 0  # of what is not folded
    formula: Formula | None = None
    helpers: Mapping[str, str] = field(default_factory=dict)  # "module.function" below tengen.formulas
    text: str = ""  # why it is refused
    cases: tuple[tuple[tuple[str, ...] | None, Batching], ...] = ()  # by the arguments that are batched


@dataclass(frozen=True, slots=True)
class ResultLayout:
    """The layout of a result: "contiguous", "column_major", or one that is made from that of arguments."""

    kind: str
    arguments: tuple[str, ...] = ()
    flag: str | None = None  # a bool argument, without which it is contiguous


@dataclass(frozen=True, slots=True)
class Forbidden:
    """What arguments may not be, a condition over them and the ndim of Tensors, and the text of the error.

    The text may have such values in braces.
    """

    condition: Expr
    text: str


def fields_of(text: str) -> tuple[str, ...]:
    """What stands in braces in a text. Raises ValueError where braces do not fit."""
    return tuple([name for _, name, _, _ in string.Formatter().parse(text) if name is not None])


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
    inplace_variants: frozenset[str] | None = None  # of the in-place one of autogen; None: as ``variants``
    python_module: str | None = None
    operators: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # __mul__: (self, other)
    deprecated: tuple[tuple[str, ...], ...] = ()  # orders of positional arguments that it takes, too
    promote: str | None = None  # None: the operator does no promotion
    promoted: tuple[str, ...] = ()  # the arguments that take part
    zero_dim: tuple[str, ...] = ()  # those of same_dtype that may be of another dtype where they are 0-d
    numbers: str | None = None  # how numbers are converted to an integral dtype: None where they wrap
    dtypes: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by backend
    refuse: Mapping[str, str] = field(default_factory=dict)  # category of an operand: the error's text
    refuse_args: tuple[str, ...] = ()  # the operands all of which must be so; where none is named any one
    forbidden: tuple[Forbidden, ...] = ()
    same_dtype: tuple[str, ...] = ()  # the Tensor arguments that must have one dtype
    result: str = "dynamic"  # "same" | "bool" | "real" | "int64" | "dynamic"
    layout: tuple[ResultLayout | None, ...] = ()  # of each result; () for what follows from the tags
    #: By backend, the sets of Tensor arguments that may be of its layouts together, the others being strided;
    #: None for any.
    layouts: Mapping[str, tuple[tuple[str, ...], ...] | None] = field(default_factory=dict)
    out: str = "cast"  # which dtypes out arguments may have: "cast", "exact", "computed" or "truth"
    overlap: Mapping[str, str] = field(
        default_factory=dict
    )  # argument: what it may share with what is written, "none" or "free"
    opmath: bool = True  # reduced types compute in float32
    rounds_to_first: bool = False  # a composite's results are of the dtype of its first tensor
    factory: tuple[str, ...] | None = None  # see declarations/README.md
    domain: Mapping[str, str] = field(default_factory=dict)
    samples: tuple[Sample, ...] = ()
    reference: Formula | None = None
    determined: tuple[Formula, ...] = ()  # expressions of results that are not unique themselves
    expected: tuple[Expected, ...] = ()  # values at ties, at NaN, and where else they are a convention
    tolerance: Mapping[str, float] = field(default_factory=dict)
    warns: str = ""  # a part of the text of the warnings that calls give
    public: str = ""  # the public function that calls it, by whose name errors tell of it
    differs: Mapping[str, str] = field(default_factory=dict)  # reasons, by ScalarType or aspect
    saves_result: bool = False  # whether a derivative that follows from the kernel may save the result
    symbolic: Rule | None = None  # over ONNX's operators
    no_symbolic: str = ""  # why none follows from the kernel
    write_back: Rule | None = None  # of a view: the tensor after a write to the view
    flops: Rule | None = None  # how many operations on numbers a call counts as
    said: Said | None = None  # what its body says, of which its kernels are made
    named: tuple[str, ...] = ()  # the functions of kernels that its body calls, as "module.function"
    transposes: str = ""  # the operator of which it is the transposed; ``said`` is that one's
    native: Formula | None = None  # the expression of its native kernel, where its kernel is a function
    doc: str = ""
    accepted: Mapping[str, Located] = field(default_factory=dict)  # PyTorch's keys without effect here
    batching: Batching | None = None  # what vmap does to it; None: by its parts, or in a loop

    @property
    def name(self) -> OperatorName:
        return self.schema.name

    @property
    def body(self) -> Body | None:
        """What it computes over rows."""
        return self.said if isinstance(self.said, Body) else None

    @property
    def move(self) -> Move | Window | None:
        """Where its elements come from, or what windows are made into."""
        return self.said if isinstance(self.said, Move | Window) else None

    @property
    def view(self) -> View | None:
        """What it shows of the memory of its operand."""
        return self.said if isinstance(self.said, View) else None

    @property
    def contraction(self) -> Contraction | None:
        """What it multiplies and sums."""
        return self.said if isinstance(self.said, Contraction) else None

    @property
    def access(self) -> Access | None:
        """What it reads or writes at indices."""
        return self.said if isinstance(self.said, Access) else None

    @property
    def prepared(self) -> Kernel | None:
        """The kernel that says which operands are looked at first, and which are bool."""
        return next((kernel for kernel in self.kernels.values() if kernel.prepared), None)

    @property
    def masks(self) -> frozenset[str]:
        """The operands that are bool: conditions of its expression."""
        return frozenset() if self.prepared is None else self.prepared.masks

    @property
    def is_composite(self) -> bool:
        """Whether it is made of operators, and has no dtypes or derivative of its own."""
        return IMPLICIT in self.kernels

    @property
    def is_elementwise(self) -> bool:
        """Whether its kernel may be called on parts of its operands."""
        return not ELEMENTWISE.isdisjoint(self.tags)

    @property
    def is_loss(self) -> bool:
        """Whether the elements that its kernel gives are brought together as its argument says."""
        return LOSS in self.tags

    @property
    def of_elements(self) -> bool:
        """Whether its kernel gives elements of those at the same place, be they what it returns or not."""
        return self.is_elementwise or self.is_loss

    @property
    def result_kind(self) -> str:
        """How a result's Type follows: "same", "bool", "real", "int64" or "dynamic"."""
        if self.result != "dynamic" or EXPRESSIONS.isdisjoint(self.tags):
            return self.result
        return RESULT_OF_PROMOTION.get(self.promote or "", "same" if self.promote else "dynamic")


#: The tags that say that each element of the results comes from the elements at the same place.
ELEMENTWISE = frozenset({"pointwise", "elementwise"})
#: The tag of operators whose elements are brought together, and the argument that says how.
LOSS, REDUCTION = "loss", "reduction"
#: The tags of operators whose kernel is an expression over elements.
EXPRESSIONS = frozenset({"pointwise", LOSS})


#: What the results of pointwise operators are, by how their operands are promoted; of others the same.
RESULT_OF_PROMOTION = {"always_bool": "bool", "complex_to_float": "real"}


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
    category: str  # a key of CATEGORIES: "floating"
    array: str  # numpy's name, or "ml_dtypes:bfloat16"
    opmath: str  # the ScalarType computed in: "Float" for Half
    real: str  # the ScalarType of abs(): "Float" for ComplexFloat
    promotes_to: tuple[str, ...]  # its immediate superiors in the promotion lattice
    signed: bool = True  # whether it has negative numbers

    @property
    def is_limited(self) -> bool:
        """Whether only those operators take it that name it or its category."""
        return self.category in LIMITED

    @property
    def is_apart(self) -> bool:
        """Whether it has no place in the promotion lattice."""
        return self.category in APART

    @property
    def is_reduced(self) -> bool:
        """Whether it is computed in another type, and rounded."""
        return self.opmath != self.name


@dataclass(frozen=True, slots=True)
class Backend:
    """One backend, from backends.yaml."""

    name: str  # "CPU"
    device: str  # "cpu"
    library: str  # the module, or "module:object", that implements tengen.dispatch.backend.Library for it
    namespace: str  # the module that is ``xp`` in expressions
    kernels: tuple[str, ...]  # modules of kernel functions
    scalar_types: tuple[str, ...]
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    library_of: str = ""  # the library that declares it; empty for tengen's own
    layouts: tuple[str, ...] = (STRIDED,)  # of its tensors
    group: str = ""  # the group whose kernels it has beside its own
    is_group: bool = False  # whether no device has it: its members share its kernels
    extra: str = ""  # what pip installs its array library by: tengen[jax]

    @property
    def runs_generically(self) -> bool:
        """Whether its arrays may be of several libraries, so that kernels are given the namespace."""
        return self.is_group or bool(self.group)

    @property
    def is_strided(self) -> bool:
        """Whether its arrays are strided memory, and of the one layout that is so."""
        return self.layouts == (STRIDED,)

    @property
    def is_mutable(self) -> bool:
        """Whether its arrays can be written to; else a tensor that is written gets another array."""
        return bool(self.capabilities.get("mutable", True))

    @property
    def has_data(self) -> bool:
        """Whether its arrays have elements, not only shapes and dtypes."""
        return bool(self.capabilities.get("data", True))


@dataclass(frozen=True, slots=True)
class Primitive:
    """An elementwise function that kernels written as expressions may use, from primitives.yaml."""

    name: str  # "arctan2", of the array namespace, or of a function of its own
    arguments: int
    function: str | None = None  # that, as a Kernel's: expressions call it by its bare name
    place: Place | None = None  # where that is said
    operator: str | None = None  # the same function over Tensors: "atan2"
    symbol: str | None = None  # the same in Python: "+", "-x"
    method: str | None = None  # the same of Python numbers
    #: By each argument, in x, y, z and result; None where nothing flows, to a condition or from one.
    derivative: tuple[Formula | None, ...] | None = None
    real: bool = False  # whether these hold for real arguments only
    out: bool = True  # whether the array namespace has it with ``out=``, as it has ufuncs
    costly: bool = False  # whether an element takes longer to compute than to bring from memory
    onnx: Rule | None = None  # in x, y and z, as ONNX
    native: Mapping[str, Routine] = field(default_factory=dict)  # by the dtype that it is for


def by_function(operators: Iterable[Operator]) -> dict[str, list[Operator]]:
    """The overloads of each function, in their order."""
    found: dict[str, list[Operator]] = {}
    for operator in operators:
        found.setdefault(operator.name.function, []).append(operator)
    return found


@dataclass(frozen=True, slots=True)
class Declarations:
    """Everything that was declared, checked."""

    operators: tuple[Operator, ...]
    derivatives: tuple[Derivative, ...]
    scalar_types: tuple[ScalarType, ...]
    backends: tuple[Backend, ...]
    tags: Mapping[str, str]
    primitives: Mapping[str, Primitive] = field(default_factory=dict)
    #: By function, be it a primitive or not, and by dtype.
    routines: Routines = field(default_factory=dict)
    native_kernels: Mapping[str, NativeKernel] = field(default_factory=dict)
    optimizers: tuple[OptimizerUpdate, ...] = ()
    modules: tuple[ModuleClass, ...] = ()  # of tengen.nn
    library: str = ""  # whose declarations they are, on top of tengen's; empty for tengen's own
    folder: str = ""  # of the library's declarations, as places have it

    def owns(self, place: Place) -> bool:
        """Whether something is declared where code is generated for: by the library, if there is one."""
        return place.file.startswith(self.folder)
