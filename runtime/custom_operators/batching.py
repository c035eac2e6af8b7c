"""How ``vmap`` runs an operator that a program defines: by the rule that was registered for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..func.batched import is_batched_at
from ..func.batching_rules import Rule
from ..func.custom_function import VmapInfo, check_rule_result, wrap_batched
from ..utils.pytree import tree_map

if TYPE_CHECKING:
    from ..core.protocols import Operator
    from ..func.level import VmapLevel


class RegisteredRule(Rule):
    """Calls what ``register_vmap`` was given; without that an operator is refused which writes or gives
    views.
    """

    __slots__ = ()

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        from .operator import CustomOperator

        assert isinstance(operator, CustomOperator)  # whose row this is
        rule = operator.vmap_rule
        if rule is None:
            raise RuntimeError(
                f"Batching rule not implemented for {operator.name}; the fallback path doesn't work on "
                "out= or view ops."
            )
        args, keywords = operator.divided(arguments)
        values = [tree_map(lambda a: a._value if is_batched_at(a, level) else a, value) for value in args]
        in_dims = tuple(
            [tree_map(lambda a: a._bdim if is_batched_at(a, level) else None, value) for value in args]
        )
        with level.lower():
            given = rule(VmapInfo(level.size, level.randomness), in_dims, *values, **keywords)
        text = f"The vmap rule of {operator.name}"
        results, out_dims = check_rule_result(given, text)
        return wrap_batched(results, out_dims, level, text)
