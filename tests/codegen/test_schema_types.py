"""What can be asked of a type of the schema language."""

from __future__ import annotations

import pytest

from tengen.codegen.model.schema import Argument, SchemaType
from tengen.codegen.parse.schema import parse_schema

QUESTIONS = (
    "is_optional", "is_tensor", "is_optional_tensor", "is_tensor_list", "is_scalar", "is_dtype",
    "is_optional_dtype", "is_int_list", "is_option",
)  # fmt: skip


def argument(type_: str) -> Argument:
    return parse_schema(f"f({type_} x) -> Tensor").arguments[0]


@pytest.mark.parametrize(
    ("type_", "true"),
    [
        ("Tensor", {"is_tensor"}),
        ("Tensor?", {"is_optional", "is_optional_tensor"}),
        ("Tensor[]", {"is_tensor_list"}),
        ("Tensor?[]", {"is_tensor_list"}),
        ("Scalar", {"is_scalar"}),
        ("Scalar?", {"is_optional"}),
        ("ScalarType", {"is_dtype"}),
        ("ScalarType?", {"is_optional", "is_optional_dtype", "is_option"}),
        ("Device?", {"is_optional", "is_option"}),
        ("bool?", {"is_optional", "is_option"}),
        ("int[]", {"is_int_list"}),
        ("SymInt[]", {"is_int_list"}),
        ("int[2]", set()),
        ("int[1]?", {"is_optional"}),
        ("str", set()),
    ],
)
def test_questions(type_: str, true: set[str]) -> None:
    kind: SchemaType = argument(type_).type
    assert {question for question in QUESTIONS if getattr(kind, question)} == true
    assert str(kind.required) == type_.removesuffix("?")


def test_arguments_that_are_tensors() -> None:
    """An optional Tensor is one; a list is like one."""
    answers = {
        t: (argument(t).is_tensor, argument(t).is_tensor_like) for t in ("Tensor", "Tensor?", "Tensor[]")
    }
    assert answers == {"Tensor": (True, True), "Tensor?": (True, True), "Tensor[]": (False, True)}
