"""Errors that name the operator.

Kernels raise plain errors of the right class; the generated method hands whatever comes out
of one to ``explain``, which adds the operator's name and turns NumPy's ways of saying it
into PyTorch's.
"""

from __future__ import annotations

from typing import Any

from .error_notes import note_operator, public_name
from .memory_format import NotStrided

#: How NumPy's errors begin for more elements, or dimensions, than an array can have.
_TOO_LARGE = (
    "array is too big",
    "Maximum allowed dimension",
    "Maximum allowed size",
    "iterator is too large",
)
_TOO_MANY_DIMS = "maximum supported dimension"


def explain(error: Exception, operator: str, *tensors: Any) -> Exception:
    """``error`` with the operator's name before its text, in the class PyTorch raises.

    ``tensors`` are the operator's tensor arguments, from which a failed broadcast is told
    as sizes and the dimension at which they differ.
    """
    explained = _explained(error, operator, tensors)
    note_operator(explained, operator)
    return explained


def _explained(error: Exception, operator: str, tensors: tuple[Any, ...]) -> Exception:
    text = str(error)
    own, name = operator.partition(".")[0], public_name(operator)
    if isinstance(error, NotStrided):
        return NotImplementedError(f"{name}: not implemented for tensors of the layout {text}")
    if text.startswith((f"{name}: ", f"{own.lstrip('_')}: ")):
        return error
    if type(error) is ValueError and "broadcast" in text:
        return RuntimeError(f"{name}: {_mismatch(tensors) or text}")
    if isinstance(error, MemoryError):
        return RuntimeError(f"{name}: can't allocate memory: {text or 'there is too little'}")
    if type(error) is ValueError and text.startswith(_TOO_LARGE):
        return RuntimeError(f"{name}: Storage size calculation overflowed: {text}")
    if type(error) is ValueError and text.startswith(_TOO_MANY_DIMS):
        return RuntimeError(f"{name}: a tensor has at most 64 dimensions, but this would have more: {text}")
    if isinstance(error, IndexError) and type(error) is not IndexError:  # numpy's AxisError
        return IndexError(f"{name}: {text}")
    if isinstance(error, UnicodeError) or not error.args:
        return error
    kind = type(error)
    if any(["__str__" in vars(c) for c in kind.__mro__ if c.__module__ != "builtins"]):
        # Its text is made of what it was given: NumPy's errors of memory and of casts.
        kind = next(c for c in kind.__mro__ if c.__module__ == "builtins")
        return kind(f"{name}: {text}")
    try:
        return kind(f"{name}: {text}", *error.args[1:])
    except TypeError:  # an exception class with a constructor of its own
        return error


def _mismatch(tensors: tuple[Any, ...]) -> str | None:
    """How the first two tensors whose shapes do not broadcast differ."""
    shapes = [t._array.shape for t in tensors if hasattr(t, "_array")]
    for i, a in enumerate(shapes):
        for b in shapes[i + 1 :]:
            for back in range(1, min(len(a), len(b)) + 1):
                if a[-back] != b[-back] and 1 not in (a[-back], b[-back]):
                    return (
                        f"The size of tensor a ({a[-back]}) must match the size of tensor b ({b[-back]}) "
                        f"at non-singleton dimension {max(len(a), len(b)) - back}"
                    )
    return None
