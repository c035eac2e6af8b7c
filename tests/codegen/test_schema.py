"""Signatures: parsed, and printed back to the same string."""

from __future__ import annotations

import pytest

from tengen.codegen.parse.schema import SchemaError, parse_name, parse_schema

SCHEMAS = [
    "exp(Tensor self) -> Tensor",
    "exp_(Tensor(a!) self) -> Tensor(a!)",
    "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    "unbind.int(Tensor(a|b) self, int dim=0) -> Tensor(a|b)[]",
    "_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()",
    "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    "__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
    "norm(Tensor self, Scalar? p, *, str order='fro', float eps=1e-05) -> Tensor",
    'pad(Tensor self, str mode="con\\"stant", int[2] stride=[-2,-1], bool[2] mask=[True,False]) -> (Tensor)',
    "arange(Scalar end, *, Layout? layout=strided, MemoryFormat? f=contiguous_format, int r=Mean) -> Tensor",
]


@pytest.mark.parametrize("text", SCHEMAS)
def test_round_trip(text: str) -> None:
    assert str(parse_schema(text)) == text


def test_parts() -> None:
    schema = parse_schema(SCHEMAS[2])
    assert schema.name.base == "add" and schema.name.overload == "out" and not schema.name.inplace
    assert [a.name for a in schema.positional] == ["self", "other"]
    assert [a.name for a in schema.kwarg_only] == ["alpha"] and schema.kwarg_only[0].default == "1"
    assert (
        [a.name for a in schema.out] == ["out"]
        and schema.out[0].alias is not None
        and schema.out[0].alias.write
    )
    assert parse_schema(SCHEMAS[5]).positional[0].alias is not None
    assert [SCHEMAS[2][a.offset :].split(" ")[0] for a in schema] == ["Tensor", "Tensor", "Scalar"]


@pytest.mark.parametrize(
    ("text", "base", "inplace", "dunder", "overload", "method"),
    [
        ("add_.Tensor", "add", True, False, "Tensor", "add__Tensor"),
        ("__iand__", "__iand__", True, True, "", "__iand__"),
        ("__and__.Scalar", "__and__", False, True, "Scalar", "__and___Scalar"),
        ("_foreach_exp", "_foreach_exp", False, False, "", "_foreach_exp"),
    ],
)
def test_names(text: str, base: str, inplace: bool, dunder: bool, overload: str, method: str) -> None:
    name = parse_name(text)
    assert (name.base, name.inplace, name.dunder, name.overload) == (base, inplace, dunder, overload)
    assert name.method == method and str(name) == text


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0), ("f", 1), ("f(", 2), ("f(Tensor)", 8), ("f(Tensor a) -> ", 15), ("f(Tensor a) ->Tensor", 11),
        ("f(int a=) -> Tensor", 8),
    ],
)  # fmt: skip
def test_errors_say_where(text: str, offset: int) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    assert caught.value.offset == offset
