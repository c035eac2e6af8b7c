"""``tengen.utils.flop_counter``: how many operations on floating-point numbers a program does.

What a call counts as, its operator declares (``flops`` in its entry), and a program registers for its own.
"""

from __future__ import annotations

import functools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, TypeVar

from ..core.interception import Layer
from ..core.protocols import Operator
from ..core.user_stack import program_stacklevel
from ..custom_operators.declared import aten
from ..custom_operators.overloads import Packet
from ..dispatch.operator import operator
from ..library import loaded
from ..tensors.tensor import Tensor
from .module_tracker import GLOBAL, ModuleTracker
from .pytree import tree_leaves, tree_map

__all__ = ["FlopCounterMode", "register_flop_formula"]


def __dir__() -> list[str]:
    return sorted(__all__)


_Formula = TypeVar("_Formula", bound=Callable[..., Any])
_SUFFIXES = ("", "K", "M", "B", "T")
_HEADS = ("Module", "FLOP", "% Total")


def _of_shapes(formula: Callable[..., Any]) -> Callable[..., Any]:
    """A formula that is given shapes for tensors, and that of the result as ``out_shape``."""

    @functools.wraps(formula)
    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> Any:
        args, kwargs, shape = tree_map(_shape, (args, kwargs, out_val))
        return formula(*args, out_shape=shape, **kwargs)

    return count


def _shape(value: Any) -> Any:
    return value.shape if isinstance(value, Tensor) else value


def _declared(full: str) -> Callable[..., int]:
    """What an operator declares, as a formula that gets arguments and the result."""

    def count(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        from tengen.generated.flops import FLOPS

        left = operator(full).parameters[len(args) :]
        rest = [kwargs.get(p.name, None if p.required else p.default) for p in left]
        found: int = FLOPS[full](*args, *rest, out_val)
        return found

    return count


def _all_declared() -> dict[Any, Callable[..., Any]]:
    """By operator what it declares, where it does: tengen's, and those of loaded libraries."""
    from tengen.generated.flops import FLOPS

    return {_public(operator(full)): _declared(full) for full in FLOPS}


def _public(op: Operator) -> Any:
    """What users call an operator by, whatever the overload: ``ops.aten.mm``, ``ops.mylib.foo``."""
    own = getattr(op, "overload", None)
    if own is not None:
        return own.overloadpacket
    namespace, _, name = op.function.rpartition("::")
    if not namespace:
        return getattr(aten, name)
    return vars(loaded()[namespace].operators).get(name, op.function)  # a name where users cannot call it


#: By operator, as ``ops.aten.mm``, the formula of what a call counts as.
flop_registry: dict[Any, Callable[..., Any]] = _all_declared()


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[_Formula], _Formula]:
    """A decorator of the formula of what calls of operators count as; ``targets`` is one of them, or several.

    The formula is called with a call's arguments, without those at the end that are as the schema says, and
    with shapes in the place of tensors; ``out_shape`` is that of the result. With ``get_raw`` it is called
    with the tensors, and ``out_val``. ValueError where a target is no operator (``ops.mylib.foo``),
    RuntimeError where it has a formula.
    """

    def register(formula: _Formula) -> _Formula:
        found: Any = formula if get_raw else _of_shapes(formula)
        for target in tree_leaves(targets):
            if not _is_operator(target):
                raise ValueError(
                    "register_flop_formula(targets): expected each target to be an operator "
                    f"(ops.mylib.foo), got {target!r} of type {type(target).__name__}"
                )
            if target in flop_registry or target in _all_declared():
                raise RuntimeError(f"register_flop_formula: duplicate registrations for {target}")
            flop_registry[target] = found
        return found  # type: ignore[no-any-return]

    return register


def _is_operator(target: Any) -> bool:
    return isinstance(target, Packet) or any(
        target is found for made in loaded().values() for found in vars(made.operators).values()
    )


