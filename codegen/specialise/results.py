"""Specialise: what methods make of what kernels give."""

from __future__ import annotations

from ...ir.expressions import Expr, Name, dotted
from ..model.operators import Operator
from ..model.results import Cast, Result, ResultKind
from .headers import plain_arguments

#: The Types of results, by what entries say of their dtypes.
RESULT_TYPES = {
    "same": Name("T"),
    "bool": dotted("T.bool_type"),
    "real": dotted("T.real_type"),
    "int64": dotted("T.int64_type"),
}
#: By whether the operator gives views, and whether the result is a list.
_KINDS = {
    (False, False): ResultKind.TENSOR,
    (False, True): ResultKind.LIST,
    (True, False): ResultKind.VIEW,
    (True, True): ResultKind.VIEWS,
}


def results_of(operator: Operator, known: Expr | None, is_view: bool, hooked: bool) -> tuple[Result, ...]:
    """The results of an operator, of a Type that is ``known`` or that their dtypes tell.

    ``hooked``: they are computed in another type, and rounded to the Type's.
    """
    returns = operator.schema.returns
    masked = any(a.name == "output_mask" for a in operator.schema.arguments)
    cast = _cast(operator) if hooked else None
    found: list[Result] = []
    for i, r in enumerate(returns):
        number = "" if len(returns) == 1 else str(i)
        kind = _KINDS[is_view, r.type.is_tensor_list]
        of_kind = cast if kind is ResultKind.TENSOR else None
        found.append(Result(f"_r{number}", f"out{number}", known, kind, of_kind, masked))
    return tuple(found)


def _cast(operator: Operator) -> Cast | None:
    """When the results of an operator that is computed in another type are rounded to the Type's."""
    kind = operator.result_kind
    if kind in ("same", "real"):
        return Cast.ALWAYS
    if kind != "dynamic":
        return None
    directed = any(a.type.is_optional_dtype for a in plain_arguments(operator))
    return Cast.UNDIRECTED if directed else Cast.IF_COMPUTED_IN
