"""The variants that follow from an operator: in place, with ``out``, the functional half of one in place."""

from __future__ import annotations

from dataclasses import replace

from .derived import Variant
from .operators import Operator
from .schema import Alias, Argument, BaseType, OperatorName, Return


def functional_of(name: OperatorName) -> OperatorName:
    """``fill_.Scalar`` -> ``fill.Scalar``."""
    return replace(name, inplace=False)


def functional_half(operator: Operator, name: OperatorName) -> Operator:
    """The out-of-place half of an operator that is declared in place only."""
    schema = operator.schema
    first = replace(schema.positional[0], alias=None)
    plain = replace(
        schema,
        name=name,
        positional=(first, *schema.positional[1:]),
        returns=(Return(BaseType("Tensor")),),
        parenthesised=False,
    )
    return replace(operator, schema=plain, variants=frozenset(), operators={}, samples=())


def inplace_variant(operator: Operator, name: OperatorName) -> Variant:
    """``exp`` -> ``exp_(Tensor(a!) self) -> Tensor(a!)``."""
    schema = operator.schema
    written = Alias(("a",), True)
    first = replace(schema.positional[0], alias=written)
    inplace = replace(
        schema,
        name=name,
        positional=(first, *schema.positional[1:]),
        returns=(Return(BaseType("Tensor"), None, written),),
        parenthesised=False,
    )
    methods = operator.tags & {"pointwise"} and not name.namespace
    variants = operator.inplace_variants or operator.variants | ({"method"} if methods else set())
    made = replace(operator, schema=inplace, variants=variants, kernels={}, autogen=(), samples=())
    return Variant(made, "inplace", operator.name)


def out_variant(operator: Operator, name: OperatorName) -> Variant:
    """``add.Tensor`` -> ``add.out(..., *, Tensor(a!) out) -> Tensor(a!)``.

    One whose result is a list writes into a list, of which nothing is returned: ``Tensor(a!)[] out) -> ()``.
    """
    schema = operator.schema
    results = schema.returns
    letters = [Alias((chr(ord("a") + i),), True) for i in range(len(results))]
    names = ["out"] if len(results) == 1 else [r.name or f"out{i}" for i, r in enumerate(results)]
    outs = tuple(
        Argument(n, r.type, alias=a, kwarg_only=True) for n, r, a in zip(names, results, letters, strict=True)
    )
    returns = tuple(Return(r.type, r.name, a) for r, a in zip(results, letters, strict=True))
    if any(r.type.is_tensor_list for r in results):
        returns = ()
    written = replace(
        schema,
        name=name,
        out=outs,
        kwarg_only=tuple(a for a in schema.kwarg_only if operator.factory is None or not a.type.is_option),
        returns=returns,
        parenthesised=schema.parenthesised or not returns,
    )
    made = replace(
        operator, schema=written, kernels={}, autogen=(), samples=(), variants=frozenset({"function"})
    )
    return Variant(made, "out", operator.name)
