"""Parameters and buffers as functions of others: ``module.weight`` is computed where it is read."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any

from ...autograd.grad_mode import no_grad
from ...tensors.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class _Cache:
    """What was computed inside ``cached``, by module and name."""

    def __init__(self) -> None:
        self.depth = 0
        self.values: dict[tuple[int, str], tuple[Module, Tensor]] = {}

    def value(self, module: Module, name: str, compute: Callable[[], Tensor]) -> Tensor:
        """The value, computed if it is not there yet. The module is kept, so that its id stays its own."""
        if not self.depth:
            return compute()
        found = self.values.get((id(module), name))
        if found is None:
            found = self.values[id(module), name] = (module, compute())
        return found[1]


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """``with cached():`` each parametrized tensor is computed once, when it is first read.

    The values are forgotten at the end of the outermost ``with``. An assignment inside does not change what
    was computed before it.
    """
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values = {}


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensors that they start from.

    These are ``original``, or ``original0``, ``original1`` ... where the first parametrization has a
    ``right_inverse`` that returns several. ``register_parametrization`` makes it. ValueError where there is
    no parametrization, and where one does not fit the tensor.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Any], original: Tensor, unsafe: bool = False) -> None:
        if not len(modules):
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        with no_grad():
            new = self._inverted(original)
        self.is_tensor = isinstance(new, Tensor)
        if not self.is_tensor:
            _check_sequence(
                new, "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)"
            )
        self.ntensors = 1 if self.is_tensor else len(new)
        before = original.detach()
        try:
            self._register(original, new)
            if not unsafe:
                self._check(before)
        except BaseException:
            with no_grad():
                original.set_(before)
            raise

    def _inverted(self, value: Any) -> Any:
        """What the parametrizations make ``value`` of. One that does not say counts as the identity."""
        for module in reversed([*self._modules.values()]):
            if hasattr(module, "right_inverse"):
                with suppress(NotImplementedError):
                    value = module.right_inverse(value)
        return value

    def _register(self, original: Tensor, new: Any) -> None:
        if not self.is_tensor:
            for i, part in enumerate(new):
                made = part
                if isinstance(original, Parameter):
                    made = Parameter(part, original.requires_grad)
                made.requires_grad_(original.requires_grad)
                _register_tensor(self, f"original{i}", made)
            return
        for what in ("dtype", "device"):
            had, has = getattr(original, what), getattr(new, what)
            if had != has:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {had}\nright_inverse(original).{what}: {has}"
                )
        with no_grad():
            original.set_(new)  # the same object, which an optimiser may have
        _register_tensor(self, "original", original)

    def _check(self, before: Tensor) -> None:
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        for what in ("dtype", "shape"):
            if getattr(result, what) != getattr(before, what):
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` "
                    f"flag is enabled.\nunparametrized {what}: {getattr(before, what)}\n"
                    f"parametrized {what}: {getattr(result, what)}"
                )

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the parametrizations give ``value``, as far as they can.

        RuntimeError where a parametrization has no ``right_inverse``; ValueError where what it returns does
        not fit the originals.
        """
        with no_grad():
            found: Any = value
            for module in reversed([*self._modules.values()]):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                found = module.right_inverse(found)
            if self.is_tensor:
                self._set_one(found)
            else:
                self._set_several(found)

    def _set_one(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                f"{self.original.dtype}"
            )
        self.original.set_(value)

    def _set_several(self, values: Any) -> None:
        _check_sequence(values, "'right_inverse' must return a sequence of tensors", ".")
        if len(values) != self.ntensors:
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a "
                f"sequence of length {len(values)}."
            )
        originals = self._originals()
        for i, (own, tensor) in enumerate(zip(originals, values, strict=True)):
            if own.dtype != tensor.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {tensor.dtype} while `original{i}` "
                    f"has dtype {own.dtype}"
                )
        for own, tensor in zip(originals, values, strict=True):
            own.set_(tensor)

    def _originals(self) -> list[Tensor]:
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def forward(self) -> Tensor:
        """The tensor: what the parametrizations make of the originals, one after the other."""
        first, *rest = [module for name, module in self._modules.items() if name.isdigit()]
        value: Tensor = first(*self._originals())
        for module in rest:
            value = module(value)
        return value


def _check_sequence(values: Any, message: str, end: str = "") -> None:
    """ValueError, which begins so, for what is no sequence of tensors."""
    if not isinstance(values, Sequence):
        raise ValueError(f"{message}. Got {type(values).__name__}{end}")
    for i, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise ValueError(f"{message}. Got element {i} of the sequence with type {type(value).__name__}.")


