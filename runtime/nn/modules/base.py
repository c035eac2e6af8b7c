"""What the parts of Module know of each other: the attributes that every module has."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tengen.generated.functions import empty

from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor

Place = Device | str | None
Hook = Callable[..., Any]


class Registered:
    """An attribute of a class of modules that is among their parameters, buffers or modules.

    Without it Python looks through the classes and the instance, in vain, before it asks ``__getattr__``,
    which takes four times as long. A plain attribute of an instance goes before it, ``__getattr__`` behind.
    """

    __slots__ = ("_kind", "_name")

    def __init__(self, kind: str = "_parameters") -> None:
        self._kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, module: Any, owner: type) -> Any:
        try:
            return module.__dict__[self._kind][self._name]
        except (AttributeError, KeyError):  # asked of the class, or registered otherwise
            raise AttributeError(f"type object '{owner.__name__}' has no attribute '{self._name}'") from None


class ModuleBase:
    """The attributes of a module. Only Module derives from it."""

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]
    _is_full_backward_hook: bool | None
    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _state_dict_hooks: OrderedDict[int, Hook]
    _state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_post_hooks: OrderedDict[int, Hook]
    forward: Callable[..., Any]

    def _get_name(self) -> str:
        return type(self).__name__

    def children(self) -> Iterator[Any]:
        """See ``ModuleMembers``."""
        raise NotImplementedError


#: The attributes that hold hooks, or say something of hooks.
HOOKS = tuple(name for name, kind in ModuleBase.__annotations__.items() if kind.startswith("OrderedDict"))


def new_parameter(shape: int | Sequence[int], device: Place, dtype: DType | None) -> Parameter:
    """A parameter whose elements are not set yet."""
    made: Parameter = Parameter(empty(shape, device=device, dtype=dtype))
    return made
