"""What the tags ``inplace`` and ``out`` ask of a schema; ValueError where it is not so."""

from __future__ import annotations

from .schemas import FunctionSchema

_OUT = "Schema tagged with tengen.Tag.out"
_INPLACE = "Schema tagged with tengen.Tag.inplace"


def check_out(schema: FunctionSchema) -> None:
    """The arguments that are written to are Tensors by name, and returned in their order."""
    mutable = [a for a in schema.arguments if a.is_write]
    if not mutable:
        raise ValueError(f"{_OUT} must have at least one mutable argument. Got: {schema}")
    positional = [a.name for a in mutable if not a.kwarg_only]
    if positional:
        raise ValueError(
            f"{_OUT} requires all mutable arguments to be keyword-only (after the *). Found mutable "
            f"positional args: {positional}. Got: {schema}"
        )
    lists = [a.name for a in mutable if a.type != "Tensor"]
    if lists:
        raise ValueError(
            f"{_OUT} only supports Tensor mutable arguments. Found unsupported mutable args: {lists}. Got: "
            f"{schema}"
        )
    if len(schema.returns) != len(mutable):
        raise ValueError(
            f"{_OUT} must return all mutable arguments (got {len(mutable)} mutable args but "
            f"{len(schema.returns)} returns). Got: {schema}"
        )
    for number, (result, argument) in enumerate(zip(schema.returns, mutable, strict=True)):
        if result.alias_info != argument.alias_info:
            raise ValueError(
                f"Return {number} of schema tagged with tengen.Tag.out must alias mutable arg "
                f"'{argument.name}'. Got: {schema}"
            )


def check_inplace(schema: FunctionSchema) -> None:
    """The first argument, a Tensor, alone is written to, and returned."""
    arguments = schema.arguments
    if not arguments or arguments[0].kwarg_only:
        raise ValueError(f"{_INPLACE} must have at least one positional argument. Got: {schema}")
    first = arguments[0]
    if not first.is_write:
        raise ValueError(
            f"{_INPLACE} requires the first positional argument to be mutable (e.g., Tensor(a!)). Got: "
            f"{schema}"
        )
    if first.type != "Tensor":
        raise ValueError(
            f"{_INPLACE} requires the first positional argument to be a Tensor. Got type '{first.type}' "
            f"for arg '{first.name}'. Got: {schema}"
        )
    if len(schema.returns) != 1:
        raise ValueError(
            f"{_INPLACE} must return exactly one value (the first argument). Got {len(schema.returns)} "
            f"returns. Got: {schema}"
        )
    if schema.returns[0].type != "Tensor" or schema.returns[0].alias_info != first.alias_info:
        raise ValueError(f"{_INPLACE} must return the first mutable argument. Got: {schema}")
    others = [a.name for a in arguments[1:] if a.is_write]
    if others:
        raise ValueError(
            f"{_INPLACE} must only mutate the first positional argument. Found additional mutable args: "
            f"{others}. Got: {schema}"
        )
