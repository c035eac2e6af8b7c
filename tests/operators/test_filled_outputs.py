"""Outputs of operators that make tensors of nothing but numbers: their shape afterwards, and which warn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.codegen.model.names import FILLS_OUT, TENSOR_OPTIONS, WARNS_OF_SIZE
from tengen.testing.declared import calls, operators, run, variants

pytestmark = pytest.mark.filterwarnings("ignore:.*range is deprecated")

#: The variants with ``out`` of operators that make tensors, by name, with what they are made of.
MAKERS = {
    str(v.name): str(v.base)
    for v in variants().values()
    if v.kind == "out" and str(v.base) in operators() and operators()[str(v.base)].factory
}
FILLING = [name for name, base in MAKERS.items() if FILLS_OUT in operators()[base].tags]

#: By what the output is, it and the memory that it lies in; of ``n`` elements.
OUTPUTS: dict[str, Callable[[Any, int], tuple[Any, Any]]] = {
    "more dimensions": lambda m, n: (lambda b: (b, b))(m.zeros(1, n, 1)),
    "transposed": lambda m, n: (lambda b: (b.t(), b))(m.zeros(1 if n % 2 else 2, n if n % 2 else n // 2)),
    "a column": lambda m, n: (lambda b: (b[:, 1:], b))(m.zeros(n, 2)),
    "fewer elements": lambda m, n: (lambda b: (b, b))(m.zeros(max(n - 1, 0), 1)),
    "more elements": lambda m, n: (lambda b: (b, b))(m.zeros(n + 1, 1)),
}


def write(name: str, arguments: dict[str, Any], out: Any) -> None:
    """Call a variant with ``out``; it has no argument for what the output says."""
    run(name, [*[arguments[a.name] for a in variants()[name].operator.schema.arguments], out])


def shown(write: Callable[[], Any]) -> int:
    """How many warnings of the output's size there are."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        write()
    return sum("shape" in str(w.message) for w in found)


def samples(name: str) -> list[dict[str, Any]]:
    """The arguments of the declared calls, by name."""
    names = [a.name for a in operators()[MAKERS[name]].schema.arguments]
    given = [call for call in calls(MAKERS[name]) if call.takes(tengen.float64)]
    return [dict(zip(names, call.tensors(tengen.float64), strict=True)) for call in given]


@pytest.mark.parametrize("name", FILLING)
def test_of_as_many_elements_they_are_filled_as_they_lie(name: str) -> None:
    for arguments in samples(name):
        expected = run(MAKERS[name], [*arguments.values()]).to(tengen.float32)
        for output in ("more dimensions", "transposed", "a column"):
            out, memory = OUTPUTS[output](tengen, expected.numel())
            shape, strides = out.shape, out.stride()
            assert not shown(partial(write, name, arguments, out))
            assert (out.shape, out.stride()) == (shape, strides)
            np.testing.assert_array_equal(out.numpy().ravel(), expected.numpy())
            assert memory.untyped_storage().data_ptr() == out.untyped_storage().data_ptr()


@pytest.mark.parametrize("name", MAKERS)
def test_of_another_size_they_get_that_of_the_result(name: str) -> None:
    warns = WARNS_OF_SIZE in operators()[MAKERS[name]].tags
    for arguments in samples(name):
        result = run(MAKERS[name], [*arguments.values()])
        for output in ("fewer elements", "more elements"):
            out, _ = OUTPUTS[output](tengen, result.numel())
            if out.numel() != result.numel():
                expected = warns and out.numel() > 0
                assert shown(partial(write, name, arguments, out)) == expected
                assert out.shape == result.shape


def test_what_is_expanded_is_refused() -> None:
    base = tengen.zeros(1, 3)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        tengen.linspace(0, 5, 6, out=base.expand(2, 3))
    assert base.tolist() == [[0, 0, 0]]


@pytest.mark.oracle
@pytest.mark.parametrize("name", FILLING)
def test_torch_fills_them_so(name: str) -> None:
    import torch

    def written(m: Any, output: str) -> tuple[Any, ...]:
        out, memory = OUTPUTS[output](m, n)
        call: Any = (
            partial(write, name) if m is tengen else lambda given, out: function(*given.values(), out=out)
        )
        seen = shown(lambda: call(given, out))
        return tuple(out.shape), out.stride(), seen, out.tolist(), memory.tolist()

    base = name.partition(".")[0]
    function = getattr(torch.fft, base[4:]) if base.startswith("fft_") else getattr(torch, base)
    for arguments in samples(name):
        given = {k: v for k, v in arguments.items() if k not in TENSOR_OPTIONS}
        result = function(*given.values())
        n = result.numel()
        for output in OUTPUTS:
            ours, theirs = written(tengen, output), written(torch, output)
            assert ours[:3] == theirs[:3], (arguments, output)
            if np.array_equal(np.ravel(theirs[3]), result.tolist()):  # that of fftfreq is not always
                np.testing.assert_allclose(ours[3], theirs[3], 1e-6)
                np.testing.assert_allclose(ours[4], theirs[4], 1e-6)
