"""Names that PyTorch, Python and NumPy give, and that are no operator's own."""

from __future__ import annotations

#: Python's comparisons.
COMPARISONS = ("__eq__", "__ge__", "__gt__", "__le__", "__lt__", "__ne__")
#: Python's binary operators that have an in-place form, as their special methods name them.
BINARY_OPERATORS = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift",
    "rshift",
)  # fmt: skip

#: The options of a factory, as a schema lists them behind the other arguments: PyTorch's TensorOptions.
TENSOR_OPTIONS = ("dtype", "layout", "device", "pin_memory")

#: The layouts of tensors: how their elements are stored.
STRIDED = "strided"
LAYOUTS = (STRIDED, "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged")

#: The tag of operators that take or give tensors of other layouts than strided.
OTHER_LAYOUT = "other_layout"

#: The capability of a backend that calls pointwise operators on the values that its arrays hold.
POINTWISE_VALUES = "pointwise_values"

#: The capability that calls operators with the tag below on these values, in the dtype that they have.
STORED_VALUES = "stored_values"
#: What formulas of losses call the gradient of each element, which others call grad.
ELEMENTS_GRADIENT = "grad_of_elements"

#: The capability of bringing the elements of losses together.
LOSSES = "losses"

#: The tag of operators that fill an output of as many elements as their result, whatever its shape.
FILLS_OUT = "fills_out"

#: The tag of operators that make tensors of a given size, and warn where an output is of another.
WARNS_OF_SIZE = "warns_of_size"

#: The tag of operators that draw each element by itself.
DRAWN_BY_ELEMENT = "drawn_by_element"

#: The names that NumPy has for an argument, or PyTorch's functions beside methods: they are understood, too.
NUMPY_NAMES: dict[str, tuple[str, ...]] = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("a", "x", "x1"),
    "other": ("x2",),
    "split_size": ("split_size_or_sections",),
}

#: NumPy's dtypes of numbers, by the names that do not depend on the machine.
NUMPY_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip

#: The categories of scalar types, and what the classes of their Types are called.
CATEGORIES = {
    "bool": "Bool",
    "integral": "Integral",
    "floating": "Floating",
    "reduced": "ReducedFloating",
    "complex": "Complex",
    "unsigned": "Unsigned",
    "float8": "Float8",
    "reduced_complex": "ReducedComplex",
}

#: The categories that few operators take, as in PyTorch: ``all`` does not mean them.
LIMITED = frozenset({"unsigned", "float8", "reduced_complex"})
#: Those that have no place in the promotion lattice.
APART = frozenset({"unsigned", "float8"})

#: Dispatch keys of no backend: of a kernel that is made of operators, and of one that all backends share.
IMPLICIT = "CompositeImplicitAutograd"
EXPLICIT = "CompositeExplicitAutograd"
COMPOSITES = (IMPLICIT, EXPLICIT)

#: What derivatives of primitives call a polynomial: of a point and the coefficients, the highest first.
POLYNOMIAL = "poly"
#: How primitives.yaml names the operands of a primitive.
OPERANDS = ("x", "y", "z")

#: The tag of what Python numbers alone may be given to: ``add(2, 3)``.
NUMBERS_AS_TENSORS = "numbers_as_tensors"
