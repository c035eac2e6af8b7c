"""No error names an operator that is not public where its declaration says which public function calls it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tengen
import tengen.generated.internal_functions as private
from tengen.testing.declared import calls, operators, runs, working_dtypes

NAMES = [name for name, operator in operators().items() if operator.public]
#: What is wrong with a tensor: its rank, dtype, device, layout, class.
WRONG: tuple[Callable[[Any], Any], ...] = (
    lambda t: t[None, None],
    lambda t: t.flatten()[:1].sum(),
    lambda t: t.flatten()[:0],
    lambda t: t.to(tengen.bool),
    lambda t: t.to(tengen.complex64),
    lambda t: t.to(tengen.int32),
    lambda t: t.to(tengen.float16),
    lambda t: t.to("meta"),
    lambda t: t.to_sparse(),
    lambda t: "a word",
)
OTHERS = ("a word", None, -100, 1e30, [1, 2, 3])


def wrong_calls(values: list[Any]) -> Iterator[list[Any]]:
    """The arguments with one of them wrong."""
    for i, value in enumerate(values):
        found: list[Any] = [*OTHERS]
        if isinstance(value, tengen.Tensor):
            found = []
            for make in WRONG:
                try:
                    found.append(make(value))
                except (RuntimeError, NotImplementedError):  # there is no such tensor
                    continue
        yield from ([*values[:i], other, *values[i + 1 :]] for other in found)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_errors_name_the_public_function(name: str) -> None:
    operator = operators()[name]
    function = operator.name.function
    assert re.fullmatch("_[a-z].*", function)
    positional = len(operator.schema.positional)
    words = [a.name for a in operator.schema.arguments[positional:]]
    found: list[str] = []
    for call in calls(name)[:1]:
        dtypes = [d for d in working_dtypes(call) if runs(name, lambda d=d, call=call: call.tensors(d))]
        for values in wrong_calls(call.tensors(dtypes[-1])):
            try:
                getattr(private, function)(
                    *values[:positional], **dict(zip(words, values[positional:], strict=True))
                )
            except Exception as error:  # whatever it is, it is read
                found.append(str(error))
    for text in found:
        assert not re.search(rf"(?<![\w.]){re.escape(function)}\b", text), text
    assert not calls(name) or any([operator.public in text for text in found]), found


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_name_of_one(name: str) -> None:
    public = operators()[name].public
    homes = (
        tengen,
        tengen.Tensor,
        tengen.nested,
        tengen.nn,
        tengen.nn.functional,
        tengen.nn.utils.rnn,
        tengen.sparse,
    )
    linalg = public.removeprefix("linalg_")
    assert any([hasattr(home, public) for home in homes]) or hasattr(tengen.linalg, linalg), public


def test_losses_of_pytorchs_functions() -> None:
    functional = tengen.nn.functional
    for wrong in (tengen.tensor([0, 5]), tengen.tensor([0]), tengen.tensor([0.5, 1.0])):
        with pytest.raises((RuntimeError, IndexError, ValueError)) as found:
            functional.cross_entropy(tengen.ones(2, 3), wrong)
        assert "_fused" not in str(found.value)
