"""The same expression, evaluated with PyTorch and with tengen, must come to the same thing."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

import tengen

NAMES = (
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 complex128".split()  # noqa: SIM905
)
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "complex64": 1e-5}
_VALUES: dict[str, list[Any]] = {
    "bool": [True, False, True],
    "int": [1, 2, 3],
    "float": [1.0, 2.0, 0.5],
    "complex": [1 + 1j, 2, 0.5 - 1j],
}


def operand(module: Any, dtype: str, size: int | None = 3) -> Any:
    """Three numbers of a dtype, or a 0-d tensor of the first."""
    values = next(v for k, v in _VALUES.items() if k in dtype)
    return module.tensor(values[0] if size is None else values, dtype=getattr(module, dtype))


def outcome(text: str, module: Any, names: dict[str, Any]) -> Any:
    """What a statement leaves in ``r``, or an expression gives; or the error."""
    scope = {"m": module, "inf": math.inf, "nan": math.nan, **names}
    try:
        if re.search(r"(?<![=!<>(,\w])[-+*/%&|^<>]*=(?!=)", text.split("(")[0]):
            exec(text, scope)
            return scope["r"]
        return eval(text, scope)
    except Exception as error:
        return error


def _array(tensor: Any, module: Any) -> Any:
    plain = tensor.detach()
    return (plain.float() if plain.dtype is module.bfloat16 else plain).numpy()


def agree(text: str, torch: Any, coarse: float = 0.0, **names: Any) -> None:
    """Assert the same error class, or the same values, dtype, shape, strides and requires_grad."""
    theirs = outcome(text, torch, {k: v(torch) if callable(v) else v for k, v in names.items()})
    ours = outcome(text, tengen, {k: v(tengen) if callable(v) else v for k, v in names.items()})
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        both = isinstance(theirs, RuntimeError) and isinstance(ours, RuntimeError)
        assert both or isinstance(ours, type(theirs)), f"{text}: PyTorch {theirs!r}, here {ours!r}"
        return
    if not isinstance(theirs, torch.Tensor):
        assert str(theirs).replace("torch", "tengen") == str(ours), text
        return
    for what in ("dtype", "shape", "requires_grad"):
        assert str(getattr(theirs, what)).replace("torch", "tengen") == str(getattr(ours, what)), (text, what)
    assert theirs.stride() == ours.stride(), text
    tolerance = max(coarse, TOLERANCE.get(str(theirs.dtype).removeprefix("torch."), 1e-9))
    a, b = _array(theirs, torch), _array(ours, tengen)
    np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance, err_msg=text)
