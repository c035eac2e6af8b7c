"""What calls take: what stands for a tensor or a list, NumPy's words, and that aliases take the same."""

from __future__ import annotations

import re
from typing import Any

import pytest

import tengen
from tengen.codegen.model.operators import Operator
from tengen.dispatch.arguments import Mismatch, Rejected, bind_arguments, shown
from tengen.dispatch.calls import plain_keywords
from tengen.dispatch.operator import operator
from tengen.generated.operators import NUMPY_NAMES
from tengen.testing import declared
from tengen.testing.declared import declared_operators

OPERATORS = declared_operators()
BASES = {o.name.base for o in OPERATORS.values()}
#: A composite that is one call of another operator with its own arguments: the other's name, and the call's.
_ONE_CALL = re.compile(r"(?:self\.)?(\w+)\((.*)\)")


def alias_of(o: Operator) -> str | None:
    """The function that an operator is another name for, by its kernel."""
    kernel = o.kernels.get("CompositeImplicitAutograd")
    named = o.doc.startswith("The same as") and not o.name.base.endswith("_forward")
    if kernel is None or kernel.formula is None or not named:
        return None
    text = str(kernel.formula.source.value)
    match = _ONE_CALL.fullmatch(text)
    if match is None or match[1] == o.name.base:
        return None
    given = [part.strip().partition("=")[0] for part in match[2].split(",") if part.strip()]
    given = ["self", *given] if text.startswith("self.") else given
    return match[1] if given == [a.name for a in o.schema.arguments] and match[1] in BASES else None


#: Aliases that PyTorch declares otherwise than their operators: other arguments, other defaults, or no out.
OTHERWISE = {"broadcast_to", "special_log_softmax", "special_round", "special_softmax"}
ALIASES = {name: target for name, o in OPERATORS.items() if (target := alias_of(o)) is not None}


def signature(o: Operator) -> tuple[Any, ...]:
    """What a call may give: the arguments' types and defaults, and whether numbers are tensors."""
    arguments = [(str(a.type).replace("SymInt", "int"), a.default, a.kwarg_only) for a in o.schema.arguments]
    return tuple(arguments), "numbers_as_tensors" in o.tags


def test_most_aliases_are_found() -> None:
    assert len(ALIASES) > 30 and ALIASES["divide.Tensor"] == "div"


@pytest.mark.parametrize("name", ALIASES)
def test_an_alias_takes_what_its_operator_takes(name: str) -> None:
    o, target = OPERATORS[name], ALIASES[name]
    others = [p for p in OPERATORS.values() if p.name.base == target]
    same = next((p for p in others if signature(p) == signature(o)), None)
    if name in OTHERWISE:
        assert same is None or has_out(o) is not has_out(same)
        return
    assert same is not None
    assert has_out(o) is has_out(same)
    if o.python_module is None:  # other modules have functions alone
        written = [hasattr(tengen.Tensor, f"{p.name.base}_") for p in (o, same)]
        assert written[0] is written[1]


def has_out(o: Operator) -> bool:
    """Whether an operator takes ``out=``."""
    return any(v.kind == "out" and str(v.base) == str(o.name) for v in declared.variants().values())


# -- NumPy's words ---------------------------------------------------------------------------

WORDED = {
    name: o
    for name, o in OPERATORS.items()
    if "function" in o.variants
    and not name.startswith("_")
    and o.schema.arguments
    and o.factory is None
    and not o.name.inplace
}


def bound(name: str, keywords: dict[str, Any]) -> dict[str, Any]:
    """What the arguments of the operator are in a call with these keywords."""
    o = operator(name)
    values = bind_arguments(o.parameters, (), plain_keywords(keywords, o.names))
    return {shown(p): v for p, v in zip(o.parameters, values, strict=True)}


def example(type_: str) -> Any:
    """Some value of a type."""
    plain = type_.rstrip("?")
    found = {"Tensor": tengen.ones(2), "int": 0, "SymInt": 0, "bool": True, "float": 0.5, "str": "none"}
    if plain.endswith("]"):
        element = plain.partition("[")[0]
        return (found.get(element.rstrip("?"), 0),) * int(plain[:-1].rpartition("[")[2] or 1)
    return {"Scalar": 2, "ScalarType": tengen.float32}.get(plain, found.get(plain))


