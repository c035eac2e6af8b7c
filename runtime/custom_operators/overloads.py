"""What users call: ``tengen.ops.ns.foo``, an OpOverloadPacket, and ``tengen.ops.ns.foo.default``, an
OpOverload.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from ..core.function_dispatch import NO_ARGUMENTS, UNHANDLED, Overridden, at_level, dispatch, state
from ..core.interception import active
from ..core.tensor_base import TensorBase
from ..dispatch.arguments import Mismatch

if TYPE_CHECKING:
    from ..dispatch.operator import Operator
    from .operator import CustomOperator
    from .schemas import FunctionSchema

_Overload = TypeVar("_Overload", bound="Overload")


class Overload:
    """One overload of an operator, which a packet holds by its name."""

    __slots__ = ("__name__", "__qualname__", "_overloadname", "_packet")
    __module__ = "tengen.ops"

    def __init__(self, packet: Packet[Any], name: str) -> None:
        self._packet = packet
        self._overloadname = name
        self.__name__ = self.__qualname__ = f"{packet.__name__}.{name}"

    @property
    def _operator(self) -> Operator:
        """The operator that it calls."""
        raise NotImplementedError

    @property
    def namespace(self) -> str:
        """The name before ``::``."""
        return self._packet.namespace

    @property
    def overloadpacket(self) -> Packet[Any]:
        """All overloads of the operator."""
        return self._packet

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self._packet}', overload='{self._overloadname}')>"

    def __str__(self) -> str:
        return f"{self._packet}.{self._overloadname}"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class OpOverload(Overload):
    """One overload of an operator that the program has defined."""

    __slots__ = ("_own",)
    __module__ = "tengen.ops"

    def __init__(self, operator: CustomOperator, packet: OpOverloadPacket) -> None:
        super().__init__(packet, operator.signature.overload_name or "default")
        self._own = operator

    @property
    def _operator(self) -> CustomOperator:
        return self._own

    @property
    def _schema(self) -> FunctionSchema:
        return self._operator.signature

    @property
    def tags(self) -> list[Any]:
        """The tags that it was defined with."""
        return list(self._operator.tags)

    def name(self) -> str:
        """``ns::foo``, or ``ns::foo.overload``."""
        return self._operator.name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run it. RuntimeError where the arguments do not fit the schema."""
        if not (active and state.modes):
            try:
                bound = bind(self._operator, args, kwargs)
            except Overridden:
                pass
            else:
                return self._operator(*bound)
        return _overridden(self, (self,), args, kwargs)

    def redispatch(self, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run its kernel, below autograd: for functions that were registered ``with_keyset``."""
        operator = self._operator
        bound = bind(operator, args, kwargs)
        return operator.below(operator.backend(operator._tensors(tuple(bound)), bound), bound)


class Packet(Generic[_Overload]):
    """All overloads of an operator: a call is of the first whose schema the arguments fit."""

    __module__ = "tengen.ops"

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.__name__ = self.__qualname__ = name
        self._found: dict[str, _Overload] = {}

    def overloads(self) -> list[str]:
        """The names of the overloads, in the order of their definition."""
        return list(self._found)

    def __getattr__(self, name: str) -> _Overload:
        found = self.__dict__.get("_found", {}).get(name)
        if found is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        return found  # type: ignore[no-any-return]

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._found]

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class OpOverloadPacket(Packet[OpOverload]):
    """All overloads of an operator that the program has defined."""

    __module__ = "tengen.ops"

    def add(self, operator: CustomOperator) -> OpOverload:
        """Make an overload a member."""
        made = operator.overload = OpOverload(operator, self)
        self._found[made._overloadname] = made
        return made

    def discard(self, overload: OpOverload) -> bool:
        """Take an overload out; whether none is left."""
        if self._found.get(overload._overloadname) is overload:
            del self._found[overload._overloadname]
        return not self._found

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the overload that fits. RuntimeError, with the reason of each, where none does."""
        if not (active and state.modes):
            try:
                operator, bound = _chosen(self, self._found.values(), args, kwargs)
            except Overridden:
                pass
            else:
                return operator(*bound)
        return _overridden(self, self._found.values(), args, kwargs)


def _overridden(
    public: Any, overloads: Iterable[OpOverload], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Let a mode or an argument take the call of ``public`` over; else call the first overload that fits."""
    result = dispatch(public, args, kwargs)
    if result is not UNHANDLED:
        return result
    with at_level(NO_ARGUMENTS):
        operator, bound = _chosen(public, overloads, args, kwargs)
    return operator(*bound)


def _chosen(
    public: Any, overloads: Iterable[OpOverload], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[CustomOperator, list[Any]]:
    reasons = []
    for overload in overloads:
        operator = overload._operator
        try:
            return operator, bind(operator, args, kwargs)
        except RuntimeError as error:
            reasons.append(str(error))
    if len(reasons) == 1:
        raise RuntimeError(reasons[0])
    text = "\n\n".join(reasons)
    raise RuntimeError(
        f"Overloaded operator {public} invoked from Python failed to match any schema:\n{text}"
    )


def bind(operator: CustomOperator, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments complete, converted, and in the schema's order; RuntimeError where they do not fit."""
    parameters = operator.parameters
    given = len(args)
    if not kwargs and given == len(parameters) == operator.positional:
        try:
            return [p.convert(value) for p, value in zip(parameters, args, strict=True)]
        except Mismatch:
            pass  # which of them, is said below
    if given + len(kwargs) > len(parameters):
        raise _misfit(
            operator,
            f"expected at most {len(parameters)} argument(s) but received {given + len(kwargs)} argument(s)",
        )
    if given > operator.positional:
        raise _misfit(
            operator, f"expected at most {operator.positional} argument(s) by position but received {given}"
        )
    bound: list[Any] = []
    used = 0
    for position, parameter in enumerate(parameters):
        name = parameter.name
        if position < given:
            if name in kwargs:
                raise _misfit(operator, f"got multiple values for argument '{name}'")
            value = args[position]
        elif name in kwargs:
            value = kwargs[name]
            used += 1
        elif parameter.required:
            raise _misfit(operator, f"is missing value for argument '{name}'")
        else:
            bound.append(parameter.default)
            continue
        try:
            bound.append(parameter.convert(value))
        except Mismatch:
            raise _not_of_type(operator, position, value) from None
    if used < len(kwargs):
        unknown = next(k for k in kwargs if all([p.name != k for p in parameters]))
        raise RuntimeError(
            f"Unknown keyword argument '{unknown}' for operator '{operator.name}'. Schema: {operator.schema}"
        )
    return bound


def _misfit(operator: CustomOperator, reason: str) -> RuntimeError:
    return RuntimeError(f"{operator.function}() {reason}. Declaration: {operator.schema}")


def _not_of_type(operator: CustomOperator, position: int, value: Any) -> RuntimeError:
    parameter = operator.parameters[position]
    shown = (
        f"a tensor of the shape {list(value._array.shape)}" if isinstance(value, TensorBase) else repr(value)
    )
    return RuntimeError(
        f"{operator.function}() Expected a value of type '{parameter.type}' for argument "
        f"'{parameter.name}' but instead found type '{type(value).__name__}'.\nPosition: "
        f"{position}\nValue: {shown}\nDeclaration: {operator.schema}"
    )
