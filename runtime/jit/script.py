"""TorchScript's names: there is no TorchScript here, so functions and modules run as Python.

``script`` gives back what it was given, and says so once. The graph of a function is made by
``tengen.jit.trace``, which records what runs.
"""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from types import GenericAlias
from typing import Any, Final as Final, NamedTuple, get_args, get_origin

from ..core.absent import Absent
from ..core.interception import layers
from ..core.user_stack import program_stacklevel
from .tracer import Tracer

_said = False


class Attribute(NamedTuple):
    """A value with the type that TorchScript would give it; here only a pair."""

    value: Any
    type: Any


class Future:
    """The result of ``fork``, which is there at once."""

    __class_getitem__: Any = classmethod(GenericAlias)  # types are written as Future[Tensor]

    def __init__(self, value: Any) -> None:
        self._value = value

    def done(self) -> bool:
        """True: it is always there."""
        return True

    def value(self) -> Any:
        """What the function returned."""
        return self._value

    def wait(self) -> Any:
        """What the function returned."""
        return self._value


_NO_SCRIPT = "there is no TorchScript; tengen.jit.trace makes graphs"


class ScriptModule(metaclass=Absent):
    """What no module is: TorchScript compiles modules to it. RuntimeError for who makes one."""

    __module__ = "tengen.jit"
    reason = _NO_SCRIPT


class RecursiveScriptModule(ScriptModule):
    """What no module is. RuntimeError for who makes one."""

    __module__ = "tengen.jit"


class ScriptFunction(metaclass=Absent):
    """What no function is: TorchScript compiles functions to it. RuntimeError for who makes one."""

    __module__ = "tengen.jit"
    reason = _NO_SCRIPT


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """The function, class or module itself, which runs as Python: it is not compiled. The first call says so.

    What TorchScript would refuse is not refused, and ``save`` takes graphs of ``trace`` only.
    """
    global _said
    if not _said:
        _said = True
        warnings.warn(
            "tengen.jit.script compiles nothing: functions and modules run as Python. tengen.jit.trace makes "
            "graphs.",
            UserWarning,
            stacklevel=program_stacklevel(),
        )
    return obj


def script_if_tracing(fn: Any) -> Any:
    """The function itself: a trace records what it does with its arguments."""
    return fn


_script_if_tracing = script_if_tracing  # torchvision's name of it


def script_method(fn: Any) -> Any:
    """The method itself."""
    return fn


def ignore(drop: Any = False) -> Any:
    """The function itself, or a decorator that changes nothing: all functions are left to Python."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: Any) -> Any:
    """The function itself."""
    return fn


def export(fn: Any) -> Any:
    """The method itself."""
    return fn


def interface(obj: Any) -> Any:
    """The class itself."""
    return obj


def annotate(the_type: Any, the_value: Any) -> Any:
    """The value, as it is."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether an object, and what is in it, is of a type, or of one of a tuple of types.

    Beside classes it takes ``List[int]``, ``Dict[str, Tensor]``, ``Tuple[int, str]`` and ``Optional[int]``.
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, one) for one in target_type)
    origin: Any = get_origin(target_type)
    inner = get_args(target_type)
    if origin is None:
        return obj is None if target_type is None else builtins.isinstance(obj, target_type)
    if not builtins.isinstance(origin, type) or origin.__name__ == "UnionType":
        return any(isinstance(obj, one) for one in inner)
    if not builtins.isinstance(obj, origin):
        return False
    content: Any = obj
    if origin is dict:
        return all(isinstance(k, inner[0]) and isinstance(v, inner[1]) for k, v in content.items())
    if origin is tuple and Ellipsis not in inner:
        return len(content) == len(inner) and all(map(isinstance, content, inner))
    return all(isinstance(one, inner[0]) for one in content)


def is_scripting() -> bool:
    """False: nothing is compiled by TorchScript."""
    return False


def is_tracing() -> bool:
    """Whether this code is run to record a graph, by ``tengen.jit.trace``."""
    return any(builtins.isinstance(layer, Tracer) for layer in layers())


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """The module itself."""
    return mod


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """The module itself."""
    return mod


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """Call the function at once, and return its result as a Future."""
    return Future(func(*args, **kwargs))


def wait(future: Future) -> Any:
    """The result of what was forked."""
    return future.wait()


class optimized_execution(nullcontext[None]):
    """A context that changes nothing."""

    def __init__(self, should_optimize: bool) -> None:
        super().__init__()


class fuser(nullcontext[None]):
    """A context that changes nothing."""

    def __init__(self, name: str) -> None:
        super().__init__()


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Change nothing, and return the strategy of before: none."""
    return []


def enable_onednn_fusion(enabled: bool) -> None:
    """Nothing: oneDNN is not used."""


def onednn_fusion_enabled() -> bool:
    """False: there is no such thing here."""
    return False


def _overload(func: Any) -> Any:
    """The function: a signature for TorchScript, of which Python runs the last."""
    return func


_overload_method = _overload  # PyTorch's name of it for methods
