"""Variable: the old name of Tensor, and the engine as old code finds it there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from ..core.tensor_base import TensorBase, declare_tensor
from ..core.user_stack import program_stacklevel
from .graph_task import current

__all__ = ["Variable"]


def __dir__() -> list[str]:
    return sorted(__all__)


Tensor: Any = None  # until it is defined
declare_tensor(globals())


class ExecutionEngine:
    """What code asks of the engine itself."""

    __slots__ = ()

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call ``callback()`` when the backward pass that is running is done.

        Raises RuntimeError when none is running in this thread.
        """
        if current.task is None:
            raise RuntimeError("Final callbacks can only be installed during backward pass.")
        current.task.callbacks.append(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TensorBase)


class Variable(metaclass=_VariableMeta):
    """``Variable(x)`` is ``x.detach()``; every Tensor is an instance of this class."""

    _execution_engine: ClassVar[ExecutionEngine] = ExecutionEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool | None = None) -> Any:
        """A leaf with the memory of ``data``, or without elements. TypeError for what is no Tensor.

        ``volatile`` has no effect, as in PyTorch, and a warning.
        """
        if volatile:
            warnings.warn(
                "volatile was removed (Variable.volatile is always False); use `with tengen.no_grad():` "
                "instead",
                UserWarning,
                stacklevel=program_stacklevel(),
            )
        if data is None:
            data = Tensor()
        if not isinstance(data, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        made: Any = data._type.wrap(data._array)
        made.requires_grad = requires_grad
        return made
