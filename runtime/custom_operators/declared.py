"""``tengen.ops.aten``: the operators that tengen declares, with their overloads, by PyTorch's names."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from ..dispatch.calls import call
from ..dispatch.operator import Operator, operator, table
from .overloads import Overload, Packet
from .tags import Tag

if TYPE_CHECKING:
    from .schemas import FunctionSchema

NAMESPACE: Final = "aten"


class DeclaredOverload(Overload):
    """One overload of an operator that tengen declares."""

    __slots__ = ("_full",)
    __qualname__ = "OpOverload"

    def __init__(self, full: str, packet: DeclaredPacket) -> None:
        super().__init__(packet, full.partition(".")[2] or "default")
        self._full = full

    @property
    def _schema(self) -> FunctionSchema:
        from .schemas import parse  # the generator's parser

        return parse(NAMESPACE, operator(self._full).schema)

    @property
    def tags(self) -> list[Tag]:
        """What its declaration says of it, and of an in-place or out form its schema."""
        from ..generated.tags import TAGS

        this = operator(self._full)
        own = TAGS.get(self._full)
        tags = TAGS.get(this.base or "", ()) if own is None else own
        found = {Tag[tag] for tag in tags if tag in Tag.__members__}
        if own is None:
            found.discard(Tag.core)  # the set of these has functional forms alone
        if this.out or 0 in this.written:
            found.add(Tag.out if this.out else Tag.inplace)
        return sorted({*found, Tag.pt2_compliant_tag}, key=int)

    @property
    def _operator(self) -> Operator:
        return operator(self._full)

    def name(self) -> str:
        """``aten::foo``, or ``aten::foo.overload``."""
        return f"{NAMESPACE}::{self._full}"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run it. TypeError where the arguments do not fit it, whatever fits other overloads."""
        return call(f"{self._packet.__name__}.{self._overloadname}", args, kwargs, self)


class DeclaredPacket(Packet[DeclaredOverload]):
    """All overloads of an operator that tengen declares."""

    __qualname__ = "OpOverloadPacket"

    def __init__(self, name: str) -> None:
        super().__init__(NAMESPACE, name)
        for full in table().OVERLOADS[name]:
            made = DeclaredOverload(full, self)
            self._found[made._overloadname] = made

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the overload that fits. TypeError, with the reason of each, where none does."""
        return call(self.__name__, args, kwargs, self)


class DeclaredOperators(ModuleType):
    """The module ``tengen.ops.aten``: a name is looked up when it is first used."""

    def __getattr__(self, name: str) -> DeclaredPacket:
        if not _is_declared(name):
            raise AttributeError(f"tengen declares no operator {name!r}")
        found = self.__dict__[name] = DeclaredPacket(name)
        return found

    def __dir__(self) -> list[str]:
        return sorted(filter(_is_declared, table().OVERLOADS))


def overload_of(op: Operator) -> Overload:
    """What users call an operator by: ``tengen.ops.aten.foo.default``, or that of a library."""
    own: Overload | None = getattr(op, "overload", None)
    if own is not None:
        return own
    function, _, overload = op.name.partition(".")
    found: Overload = getattr(getattr(aten, function), overload or "default")
    return found


def _is_declared(name: str) -> bool:
    """Whether tengen itself declares operators of this name, and not a library that is loaded."""
    from ..library import loaded

    if "::" in name or name not in table().OVERLOADS:
        return False
    return all([name not in vars(made.operators) for made in loaded().values()])


aten: Final = DeclaredOperators("tengen.ops.aten", __doc__)
