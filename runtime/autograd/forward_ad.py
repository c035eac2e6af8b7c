"""Forward mode for users: dual numbers, made and taken apart inside of a level.

There is one level at a time; ``tengen.func.jvp`` has its own, which nest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.interception import layers
from ..core.tensor_base import TensorBase
from .forward.forward_grad import ForwardLevel
from .forward_mode import forward_mode
from .grad_mode import ContextDecorator, check_bool
from .view import differentiable

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class UserLevel(ForwardLevel):
    """The level that ``enter_dual_level`` enters."""


class UnpackedDualTensor(NamedTuple):
    """What ``unpack_dual`` returns: the tensor without its tangent, and the tangent, or None."""

    primal: Tensor
    tangent: Tensor | None


def _current() -> UserLevel | None:
    """The user's level of this thread."""
    return next((found for found in reversed(layers()) if isinstance(found, UserLevel)), None)


def enter_dual_level() -> int:
    """Enter a level, in which tensors can have tangents, and return its number, 0.

    Raises RuntimeError when this thread is in a level already.
    """
    if _current() is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    UserLevel().enter()
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the level: no tensor has a tangent any more.

    Raises RuntimeError when there is none, or when ``level`` is not its number.
    """
    found = _current()
    if found is None:
        raise RuntimeError("Trying to exit a forward AD level but no level exists: enter_dual_level() first.")
    if level is not None and level != 0:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not "
            "supported."
        )
    found.leave()


class dual_level(ContextDecorator):
    """A context, or a decorator, in which ``make_dual`` can be called. Tangents are gone at its end.

    RuntimeError when it is entered within another.
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        try:
            exit_dual_level()
        except BaseException:  # an interrupt
            found = _current()
            if found is not None:
                found.leave()
            raise


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of ``tensor`` with the tangent ``tangent``, which has its shape.

    The tangent is not copied if it is laid out as the tensor is. Raises RuntimeError outside of a level,
    for a tangent of another shape and for a tensor that has a tangent; ValueError for a tensor or tangent
    that is neither floating point nor complex; TypeError for what is no tensor.
    """
    found = _level(level)
    if found is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(value, TensorBase):
            raise TypeError(f"make_dual(): expected {name} to be a Tensor, but got {type(value).__name__}")
        if not differentiable(value._type):
            raise ValueError(
                f"Expected {name} to be floating point or complex, but got: {value._type.scalar_type}"
            )
    dual: Tensor = found.make_dual(tensor, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A view of the tensor without its tangent, and the tangent: None where there is none.

    TypeError for what is no tensor.
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"unpack_dual(): expected a Tensor, but got {type(tensor).__name__}")
    found = _level(level)
    if found is None:
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*found.unpack(tensor))


def _level(number: int | None) -> UserLevel | None:
    """The level of this number, or the current one. RuntimeError for a number that is not its."""
    found = _current()
    if number is not None and number >= 0 and (found is None or number != 0):
        raise RuntimeError(
            "Trying to access a forward AD level with an invalid index. This index was either not created "
            "or is already deleted."
        )
    return found if number is None or number >= 0 else None


def _is_fwd_grad_enabled() -> bool:
    """Whether tangents are computed in this thread."""
    return forward_mode.enabled


class _set_fwd_grad_enabled(ContextDecorator):
    """Switch the computation of tangents on or off, at once, and back at the end of a ``with``."""

    def __init__(self, mode: bool) -> None:
        self.mode = check_bool("set_fwd_grad_enabled", "mode", mode)
        self.before = forward_mode.enabled
        forward_mode.enabled = mode

    def clone(self) -> _set_fwd_grad_enabled:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        forward_mode.enabled = self.before