class FlopCounterMode:
    """``with FlopCounterMode() as counter:`` counts the operations of this thread, backward passes too.

    Products of matrices and convolutions count, a multiplication and an addition as two: what an operator
    declares, or a formula that was registered. ``depth`` is down to which modules the table shows, None for
    all; ``display`` prints it at the end. ``custom_mapping`` has formulas of this counter alone, by operator,
    as ``register_flop_formula`` takes them. ``mods`` is not needed, and a warning. To enter it again begins
    anew.
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: Mapping[Any, Callable[..., Any]] | None = None,
    ) -> None:
        if mods is not None:
            warnings.warn(
                "mods argument is not needed anymore, you can stop passing it",
                stacklevel=program_stacklevel(),
            )
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth, self.display = depth, display
        own = {
            target: formula if getattr(formula, "_get_raw", False) else _of_shapes(formula)
            for target, formula in (custom_mapping or {}).items()
        }
        self.flop_registry = {**_all_declared(), **flop_registry, **own}
        self.mod_tracker = ModuleTracker()
        self.mode: _Counting | None = None

    def get_total_flops(self) -> int:
        """The count of all operations."""
        return sum(self.flop_counts[GLOBAL].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """By module, and there by operator, the counts. "Global" has all, ``Net.layers.0`` what one did."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, of modules down to ``depth``, by default that of the counter."""
        limit = self.depth if depth is None else depth
        total = self.get_total_flops()
        unit = max(0, min(len(_SUFFIXES) - 1, (len(str(total)) - 2) // 3))
        names = sorted(n for n in self.flop_counts if n != GLOBAL and (limit is None or n.count(".") < limit))
        rows = [row for name in names for row in self._rows(name, total, unit, name.count("."))]
        # "Global" is shown where no module that is shown has all of it.
        if not any(sum(self.flop_counts[name].values()) >= total for name in names):
            everything = list(self._rows(GLOBAL, total, unit, 0)) if total else [(GLOBAL, "0", "0%")]
            rows = [*everything, *((f" {name}", *rest) for name, *rest in rows)]
        return _table([_HEADS, *rows])

    def _rows(self, name: str, total: int, unit: int, indent: int) -> Iterator[tuple[str, ...]]:
        """A module, and what it did by operator."""
        counts = self.flop_counts[name]
        both = [(name, sum(counts.values())), *((f" - {op}", count) for op, count in counts.items())]
        for label, count in both:
            share = f"{count / total:.2%}" if total else "0%"
            yield (
                " " * indent + label,
                f"{count / 1000**unit:.3f}{_SUFFIXES[unit]}" if unit else str(count),
                share,
            )

    def __enter__(self) -> Self:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.enter()
        return self

    def __exit__(self, *error: object) -> None:
        assert self.mode is not None, "FlopCounterMode.__exit__: it was not entered"
        self.mode.leave()
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table())


def _table(rows: list[Any]) -> str:
    """Rows of texts below the first, the heads, in columns; numbers to the right."""
    wide = [max(len(head) + 2, *(len(row[at]) for row in rows[1:])) for at, head in enumerate(rows[0])]
    rows.insert(1, ["-" * width for width in wide])
    lines = (
        "  ".join(
            text.rjust(width) if at else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, wide, strict=True))
        )
        for row in rows
    )
    return "\n".join(lines)


class _Counting(Layer):
    """Counts the operators that have a formula, and of those nothing that they are made of."""

    gradients = True

    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter = counter
        self._within = False

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        counter, called = self.counter, _public(operator)
        formula = None if self._within else counter.flop_registry.get(called)
        if formula is None:
            return proceed(*arguments)
        self._within = True
        try:
            result = proceed(*arguments)
        finally:
            self._within = False
        positional, keywords = _as_called(operator, arguments)
        count = formula(*positional, out_val=result, **keywords)
        for name in counter.mod_tracker.parents:
            counter.flop_counts[name][called] += count
        return result


def _as_called(op: Operator, arguments: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments by position and by name, without those at the end that are as the schema says."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    kept = 0  # of those by position
    for parameter, value in zip(op.parameters, arguments, strict=True):
        default = not parameter.required and not isinstance(value, Tensor) and value == parameter.default
        if parameter.kwarg_only:
            keywords |= {} if default else {parameter.name: value}
        else:
            positional.append(value)
            kept = kept if default else len(positional)
    return positional[:kept], keywords
