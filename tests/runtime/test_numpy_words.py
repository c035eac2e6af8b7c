"""``axis`` and ``keepdims``, NumPy's words for ``dim`` and ``keepdim``, in tengen and in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

#: A call with PyTorch's words, and the same with NumPy's.
PAIRS: list[tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = [
    (lambda m, x: m.cat([x, x], dim=1), lambda m, x: m.cat([x, x], axis=1)),
    (lambda m, x: m.stack([x, x], dim=-1), lambda m, x: m.stack([x, x], axis=-1)),
    (lambda m, x: m.softmax(x, dim=0), lambda m, x: m.softmax(x, axis=0)),
    (lambda m, x: x.unsqueeze(dim=1), lambda m, x: x.unsqueeze(axis=1)),
    (lambda m, x: x.sum(dim=1, keepdim=True), lambda m, x: x.sum(axis=1, keepdims=True)),
    (lambda m, x: x.argmax(dim=0, keepdim=True), lambda m, x: x.argmax(axis=0, keepdims=True)),
    (lambda m, x: m.amax(x, dim=(0, 1)), lambda m, x: m.amax(x, axis=(0, 1))),
    (lambda m, x: x.max(dim=1).indices, lambda m, x: x.max(axis=1).indices),
    (lambda m, x: m.aminmax(x, dim=0)[0], lambda m, x: m.aminmax(x, axis=0)[0]),
    (
        lambda m, x: m.index_select(x, 0, m.tensor([1])),
        lambda m, x: m.index_select(x, axis=0, index=m.tensor([1])),
    ),
    (
        lambda m, x: x.gather(1, m.tensor([[0], [2]])),
        lambda m, x: x.gather(axis=1, index=m.tensor([[0], [2]])),
    ),
]


@pytest.mark.parametrize("pair", PAIRS)
def test_numpy_words_mean_the_same(
    m: Any, pair: tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]
) -> None:
    x = m.tensor([[3.0, -1.0, 2.0], [0.5, 4.0, 1.0]])
    plain, worded = (call(m, x) for call in pair)
    assert plain.shape == worded.shape
    assert plain.tolist() == worded.tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda m, x: x.unsqueeze(0, axis=1),
        lambda m, x: m.cat([x], 1, axis=1),
        lambda m, x: x.sum(1, axis=1),
        lambda m, x: x.unsqueeze(),
        lambda m, x: x.gather(0),
        lambda m, x: x.gather(axis=0),
    ],
)
def test_an_argument_given_twice_or_not_at_all(m: Any, call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(TypeError):
        call(m, m.ones(2, 3))


def test_subclasses_see_the_word_that_was_written() -> None:
    import tengen

    seen = []

    class Watcher(tengen.Tensor):
        @classmethod
        def __tengen_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((args[1:], kwargs))
            return super().__tengen_function__(func, types, args, kwargs)

    x = tengen.ones(2, 3).as_subclass(Watcher)
    seen.clear()
    assert x.unsqueeze(axis=1).shape == (2, 1, 3)
    assert seen[0] == ((), {"axis": 1})
