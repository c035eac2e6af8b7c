"""Writing ONNX graphs: ``onnx.Mul(a, b)`` adds a node and gives its result.

``onnx`` is what symbolics are written with. Inputs may be Refs, numbers (constants of the dtype of the
first Ref), lists of ints (shapes, axes) and None (an input left out). Attributes are given by keyword.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.defs import OpSchema, SchemaError, get_schema
from onnx.shape_inference import infer_node_outputs

from ..core.scalar_type import bool_, dtype as DType, from_array_dtype, int64
from ..core.thread_state import propagated
from .errors import OnnxExporterError, Unsupported
from .sizes import Axis, dynamic, plain, terms_of


class Ref:
    """A value of the graph that is written: its name, dtype and, where it is known, shape."""

    __slots__ = ("data", "dtype", "name", "shape")

    def __init__(self, name: str, dtype: DType, shape: Any, data: Any = None) -> None:
        self.name = name
        self.dtype = dtype
        self.shape: tuple[int, ...] = shape
        #: Of a constant: the array.
        self.data = data

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        if self.shape is None:
            raise Unsupported("the number of dimensions of an intermediate value is not known")
        return len(self.shape)

    def __add__(self, other: Any) -> Ref:
        made: Ref = onnx.Add(self, other)
        return made

    def __radd__(self, other: Any) -> Ref:
        made: Ref = onnx.Add(constant(other, self.dtype), self)
        return made

    def __sub__(self, other: Any) -> Ref:
        made: Ref = onnx.Sub(self, other)
        return made

    def __rsub__(self, other: Any) -> Ref:
        made: Ref = onnx.Sub(constant(other, self.dtype), self)
        return made

    def __mul__(self, other: Any) -> Ref:
        made: Ref = onnx.Mul(self, other)
        return made

    def __rmul__(self, other: Any) -> Ref:
        made: Ref = onnx.Mul(constant(other, self.dtype), self)
        return made

    def __truediv__(self, other: Any) -> Ref:
        made: Ref = onnx.Div(self, other)
        return made

    def __rtruediv__(self, other: Any) -> Ref:
        made: Ref = onnx.Div(constant(other, self.dtype), self)
        return made

    def __neg__(self) -> Ref:
        made: Ref = onnx.Neg(self)
        return made


class Onnx:
    """ONNX's operators, as methods of the graph that this thread writes."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        builder = current()
        return lambda *inputs, outputs=1, **attributes: builder.emit(name, inputs, attributes, outputs)


#: What symbolics are written with.
onnx = Onnx()

_local = propagated(threading.local())


def current() -> Builder:
    """The builder of this thread. RuntimeError outside of an export."""
    found: Builder | None = getattr(_local, "builder", None)
    if found is None:
        raise RuntimeError("symbolics run only while a graph is exported")
    return found


def constant(value: Any, dtype: DType | None = None) -> Ref:
    """A number, or a list of ints that may depend on dynamic axes, as a value of the graph."""
    return current().constant(value, dtype)


