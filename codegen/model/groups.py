"""The overloads of a function or method together, as bindings, stubs and documents have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .derived import Variant
from .operators import Operator

_NUMBERS = frozenset({"Scalar", "int", "SymInt", "float", "bool"})
_MODULE_PREFIX = {"fft": "fft_", "linalg": "linalg_", "special": "special_"}


@dataclass(frozen=True, slots=True)
class Group:
    """The overloads of one function, those with fewer plain numbers first."""

    function: str
    variants: tuple[Variant, ...]  # without out variants
    outs: tuple[Variant, ...]

    @property
    def operators(self) -> tuple[Operator, ...]:
        return tuple(v.operator for v in self.variants)

    @property
    def called(self) -> str:
        """The function's name as the runtime has it: with the library's, if it is of one."""
        return self.variants[0].name.called

    @property
    def deprecated(self) -> tuple[tuple[str, ...], ...]:
        """The orders of positional arguments that are deprecated."""
        return tuple(dict.fromkeys(order for o in self.operators for order in o.deprecated))

    @property
    def python_module(self) -> str | None:
        return self.operators[0].python_module

    @property
    def is_internal(self) -> bool:
        """Whether it is no public name: an underscore says so, or the tag."""
        return self.function.startswith("_") or all("internal" in o.tags for o in self.operators)

    @property
    def special_methods(self) -> dict[str, tuple[str, ...]]:
        """The special methods that call it, as ``__add__``, each with the order of its arguments."""
        orders: dict[str, tuple[str, ...]] = {}
        for o in self.operators:
            if not o.name.inplace:
                orders.update(o.operators)
        return orders

    @property
    def doc(self) -> str:
        return next((o.doc for o in self.operators if o.doc), "")


def groups(variants: Iterable[Variant]) -> dict[str, Group]:
    """The functions and methods there are."""
    found: dict[str, tuple[list[Variant], list[Variant]]] = {}
    for v in variants:
        if v.exposed:
            kept = found.setdefault(v.name.function, ([], []))
            kept[v.kind == "out"].append(v)
    made = {}
    for function, (plain, outs) in found.items():
        if plain:
            made[function] = Group(
                function, tuple(sorted(plain, key=_precedence)), tuple(sorted(outs, key=_precedence))
            )
    return made


def _precedence(variant: Variant) -> tuple[int, int, int, tuple[bool, ...], str]:
    arguments = variant.operator.schema.arguments
    # A 0-d tensor may stand for a number, so the overload that takes a tensor is tried before.
    numbers = tuple(str(a.type).rstrip("?") in _NUMBERS for a in arguments)
    # A single int may stand for a list of one, so the overload that takes an int is tried before.
    lists = sum(a.type.required.is_int_list for a in arguments)
    return (lists, sum(numbers), len(arguments), numbers, str(variant.name))


def exported_name(group: Group) -> str:
    """The name in the module that users import it from: ``linalg_inv`` -> ``inv``."""
    return group.function.removeprefix(_MODULE_PREFIX.get(group.python_module or "", "\0"))
