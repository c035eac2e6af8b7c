"""What shows the memory of nested and sparse tensors: a write that would be recorded is refused.

Their history is not made anew by such a write: gradients would be those of the values before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen


def nested(layout: str) -> tuple[Any, Any]:
    leaf = tengen.arange(6.0).view(2, 3).requires_grad_()
    other = tengen.ones(4, 3, requires_grad=True)
    return tengen.nested.as_nested_tensor([leaf, other], layout=getattr(tengen, layout)) * 1, leaf


def sparse(layout: str) -> tuple[Any, Any]:
    leaf = tengen.eye(3).requires_grad_()
    made = leaf.to_sparse(layout=getattr(tengen, layout)) * 1
    return made.coalesce() if layout == "sparse_coo" else made, leaf


MAKERS: dict[str, Callable[[], tuple[Any, Any]]] = {
    **{layout: lambda layout=layout: nested(layout) for layout in ("strided", "jagged")},
    **{layout: lambda layout=layout: sparse(layout) for layout in ("sparse_coo", "sparse_csr", "sparse_csc")},
}
VIEWS: dict[str, Callable[[Any], Any]] = {
    "values": lambda x: x.values(),
    "select": lambda x: x[0],
    "unbind": lambda x: x.unbind(),
    "transpose": lambda x: x.transpose(1, 2),
    "view": lambda x: x.view(2, -1, 3),
    "chunk": lambda x: x.chunk(1, -1),
    "narrow": lambda x: x.narrow(-1, 0, 2),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "a view of a view": lambda x: x.values()[0],
    "views of a view": lambda x: x.values().unbind(),
}


def stored(x: Any) -> Any:
    return x.detach().values().numpy().copy()


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("layout", MAKERS)
def test_no_write_is_recorded_through_what_the_base_does_not_know(layout: str, name: str) -> None:
    x, leaf = MAKERS[layout]()
    before = stored(x)
    try:
        found = VIEWS[name](x)
    except (RuntimeError, NotImplementedError, IndexError):
        return  # there is no such view
    views = found if isinstance(found, tuple | list) else [found]
    for view in views:
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            view.mul_(0)
    assert (stored(x) == before).all()
    (gradient,) = tengen.autograd.grad(views[0].sum(), leaf)
    assert gradient.to_dense().abs().max() == 1


@pytest.mark.parametrize("layout", MAKERS)
def test_what_is_not_recorded_may_be_written(layout: str) -> None:
    """Under no_grad, and where nothing requires gradients."""
    x, _ = MAKERS[layout]()
    with tengen.no_grad():
        x.values().mul_(2)
    plain = x.detach().clone()
    plain.values().mul_(0)
    assert not stored(plain).any()
    assert stored(x).any()
