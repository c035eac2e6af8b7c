"""There are no sparse tensors on the device meta, and every way to make one says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen

LAYOUTS = {
    name: getattr(tengen, name)
    for name in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
}
INDICES = tengen.tensor([0, 1, 2]), tengen.tensor([0, 1])


def of_parts(layout: str, where: str, size: Any, device: str | None) -> Any:
    values = tengen.ones(2, 1, 1) if layout in ("sparse_bsr", "sparse_bsc") else tengen.ones(2)
    parts = [t.to(where) for t in (*INDICES, values)]
    if layout == "sparse_coo":
        parts[:2] = [tengen.tensor([[0, 1], [1, 0]]).to(where)]
    return getattr(tengen, f"{layout}_tensor")(*parts, size, device=device)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_indices_and_values(layout: str) -> None:
    for size in (None, (2, 2)):
        for where, device in (("meta", None), ("meta", "meta"), ("cpu", "meta")):
            with pytest.raises(NotImplementedError, match=f"layout {layout} on the device meta"):
                of_parts(layout, where, size, device)
        assert of_parts(layout, "cpu", size, None).layout is LAYOUTS[layout]


MAKERS: dict[str, Callable[..., Any]] = {
    "zeros": lambda **k: tengen.zeros(2, 2, **k),
    "empty": lambda **k: tengen.empty(2, 2, **k),
    "full": lambda **k: tengen.full((2, 2), 1.0, **k),
    "zeros_like": lambda **k: tengen.zeros_like(tengen.ones(2, 2), **k),
    "ones_like": lambda **k: tengen.ones_like(tengen.ones(2, 2), **k),
    "new_empty": lambda **k: tengen.ones(2, 2).new_empty((2, 2), **k),
    "new_zeros": lambda **k: tengen.ones(2, 2).new_zeros((2, 2), **k),
    "new_ones": lambda **k: tengen.ones(2, 2).new_ones((2, 2), **k),
    "new_full": lambda **k: tengen.ones(2, 2).new_full((2, 2), 1.0, **k),
}


@pytest.mark.parametrize("name", MAKERS)
def test_by_layout(name: str) -> None:
    for layout in LAYOUTS.values():
        with pytest.raises(NotImplementedError, match="on the device meta"):
            MAKERS[name](layout=layout, device="meta")
        try:  # on the CPU it is of the layout that is asked for, or refused
            assert MAKERS[name](layout=layout).layout is layout
        except (RuntimeError, NotImplementedError) as error:
            assert "not implemented" in str(error) or "blocksize" in str(error)
    assert tengen.ones(2, 2).to_sparse().new_zeros((2, 2), layout=tengen.strided).layout is tengen.strided