class Builder:
    """The nodes and initialisers of one ONNX graph."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.taken: set[str] = set()
        self.count = 0
        #: The version of each operator that is used.
        self.versions: set[int] = set()
        self.constants: dict[Any, Ref] = {}
        self.sizes: dict[Any, Ref] = {}
        #: What a new node is called after, and the place it is documented with.
        self.scope = ""
        self.place = ""

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this what ``onnx`` writes to."""
        before = getattr(_local, "builder", None)
        _local.builder = self
        try:
            yield
        finally:
            _local.builder = before

    # -- names

    def name(self, wanted: str) -> str:
        """A name that no other value has."""
        name = wanted
        while name in self.taken:
            self.count += 1
            name = f"{wanted}.{self.count}" if wanted else f"v{self.count}"
        self.taken.add(name)
        return name

    def fresh(self) -> str:
        """A new name for an intermediate value."""
        self.count += 1
        return self.name(f"{self.scope or 'v'}.{self.count}")

    # -- constants

    def initializer(self, array: np.ndarray[Any, Any], name: str) -> Ref:
        """An array that is stored in the model."""
        name = self.name(name)
        self.initializers.append(
            numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        )
        return Ref(name, from_array_dtype(array.dtype), tuple(array.shape), array)

    def constant(self, value: Any, dtype: DType | None = None) -> Ref:
        """A number or a list as a value; equal ones are one."""
        if isinstance(value, Ref):
            return value
        if dynamic(value):
            made = self.size(value)
            if dtype is not None and dtype is not int64:
                made = self.emit("Cast", (made,), {"to": dtype}, 1)
            return made
        if isinstance(value, np.ndarray):
            array = value
        elif dtype is None:
            array = np.asarray(plain(value), np.int64)
        else:
            array = np.asarray(value).astype(dtype.array_dtype)
        key = (array.dtype.str, array.dtype.name, array.shape, array.tobytes())
        if key not in self.constants:
            self.constants[key] = self.initializer(array, "constant")
        return self.constants[key]

    # -- sizes

    def size(self, value: Any) -> Ref:
        """Ints of which some depend on dynamic axes, as an int64 value: 0-d, or a list."""
        if isinstance(value, (list, tuple)):
            parts = [self._reshaped(self.size(v)) if dynamic(v) else self.constant([v]) for v in value]
            return self.emit("Concat", tuple(parts), {"axis": 0}, 1) if len(parts) > 1 else parts[0]
        total: Ref | None = None
        for monomial, count in terms_of(value).items():
            term = self.constant(count, int64)
            for number, axis in enumerate(monomial):
                size = self._axis(axis)
                term = size if not number and count == 1 else self.emit("Mul", (term, size), {}, 1)
            total = term if total is None else self.emit("Add", (total, term), {}, 1)
        assert total is not None
        return total

    def _reshaped(self, scalar: Ref) -> Ref:
        made: Ref = self.emit("Unsqueeze", (scalar, self.constant([0])), {}, 1)
        return made

    def _axis(self, axis: Axis) -> Ref:
        if axis not in self.sizes:
            name, number = axis
            shape = self.emit("Shape", (self.inputs[name],), {"start": number, "end": number + 1}, 1)
            self.sizes[axis] = self.emit("Squeeze", (shape, self.constant([0])), {}, 1)
        return self.sizes[axis]

    inputs: Mapping[str, Ref] = {}

    # -- nodes

    def emit(self, operator: str, inputs: Sequence[Any], attributes: Mapping[str, Any], outputs: int) -> Any:
        """Add a node; its result, or the tuple of its ``outputs`` results."""
        try:
            schema = get_schema(operator, self.opset, "")
        except SchemaError:
            raise Unsupported(f"there is no {operator} in opset {self.opset}") from None
        refs = self._refs(inputs)
        names = [ref.name if ref is not None else "" for ref in refs]
        while names and not names[-1]:
            names.pop()
        results = [self.fresh() for _ in range(outputs)]
        given = {
            key: _attribute(operator, key, value) for key, value in attributes.items() if value is not None
        }
        node = helper.make_node(operator, names, results, name=self.fresh(), doc_string=self.place, **given)
        made = self._typed(schema, node, [r for r in refs if r is not None])
        self.nodes.append(node)
        self.versions.add(_oldest(schema, set(given), refs, made))
        return made[0] if outputs == 1 else tuple(made)

    def _refs(self, inputs: Sequence[Any]) -> list[Ref | None]:
        first = next((i.dtype for i in inputs if isinstance(i, Ref) and i.dtype is not bool_), None)
        if first is None:
            first = next((i.dtype for i in inputs if isinstance(i, Ref)), None)
        refs: list[Ref | None] = []
        for value in inputs:
            if value is None or isinstance(value, Ref):
                refs.append(value)
            elif isinstance(value, (list, tuple)):
                refs.append(self.constant(list(value) if value else np.zeros(0, np.int64)))
            else:
                refs.append(self.constant(value, first))
        return refs

    def _typed(self, schema: OpSchema, node: Any, refs: Sequence[Ref]) -> list[Ref]:
        """The results with what ONNX infers of their types."""
        types = {r.name: _type_proto(r) for r in refs}
        data = {r.name: numpy_helper.from_array(r.data, r.name) for r in refs if r.data is not None}
        imports = [helper.make_opsetid("", self.opset)]
        try:
            inferred = infer_node_outputs(schema, node, types, data, opset_imports=imports)
        except Exception as error:
            reason = str(error).strip().splitlines()[-1]
            raise Unsupported(f"{node.op_type} does not take these values: {reason}") from error
        made = []
        for name in node.output:
            if name not in inferred:
                raise OnnxExporterError(f"the type of a result of {node.op_type} is not known")
            tensor = inferred[name].tensor_type
            kind = from_array_dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
            shape: Any = None
            if tensor.HasField("shape"):
                shape = tuple(d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim)
            made.append(Ref(name, kind, shape))
        return made


def _oldest(schema: OpSchema, given: set[str], refs: Sequence[Ref | None], results: Sequence[Ref]) -> int:
    """The oldest version that means the same: later ones take more dtypes, or attributes that are not set."""
    while schema.since_version > 1:
        try:
            before = get_schema(schema.name, schema.since_version - 1, "")
        except SchemaError:
            break
        if _values(before) != _values(schema):
            break
        kept, all_ = _attributes(before), _attributes(schema)
        if not kept <= all_ or any(name in given or required for name, _, required, _ in all_ - kept):
            break
        if not (_takes(before.inputs, refs) and _takes(before.outputs, results)):
            break
        schema = before
    return int(schema.since_version)


def _values(schema: OpSchema) -> list[Any]:
    return [[(v.name, v.option) for v in part] for part in (schema.inputs, schema.outputs)]


def _attributes(schema: OpSchema) -> set[tuple[str, Any, bool, str]]:
    return {(a.name, a.type, a.required, str(a.default_value)) for a in schema.attributes.values()}


def _takes(parameters: Sequence[Any], refs: Sequence[Ref | None]) -> bool:
    """Whether values of these dtypes are allowed there; the last parameter may stand for several."""
    for number, ref in enumerate(refs):
        if ref is not None:
            name = TensorProto.DataType.Name(element_type(ref.dtype)).lower()
            if f"tensor({name})" not in parameters[min(number, len(parameters) - 1)].types:
                return False
    return True


def _type_proto(ref: Ref) -> Any:
    shape = None if ref.shape is None else [None if dynamic(n) or n is None else int(n) for n in ref.shape]
    return helper.make_tensor_type_proto(element_type(ref.dtype), shape)


def element_type(dtype: DType) -> int:
    """ONNX's number of a dtype. Unsupported for one that it has not."""
    try:
        return helper.np_dtype_to_tensor_dtype(np.dtype(dtype.array_dtype))
    except (KeyError, ValueError):
        raise Unsupported(f"ONNX has no {dtype}") from None


def _attribute(operator: str, key: str, value: Any) -> Any:
    if isinstance(value, DType):
        return element_type(value)
    if dynamic(value):
        raise Unsupported(f"the attribute {key} of {operator} would depend on a dynamic axis")
    if isinstance(value, np.ndarray):
        return numpy_helper.from_array(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, tuple):
        return list(value)
    return value