def _register_tensor(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


# -- the class of a module that has parametrizations


def _parametrized_class(cls: type[Any], names: Sequence[str]) -> type[Any]:
    """A class derived from ``cls``, in which the names are properties. Each module has one of its own."""

    def __getstate__(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(): save that, and "
            "load it into a module with the same parametrizations."
        )

    members: dict[str, Any] = {name: _property(name) for name in names}
    members["__getstate__"] = __getstate__
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    return type(f"Parametrized{cls.__name__}", (cls,), members)


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    if id(self) in memo:
        return memo[id(self)]
    base = type_before_parametrizations(self)
    replica = memo[id(self)] = self.__new__(base)
    replica.__class__ = _parametrized_class(base, [*self.parametrizations])
    replica.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(base):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(replica, slot, deepcopy(getattr(self, slot), memo))
    return replica


def _property(name: str) -> property:
    def read(self: Any) -> Any:
        return _cache.value(self, name, self.parametrizations[name])

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(read, assign)


# -- what users call


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False
) -> Any:
    """Make ``module.<tensor_name>``, a parameter or buffer, what a parametrization gives; return the module.

    What it is computed from is ``module.parametrizations.<tensor_name>.original``: the parameter itself,
    with the value that the parametrization's ``right_inverse`` gives for it if it has one. Where that
    returns several tensors, these are new parameters, ``original0``, ``original1`` ... A second
    parametrization of a tensor takes the first one's result. Assigning to the tensor goes by
    ``right_inverse``.

    ValueError where the module has no such tensor, and, unless ``unsafe``, where the parametrization changes
    dtype or shape; then nothing is registered.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(getattr(module, tensor_name), tensor_name, parametrization)
        found = module.parametrizations[tensor_name]
        found.append(parametrization)
        found.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
    delattr(module, tensor_name)
    base = type_before_parametrizations(module)
    names = [*module.parametrizations] if is_parametrized(module) else []
    module.__class__ = _parametrized_class(base, [*names, tensor_name])
    if not names:
        module.parametrizations = ModuleDict()
    module.parametrizations[tensor_name] = made
    return module


def _check_further(value: Tensor, name: str, parametrization: Any) -> None:
    """ValueError where a parametrization cannot follow those that a tensor has."""
    result = parametrization(value)
    if not isinstance(result, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
    for what in ("dtype", "shape"):
        had, has = getattr(value, what), getattr(result, what)
        if had != has:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` "
                f"flag is enabled.\nmodule.{name}.{what}: {had}\nparametrization(module.{name}).{what}: {has}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(result)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
    for what in ("dtype", "shape"):
        had, has = getattr(value, what), getattr(inverse, what)
        if had != has:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                f"module.{name}, unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: {had}\n"
                f"returned {what}: {has}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether the module has a parametrization, of the tensor with this name if one is given."""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make the tensor a parameter or buffer of the module again, without parametrizations; return the module.

    Its value is the one that it has now, or with ``leave_parametrized=False`` that of ``original``.
    ValueError where it has no parametrization, and for ``leave_parametrized=False`` where it has several
    originals.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    found = module.parametrizations[tensor_name]
    if found.is_tensor:
        original = found.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms "
            "of a sequence of tensors."
        )
    base = type_before_parametrizations(module)
    del module.parametrizations[tensor_name]
    if len(module.parametrizations):
        module.__class__ = _parametrized_class(base, [*module.parametrizations])
    else:
        del module.parametrizations
        module.__class__ = base
    _register_tensor(module, tensor_name, original)
    return module


def type_before_parametrizations(module: Any) -> type[Any]:
    """The module's class without what parametrizations made of it."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Any, to_module: Any, tensor_name: str | None = None
) -> Any:
    """Give ``to_module`` the parametrizations of another module, and their originals; return it.

    Those of one tensor, or of all. A tensor that ``to_module`` does not have becomes a parameter of it.
    """
    if not is_parametrized(from_module):
        return to_module
    for name in [*from_module.parametrizations] if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        given = from_module.parametrizations[name]
        for parametrization in given:
            register_parametrization(to_module, name, parametrization)
        taken = to_module.parametrizations[name]
        if given.is_tensor:
            taken.original = given.original
        else:
            for i in range(given.ntensors):
                setattr(taken, f"original{i}", getattr(given, f"original{i}"))
    return to_module
