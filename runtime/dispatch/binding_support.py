"""What bindings ask of arguments: whether they were given, by which word, and of which kind they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..core.device import as_device, device
from ..core.function_dispatch import plain
from ..core.scalar_type import default, dtype, int64
from ..core.size import Size
from .legacy_type_dispatch import type_of

if TYPE_CHECKING:
    from .type import Type


class _Missing:
    """The type of ``MISSING``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<missing>"


#: In place of an argument that was not given, and must be: as it is, or by another word.
MISSING: Final = _Missing()

NONE_GIVEN: Final[Mapping[str, Any]] = {}


#: The classes of sequences that are looked into: what else is a list or a tuple goes the second path.
_SEQUENCES: Final = frozenset((tuple, list, Size))


def ints(value: Any) -> bool:
    """Whether it is a list or tuple of ints, and of nothing that only counts as one."""
    if value.__class__ not in _SEQUENCES:
        return False
    for element in value:  # noqa: SIM110  a generator takes twice as long
        if element.__class__ is not int:
            return False
    return True


def many_ints(value: Any) -> bool:
    """As ``ints``, but not of one alone, which stands for as many as there should be."""
    return ints(value) and len(value) != 1


def held(tensors: Any) -> Any:
    """A list as a tuple, which stays as it is between the kernel and the Node, whoever changes the list."""
    return tuple(tensors) if tensors.__class__ is list else tensors


def one_type(tensors: Any) -> Type | None:
    """The Type that all the tensors of a list or tuple have; None when there is no such."""
    if tensors.__class__ is not list and tensors.__class__ is not tuple:
        return None
    T: Type | None = None
    for t in tensors:
        if t.__class__ not in plain or (t._type is not T and T is not None):
            return None
        T = t._type
    return T


def or_given(result: Any, given: Any) -> Any:
    """What was given, unless there is a result: of whoever takes a call over."""
    return given if result is None else result


#: What a factory is told whose dtype is int64 where none is given.
INTEGRAL: Final = (0,)


def factory_type(keywords: Mapping[str, Any], numbers: Sequence[int | float] = ()) -> Type | None:
    """The Type of a tensor that is made, by the call's options; None where the second path has to look.

    Where they name no dtype it is that of ``numbers``, the default dtype without any.
    """
    scalar_type = where = None
    for name, value in keywords.items():
        if name == "dtype" and (value.__class__ is dtype or value is None):
            scalar_type = value
        elif name == "device" and (value.__class__ is device or value is None):
            where = value
        else:
            return None
    if scalar_type is None:
        scalar_type = int64 if numbers and float not in map(type, numbers) else default.dtype
    try:
        return type_of(scalar_type, as_device(where))
    except Exception:
        return None  # which says what is wrong


def as_given(
    first: Any,
    slots: Sequence[tuple[str, Any]],
    keywords: Sequence[tuple[str, Any]],
    others: Mapping[str, Any] = NONE_GIVEN,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and the keyword arguments of a call, without those that are missing.

    ``first`` and ``slots`` could be given both ways; from the first missing one on they were given as
    keywords. ``keywords`` could not, and None is what they are when they are not given. ``others`` were.
    """
    arguments: list[Any] = []
    if first is not MISSING:
        arguments.append(first)
        for _, value in slots:
            if value is MISSING:
                break
            arguments.append(value)
    named = {name: value for name, value in slots[max(len(arguments) - 1, 0) :] if value is not MISSING}
    for name, value in keywords:
        if value is not MISSING and value is not None:
            named[name] = value
    named.update(others)
    return tuple(arguments), named


def but_none(
    arguments: tuple[Any, ...],
    keywords: Mapping[str, Any],
    optional: Sequence[tuple[str, int]] = (("out", 99),),
    count: int = 0,
) -> dict[str, Any] | None:
    """The keywords without those that are None, as they are when they are not given.

    ``optional`` says at which position each could be given: one that is, among ``count``, is given twice.
    Where an argument is of a class with function overrides nothing is left out: these see all keywords. None
    where nothing is left out.
    """
    less = [name for name, at in optional if count <= at and keywords.get(name, MISSING) is None]
    if not less:
        return None
    for value in (*arguments, *keywords.values()):
        if not (value.__class__ in _SIMPLE or value.__class__ in plain or _takes_no_part(value)):
            return None
    return {name: value for name, value in keywords.items() if name not in less}


#: Classes that have no function overrides.
_SIMPLE: Final = frozenset((int, float, bool, str, type(None), dtype, _Missing))


def _takes_no_part(value: Any) -> bool:
    """Whether a value, or what is in a list, has no function overrides but those of plain tensors."""
    if value.__class__ in _SEQUENCES:
        return all([element.__class__ in plain or _takes_no_part(element) for element in value])
    return not hasattr(value.__class__, "__tengen_function__")


def again(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What a binding gives with other keywords."""
    return function(*arguments, **keywords)


def worded(function: str, name: str, value: Any, default: Any, word: Any) -> Any:
    """What an argument is that was given by another word. TypeError when it was given by its own, too."""
    if value is not default and value != default:
        raise TypeError(
            f"{function}() got multiple values for argument '{name}', or too many positional arguments"
        )
    return word