@pytest.mark.parametrize("name", WORDED)
def test_every_word_of_numpy_for_every_argument(name: str) -> None:
    """By each of its words an argument is what it is by its own name; by two of them the call is an error."""
    o = operator(name)
    required = {shown(p): example(p.type) for p in o.parameters if p.required}
    for word, plain in NUMPY_NAMES.items():
        parameter = next((p for p in o.parameters if shown(p) == plain), None)
        if parameter is None or word in o.names:
            continue
        value = required.get(plain, example(parameter.type))
        rest = {k: v for k, v in required.items() if k != plain}
        assert bound(name, {**rest, word: value})[plain] is bound(name, {**rest, plain: value})[plain] or (
            bound(name, {**rest, word: value})[plain] == value
        )
        with pytest.raises(Rejected):
            bound(name, {**rest, plain: value, word: value})


@pytest.mark.parametrize("word", [w for w, plain in NUMPY_NAMES.items() if plain == "input"])
@pytest.mark.parametrize(
    "function",
    [
        lambda m, **k: m.exp(**k),
        lambda m, **k: m.exp(out=m.empty(2), **k),
        lambda m, **k: m.clone(**k),
        lambda m, **k: m.add(x2=m.ones(2), **k),
        lambda m, **k: m.mul(x2=m.ones(2), **k),
        lambda m, **k: m.mul(other=2, **k),
        lambda m, **k: m.sub(x2=m.ones(2), alpha=2, **k),
        lambda m, **k: m.maximum(x2=m.ones(2), **k),
        lambda m, **k: m.isclose(x2=m.ones(2), rtol=0.5, **k),
        lambda m, **k: m.sum(**k),
        lambda m, **k: m.sum(axis=0, keepdims=True, dtype=m.float64, **k),
        lambda m, **k: m.amax(axis=0, **k),
        lambda m, **k: m.softmax(axis=0, **k),
        lambda m, **k: m.zeros_like(requires_grad=True, **k),
        lambda m, **k: m.full_like(fill_value=3, dtype=m.int64, **k),
        lambda m, **k: m.reshape(shape=(2, 1), **k),
        lambda m, **k: m.where(m.tensor([True, False]), x2=m.ones(2), **k),
        lambda m, **k: m.max(axis=0, **k).values,
        lambda m, **k: m.special.erf(**k),
    ],
)
def test_words_of_functions(m: Any, function: Any, word: str) -> None:
    x = m.tensor([0.5, -2.0])
    plain, worded = function(m, input=x), function(m, **{word: x})
    assert plain.tolist() == worded.tolist() and str(plain.dtype) == str(worded.dtype)
    assert plain.requires_grad is worded.requires_grad


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.exp(x, x=x),
        lambda m, x: m.exp(a=x, x=x),
        lambda m, x: m.exp(input=x, x1=x),
        lambda m, x: m.exp(self=x),
        lambda m, x: m.add(self=x, other=x),
        lambda m, x: m.add(a=x, x1=x, x2=x),
        lambda m, x: m.mul(x, x, x2=x),
        lambda m, x: x.mul(x, x2=x),
        lambda m, x: x.mul(x, x),
        lambda m, x: x.mul(x1=x),
        lambda m, x: m.cat(x=[x]),
        lambda m, x: m.exp(),
        lambda m, x: m.mul(x),
        lambda m, x: m.mul(x2=x),
        lambda m, x: m.linalg.inv(x=x),
    ],
)
def test_words_that_are_refused(m: Any, call: Any) -> None:
    with pytest.raises(TypeError):
        call(m, m.ones(2, 2))


@pytest.mark.parametrize("function", ["divide", "true_divide", "multiply", "subtract", "div", "mul", "sub"])
@pytest.mark.parametrize("pair", [(2, 3.5), (5, 2), (2.5, [1.0, 2.0]), ([1, 2], 2), ([1.0, 2.0], 2)])
def test_numbers_for_tensors(m: Any, function: str, pair: Any) -> None:
    operands = [m.tensor(v) if isinstance(v, list) else v for v in pair]
    result = getattr(m, function)(*operands)
    out = m.empty(0, dtype=result.dtype)
    assert getattr(m, function)(*operands, out=out).tolist() == result.tolist()
    expected = {"d": lambda a, b: a / b, "t": lambda a, b: a / b, "m": lambda a, b: a * b}.get(
        function[0], lambda a, b: a - b
    )
    first, second = (m.tensor(v) for v in pair)
    assert result.tolist() == expected(first, second).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: m.amax(x, None),
        lambda m, x: m.amin(x, dim=None, keepdim=True),
        lambda m, x: x.amax(None),
        lambda m, x: m.amin(x, axis=None),
        lambda m, x: m.roll(x, 1, None),
        lambda m, x: m.nn.functional.max_pool2d(x[None], 2, None),
        lambda m, x: m.arange(True),
        lambda m, x: m.arange(False, True),
        lambda m, x: m.arange(False, True, True),
        lambda m, x: m.full((2,), True),
        lambda m, x: m.div(7, 2, rounding_mode="floor"),
        lambda m, x: m.divide(7, x, rounding_mode="trunc"),
        lambda m, x: m.divide(x, 2, rounding_mode=None),
    ],
)
@pytest.mark.oracle
def test_none_and_bools_as_in_torch(torch: Any, call: Any) -> None:
    result, expected = (call(m, m.arange(6.0).reshape(2, 3) + 1) for m in (tengen, torch))
    assert result.tolist() == expected.tolist()
    assert str(result.dtype).rpartition(".")[2] == str(expected.dtype).rpartition(".")[2]


