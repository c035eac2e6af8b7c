"""What shows the memory of nested and sparse tensors.

A write that would be recorded is refused: their history is not made anew by it, gradients would be those of
the values before. One that is not recorded counts as a write to them, so that whoever saved them is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen


def nested(layout: str) -> tuple[Any, Any]:
    leaf = tengen.arange(1.0, 7.0).view(2, 3).requires_grad_()
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
#: More ways to the memory, of which some are of one layout only.
WAYS: dict[str, Callable[[Any], Any]] = {
    **VIEWS,
    "_values": lambda x: x._values(),
    "indices": lambda x: x.indices(),
    "_indices": lambda x: x._indices(),
    "col_indices": lambda x: x.col_indices(),
    "row_indices": lambda x: x.row_indices(),
    "t": lambda x: x.t().values(),
    "permute": lambda x: x.permute(1, 0).values(),
    "unsqueezed values": lambda x: x.unsqueeze(-1).values(),
    "expand": lambda x: x.expand(x.shape).values(),
    "a row of each": lambda x: x.select(-1, 0),
    "unflatten": lambda x: x.unflatten(2, (3, 1)),
    "squeeze": lambda x: x.unsqueeze(-1).squeeze(-1),
    "split": lambda x: x.split([1, 2], -1),
    "detach": lambda x: x.detach().values(),
    "detached views": lambda x: x.values().detach(),
    "itself": lambda x: x,
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


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("layout", MAKERS)
def test_who_saved_a_tensor_is_told_of_writes_to_its_memory(layout: str, name: str) -> None:
    """Where the way made a copy, nothing is told, and gradients are right."""
    x, leaf = MAKERS[layout]()
    saving = x * x
    parts = {part: array.copy() for part, array in x._array.parts().items()}
    with tengen.no_grad():
        try:
            found = WAYS[name](x)
        except (RuntimeError, NotImplementedError, IndexError, TypeError):
            return  # there is no such way
        for view in found if isinstance(found, tuple | list) else [found]:
            view.mul_(2)
    changed = [part for part, array in x._array.parts().items() if (array != parts[part]).any()]
    assert x._version or not changed
    if x._version:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            saving.values().sum().backward()
    else:
        saving.values().sum().backward()
        assert leaf.grad is not None


@pytest.mark.parametrize("layout", ("strided", "jagged"))
def test_ways_that_share_memory_in_pytorch_do_here(layout: str) -> None:
    names = ["values", "select", "unbind", "a view of a view", "views of a view", "detach", "detached views"]
    if layout == "jagged":
        names += ["transpose", "view", "chunk", "narrow", "unsqueeze", "unflatten", "squeeze"]
        names += ["a row of each"]
    for name in names:
        x, _ = nested(layout)
        before = stored(x)
        with tengen.no_grad():
            found = WAYS[name](x)
            for view in found if isinstance(found, tuple | list) else [found]:
                view.mul_(2)
        assert (stored(x) != before).any() and x._version, name


def test_values_that_a_nested_tensor_is_made_of_have_its_version() -> None:
    values, offsets = tengen.ones(6, 3, requires_grad=True), tengen.tensor([0, 2, 6])
    x = tengen.nested.nested_tensor_from_jagged(values, offsets)
    saving = values.exp() * values
    with tengen.no_grad():
        x.mul_(2)
    assert values._version == x._version == 1 and values.tolist() == [[2.0] * 3] * 6
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saving.sum().backward()
    rows = tengen.ones(2, 5, 3)
    part = tengen.nested.narrow(rows, 1, tengen.tensor([0, 1]), tengen.tensor([2, 3]), layout=tengen.jagged)
    part.zero_()
    assert rows._version and rows.sum() == 15


def test_parts_of_one_tensor_beside_each_other() -> None:
    """What shares a version with what is written may be an operand."""
    x = tengen.nested.nested_tensor([tengen.ones(2, 3), tengen.ones(4, 3)], layout=tengen.jagged)
    x.add_(x.unsqueeze(-1).squeeze(-1)).mul_(x[0][0])
    x.values().mul_(x.values() * 1)
    assert x.values().tolist() == [[16.0] * 3] * 6
    with pytest.raises(RuntimeError, match="mul_: unsupported operation: more than one element"):
        x.unsqueeze(-1).expand(2, -1, 3, 2).mul_(2)
    y = tengen.eye(3).to_sparse().coalesce()
    y.mul_(y.t())
    y._values().mul_(y.t()._values() * 2)
    assert y.to_dense().tolist() == (tengen.eye(3) * 2).tolist()


def test_data_has_a_version_of_its_own() -> None:
    """As that of strided tensors: a write through it is not noticed."""
    for layout in MAKERS:
        x, _ = MAKERS[layout]()
        x.data.values().mul_(2)
        assert not x._version


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


def jagged_of(values: Any) -> Any:
    return tengen.nested.nested_tensor_from_jagged(values, tengen.tensor([0, 2, 4]))


def compressed_of(layout: str) -> Callable[[Any], Any]:
    def make(values: Any) -> Any:
        shape = (4, 1, 1, 2) if layout in ("sparse_bsr", "sparse_bsc") else (4, 2)
        lines = tengen.tensor([0, 2, 4]), tengen.tensor([0, 1, 0, 1])
        return tengen.sparse_compressed_tensor(*lines, values.view(shape), layout=getattr(tengen, layout))

    return make


#: Of 4 rows of 2 values a tensor of another layout over their memory.
OVER: dict[str, Callable[[Any], Any]] = {
    "jagged": jagged_of,
    "a part, jagged": lambda v: jagged_of(v[:4]),
    "rows, jagged": lambda v: tengen.nested.narrow(
        v.view(2, 2, 2), 1, 0, tengen.tensor([2, 2]), layout=tengen.jagged
    ),
    "a view, jagged": lambda v: jagged_of(v).transpose(1, 2),
    **{name: compressed_of(name) for name in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")},
    "sparse_csr.t": lambda v: compressed_of("sparse_csr")(v).transpose(0, 1),
}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "mul_": lambda x, _: x.mul_(2),
    "neg_": lambda x, _: x.neg_(),
    "copy_": lambda x, _: x.copy_(x * 2),
    "add_": lambda x, _: x.add_(x),
    "fill_": lambda x, _: x.fill_(3.0),
    "of what requires grad": lambda x, w: x.mul_(w),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", OVER)
def test_no_recorded_write_reaches_a_leaf(name: str, write: str) -> None:
    """Neither through a tensor of another layout that is made of it. What is not recorded does."""
    leaf = tengen.arange(1.0, 9.0).view(4, 2).requires_grad_()
    before, w = leaf.tolist(), tengen.tensor(3.0, requires_grad=True)
    x = OVER[name](leaf)
    with pytest.raises(RuntimeError, match=r"in-place|inplace"):
        WRITES[write](x, w)
    assert leaf.tolist() == before and not leaf._version
    with tengen.no_grad():
        WRITES[write](x, w)
    assert leaf.tolist() != before and leaf._version == 1


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("requires_grad", [True, False])
@pytest.mark.parametrize("name", [name for name in OVER if "view" not in name and ".t" not in name])
def test_what_shares_memory_with_what_was_written_has_no_history_of_before(
    name: str, requires_grad: bool, write: str
) -> None:
    leaf = tengen.arange(1.0, 9.0).view(4, 2).requires_grad_(requires_grad)
    w = tengen.tensor(3.0, requires_grad=True)
    values = leaf * 1
    part = values[1:]
    x = OVER[name](values)
    seen = x.values()
    WRITES[write](x, w)
    if not x.requires_grad:
        return  # nothing was recorded
    inputs = [t for t in (leaf, w) if t.requires_grad]
    for other in (values, part, seen, seen[0]):
        with pytest.raises(RuntimeError, match="modified inplace"):
            tengen.autograd.grad(other.sum(), inputs, allow_unused=True)
    found = tengen.autograd.grad(x.values().sum(), inputs, allow_unused=True)
    if requires_grad and write == "mul_":
        assert found[0].tolist() == [[2.0, 2.0]] * 4
    if write == "of what requires grad":
        assert found[-1].item() == 36.0


def test_what_is_detached_keeps_out_of_it() -> None:
    """As of strided tensors: values that were read are constants, whatever is written later."""
    leaf = tengen.ones(4, 2, requires_grad=True)
    x = jagged_of(leaf * 1)
    apart = x.detach().values().requires_grad_()
    x.mul_(2)
    assert tengen.autograd.grad((apart * 3).sum(), apart)[0].tolist() == [[3.0, 3.0]] * 4


def test_elements_of_sparse_vectors_may_be_written() -> None:
    x = tengen.eye(3)[0].to_sparse()
    for element in (x[0], x.select(0, 0), *x.unbind(), x[:1].squeeze(0), x[0].to_dense()):
        assert element.mul_(3).item() in (0.0, 3.0)


@pytest.mark.parametrize("layout", ["sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
def test_what_is_written_to_a_compressed_tensor_goes_to_its_values(layout: str) -> None:
    """As in PyTorch, where the result has elements at the same places."""
    values = tengen.arange(1.0, 9.0).view(4, 2)
    x = compressed_of(layout)(values)
    seen = x.values()
    x.mul_(2)
    x.transpose(0, 1).add_(x.transpose(0, 1)) if layout in ("sparse_csr", "sparse_csc") else x.add_(x)
    assert (
        values.tolist() == seen.view(4, 2).tolist() == [[4.0, 8.0], [12.0, 16.0], [20.0, 24.0], [28.0, 32.0]]
    )
    assert values._version == x._version == 2
