"""PyTorch's side of a call. Import it only where torch is installed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import torch
from sides import Side

import tengen
from tengen.codegen.model.operators import Operator
from tengen.codegen.parse.formula import result_names
from tengen.core.scalar_type import dtype

warnings.filterwarnings("ignore", module="torch")

Tensor = torch.Tensor


def overload(name: str) -> Any:
    """PyTorch's operator of this full name; None where it has none."""
    base, _, over = name.partition(".")
    packet = getattr(torch.ops.aten, base, None)
    return getattr(packet, over or "default", None)


def torch_dtype(kind: dtype) -> Any:
    """The same dtype in torch."""
    return getattr(torch, kind.name)


def from_array(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor of an array's values, bfloat16's too."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
    return torch.from_numpy(array)


def to_array(tensor: Tensor) -> np.ndarray[Any, Any]:
    """A tensor's values; bfloat16 as float32, complex32 as complex64."""
    if tensor._is_zerotensor():
        return np.zeros(tuple(tensor.shape))
    tensor = tensor.detach().resolve_conj().resolve_neg()
    wider = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}.get(tensor.dtype, tensor.dtype)
    found: np.ndarray[Any, Any] = tensor.to(wider).numpy()
    return found


def value(given: Any) -> Any:
    """A plain argument as torch takes it."""
    if isinstance(given, dtype):
        return torch_dtype(given)
    if isinstance(given, tengen.device):
        return torch.device(str(given))
    if isinstance(given, tengen.memory_format):
        return getattr(torch, str(given).rpartition(".")[2])
    if isinstance(given, (list, tuple)):
        return [value(v) for v in given]
    return given


def run(operator: Operator, values: list[Any]) -> Any:
    """PyTorch's result on complete arguments, tensors among them being torch's."""
    return call(str(operator.name), operator, values)


def call(name: str, operator: Operator, values: list[Any]) -> Any:
    """The same for a variant of the operator, with the operator's arguments."""
    schema = operator.schema
    count = len(schema.positional)
    positional = [value(v) for v in values[:count]]
    rest = zip(schema.kwarg_only, values[count:], strict=True)
    # What is None without being optional is a default that has no value here: a memory format.
    keywords = {a.name: value(v) for a, v in rest if v is not None or str(a.type).endswith("?")}
    return overload(name)(*positional, **keywords)


def flat(result: Any) -> list[Tensor]:
    """The tensors of a result."""
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in flat(r)]
    return []


def determined(operator: Operator, result: Any) -> list[Tensor]:
    """As ``declared.determined``, of torch's results."""
    tensors = flat(result)
    if not operator.determined:
        return tensors
    scope = dict(zip(result_names(operator.schema.returns), tensors, strict=True))
    return [eval(f.text, {"__builtins__": {}}, scope) for f in operator.determined]


def same_dtype(ours: Any, theirs: Tensor) -> bool:
    """Whether two results have the same dtype."""
    return str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]


def has_dtype(theirs: Tensor) -> bool:
    """Whether we have a dtype."""
    return str(theirs.dtype).rpartition(".")[2] in dtype.registry


def same_schema(operator: Operator) -> bool:
    """Whether torch has the operator with the same arguments."""
    found = overload(str(operator.name))
    if found is None or len(found._schema.returns) != len(operator.schema.returns):
        return False
    theirs = [(a.name, a.kwarg_only, a.has_default_value()) for a in found._schema.arguments]
    schema = operator.schema
    ours = [(a.name, a in schema.kwarg_only, a.default is not None) for a in schema.arguments]
    return theirs == ours


# -- outcomes ------------------------------------------------------------------------------


def outcome(function: Any, *arguments: Any, **named: Any) -> Any:
    """A call's result, or the exception that it raised."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        return error


def failed(result: Any) -> bool:
    """Whether an outcome is an error."""
    return isinstance(result, Exception)


def described(result: Any) -> str:
    """An outcome in short."""
    return f"{type(result).__name__}: {result}".partition("\n")[0][:150] if failed(result) else "a result"


def fail_for(differences: list[str], operator: Operator, aspect: str) -> None:
    """Differences are failures, unless they are declared; and so are declared ones that are none."""
    if aspect in operator.differs:
        assert differences, f"{operator.name} declares a difference ({aspect}), but there is none"
    else:
        assert not differences, "\n".join(differences)


#: PyTorch, as a side that a test runs.
SIDE = Side(torch, from_array, lambda call, values: run(call.operator, values), determined, to_array)