def test_none_for_what_is_an_empty_list(m: Any) -> None:
    x = m.tensor([[1.0, 5.0], [3.0, 2.0]])
    assert m.amax(x, None).tolist() == x.amax(dim=None).tolist() == 5
    assert m.amin(x, axis=None, keepdim=True).tolist() == [[1]] and m.roll(x, 1, None).tolist() == [
        [2, 1],
        [5, 3],
    ]
    with pytest.raises(TypeError):
        m.flip(x, None)


def test_bools_are_counted_in_int64(m: Any) -> None:
    assert m.arange(False, True).tolist() == [0] and m.arange(True).dtype is m.int64
    assert m.full((1,), True).dtype is m.bool
    with pytest.raises(NotImplementedError):
        m.arange(2, dtype=m.bool)


# -- out ---------------------------------------------------------------------------------------

OUTS = [n for n, v in declared.variants().items() if v.kind == "out" and v.exposed and not n.startswith("_")]


@pytest.mark.parametrize("name", OUTS)
def test_out_is_as_many_tensors_as_there_are_results(name: str) -> None:
    """No number, no tensor where a tuple belongs, and neither too few nor too many."""
    out = operator(name).parameters[-1]
    schema = declared.variants()[name].operator.schema
    x = tengen.ones(2)
    if schema.writes_list:
        assert len(out.convert([x, x])) == 2 and out.convert([]) == ()
        for value in (2, x, (2, 2)):
            with pytest.raises(Mismatch):
                out.convert(value)
        return
    count = len(schema.returns)
    wrong: list[Any] = [2, 2.5, (2,) * count, (x,) * (count + 1)] + (
        [x, (x,) * (count - 1)] if count > 1 else []
    )
    for value in wrong:
        for convert in (out.convert, out.with_numbers):
            with pytest.raises(Mismatch):
                convert(value)
    right = (x,) * count if count > 1 else x
    assert out.convert(right) is right if count == 1 else len(out.convert(right)) == count


def test_out_that_is_none(m: Any) -> None:
    x = m.tensor([2.0, 1.0])
    assert m.exp(x, out=None).tolist() == m.exp(x).tolist() and m.sort(x, out=None)[1].tolist() == [1, 0]
    for function in (m.clone, m.numel):
        with pytest.raises(TypeError):
            function(x, out=None)


@pytest.mark.parametrize("outs", [1, 3, "one tensor", "numbers"])
@pytest.mark.parametrize("function", ["sort", "max", "cummax", "linalg.eigh", "linalg.qr", "aminmax"])
def test_tuples_of_another_length(m: Any, function: str, outs: Any) -> None:
    run = m
    for part in function.split("."):
        run = getattr(run, part)
    arguments = [m.eye(2), *([0] if function in ("max", "cummax") else [])]
    given = {"one tensor": m.empty(2), "numbers": (1, 2)}
    with pytest.raises(TypeError):
        run(*arguments, out=given[outs] if isinstance(outs, str) else (m.empty(0),) * outs)


def test_index_put_without_indices(m: Any) -> None:
    with pytest.raises(RuntimeError):
        m.ones(2).index_put_([], m.tensor(1.0))
    with pytest.raises(RuntimeError):
        tengen.ones(2, device="meta").index_put_([], tengen.tensor(1.0, device="meta"))


def test_repeat_along_as_many_dims_as_there_can_be(m: Any) -> None:
    x = m.tensor([1.0, 2.0])
    assert x.repeat((1,) * 40).shape == (1,) * 39 + (2,)
    assert x.repeat((2,) * 3 + (1,) * 36 + (3,)).shape == (2,) * 3 + (1,) * 36 + (6,)
    assert x.tile((2, *(1,) * 40)).sum().item() == 6
    assert x.repeat(2, 0, 1).shape == (2, 0, 2)
