"""Making nested tensors, what they tell, and the errors of calls that do not fit."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import nested
from tengen.kernels.nested import array
from tengen.nn import functional as F

PARTS = [tengen.arange(6.0).reshape(2, 3), tengen.arange(3.0).reshape(1, 3)]
LAYOUTS = [tengen.strided, tengen.jagged]


def lists(n: Any) -> list[Any]:
    return [part.tolist() for part in n.unbind()]


EXPECTED = [part.tolist() for part in PARTS]


def jagged(**options: Any) -> Any:
    return nested.nested_tensor(PARTS, layout=tengen.jagged, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_are_copied_and_told(layout: Any) -> None:
    part = tengen.zeros(2)
    n = nested.nested_tensor([part, [1.0]], layout=layout, dtype=tengen.float64)
    part += 1
    assert lists(n) == [[0.0, 0.0], [1.0]]
    assert (n.is_nested, n.layout, n.dtype, n.ndim, n.numel(), len(n)) == (
        True,
        layout,
        tengen.float64,
        2,
        3,
        2,
    )
    assert isinstance(n, tengen.Tensor) and n.is_leaf and not n.requires_grad
    assert not part.is_nested


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_keep_layout_and_requirement(layout: Any) -> None:
    n = nested.nested_tensor(PARTS, layout=layout, requires_grad=True)
    for made in (pickle.loads(pickle.dumps(n)), copy.deepcopy(n)):
        assert made.layout is layout and made.requires_grad and lists(made) == EXPECTED
    for made in (n.clone(), n.detach(), n.to(tengen.float64), n.contiguous(), n.data):
        assert made.shape == n.shape and lists(made) == EXPECTED
    assert n.to(tengen.float32) is n and n.detach().requires_grad_().requires_grad
    assert nested.as_nested_tensor(n, layout=layout) is n


@pytest.mark.parametrize("layout", LAYOUTS)
def test_like_and_in_place(layout: Any) -> None:
    n = nested.nested_tensor(PARTS, layout=layout)
    assert lists(tengen.ones_like(n)) == [[[1.0] * 3] * 2, [[1.0] * 3]]
    assert lists(tengen.full_like(n, 2, dtype=tengen.int64)) == [[[2] * 3] * 2, [[2] * 3]]
    assert lists(n.clone().zero_()) == lists(tengen.zeros_like(n))
    assert tengen.empty_like(n).shape == n.shape
    assert lists(n.clone().mul_(n).add_(1)) == [(p * p + 1).tolist() for p in PARTS]
    assert lists(n.clone().copy_(n * 2)) == [(2 * p).tolist() for p in PARTS]


def test_sizes_are_symbols() -> None:
    n, m = jagged(), jagged()
    size = n.size(1)
    assert size.__class__ is tengen.SymInt and size == (n + 1).size(1) != m.size(1)
    assert size != 2 and size >= 2 and hash(size) == hash(n.exp().shape[1])
    assert repr(3 * size) == f"3*{size}" and n.stride() == (3 * size, 3, 1)
    assert tuple(n.transpose(1, 2).shape) == (2, 3, size)
    for bad in (lambda: size < 5, lambda: size > 5):
        with pytest.raises(ValueError, match="indeterminate"):
            bad()
    with pytest.raises(RuntimeError, match=r"chunk: not supported.*the ragged size j"):
        n.chunk(2, 1)
    strided = nested.nested_tensor(PARTS)
    assert strided.shape == nested.nested_tensor(PARTS).shape and str(strided.shape[1]) == "(2, 1)"


def test_printing() -> None:
    n = jagged(requires_grad=True)
    size = f"size=(2, {n.size(1)}, 3), offsets=tensor([0, 2, 3])"
    assert repr(n) == f"NestedTensor({size}, requires_grad=True, contiguous=True)"
    assert repr(n + 1) == f"NestedTensor({size}, grad_fn=<AddBackward0>, contiguous=True)"
    assert (
        repr(nested.nested_tensor([[1, 2], [3]])) == "nested_tensor([\n  tensor([1, 2]),\n  tensor([3])\n])"
    )
    assert repr(nested.nested_tensor([])) == "nested_tensor([\n\n])"


def test_values_and_offsets() -> None:
    values = tengen.arange(10.0, requires_grad=True)
    offsets = tengen.tensor([0, 3, 7, 10])
    n = nested.nested_tensor_from_jagged(values, offsets)
    assert n.values().tolist() == values.tolist() and n.lengths() is None
    assert nested.nested_tensor_from_jagged(values, n.offsets()).size(1) == n.size(1)
    assert lists(nested.nested_tensor_from_jagged(values, lengths=tengen.tensor([3, 4, 3]))) == lists(n)
    gaps = nested.nested_tensor_from_jagged(values, offsets, lengths=tengen.tensor([2, 1, 3]))
    assert lists(gaps) == [[0.0, 1.0], [3.0], [7.0, 8.0, 9.0]] and not gaps.is_contiguous()
    packed = gaps.contiguous()
    assert packed.values().tolist() == [0, 1, 3, 7, 8, 9] and packed.offsets().tolist() == [0, 2, 3, 6]
    assert (gaps.sum().item(), gaps.mean(1).tolist(), gaps.max().item()) == (28.0, [0.5, 3.0, 8.0], 9.0)
    (gaps * gaps).sum().backward()
    assert values.grad.tolist() == [0, 2, 0, 6, 0, 0, 0, 14, 16, 18]
    wide = nested.nested_tensor_from_jagged(
        tengen.arange(10.0).reshape(2, 5), tengen.tensor([0, 3, 5]), jagged_dim=2
    )
    assert lists(wide) == [[[0, 1, 2], [5, 6, 7]], [[3, 4], [8, 9]]]


@pytest.mark.parametrize(
    ("starts", "lengths", "offsets"),
    [
        ([0, 3, 7], [2, 1, 3], [0, 3, 7, 10]),
        ([0, 3], [3, 4], [0, 3, 7]),
        ([2, 3, 7], [1, 4, 3], [2, 3, 7, 10]),
    ],
    ids=["between", "behind", "before"],
)
def test_gaps_do_not_count(starts: list[int], lengths: list[int], offsets: list[int]) -> None:
    """Values between the components, behind the last one and before the first: in results and gradients."""
    values = tengen.rand(10, 3, dtype=tengen.float64, requires_grad=True)
    given = tengen.tensor(lengths) if lengths == [2, 1, 3] else None
    weight = tengen.rand(2, 3, dtype=tengen.float64, requires_grad=True)
    scale = tengen.rand(3, dtype=tengen.float64, requires_grad=True)
    gaps = nested.nested_tensor_from_jagged(values, tengen.tensor(offsets), given)
    parts = [values[start : start + n] for start, n in zip(starts, lengths, strict=True)]
    tengen.testing.assert_close(gaps.sum(), sum([p.sum() for p in parts]))

    def through(x: Any) -> Any:
        return F.linear(F.layer_norm(x, (3,), scale), weight).tanh()

    found = tengen.autograd.grad(sum([p.sum() for p in through(gaps).unbind()]), (values, weight, scale))
    expected = tengen.autograd.grad(sum([through(p).sum() for p in parts]), (values, weight, scale))
    for a, b in zip(found, expected, strict=True):
        tengen.testing.assert_close(a, b)


def test_sums_over_components() -> None:
    """Over batch and ragged dimension, with and without gaps, and over one before the ragged dimension."""
    values = tengen.rand(10, 3, dtype=tengen.float64)
    for lengths in (None, tengen.tensor([2, 1, 3])):
        n = nested.nested_tensor_from_jagged(values, tengen.tensor([0, 3, 7, 10]), lengths)
        parts = n.unbind()
        for dim in ((0, 1), (0, 1, 2)):
            tengen.testing.assert_close(n.sum(dim), sum([p.sum([d - 1 for d in dim if d]) for p in parts]))
        tengen.testing.assert_close(n.sum(1), tengen.stack([p.sum(0) for p in parts]))
        tengen.testing.assert_close(n.amax((0, 1)), tengen.cat(parts).amax(0))
    wide = nested.nested_tensor_from_jagged(values.t(), tengen.tensor([0, 3, 7, 10]), jagged_dim=2)
    for keepdim in (False, True):
        found, parts = wide.sum(1, keepdim), [p.sum(0, keepdim) for p in wide.unbind()]
        assert [tuple(p.shape) for p in found.unbind()] == [tuple(p.shape) for p in parts]
        tengen.testing.assert_close(found.values(), tengen.cat(parts, -1))
        tengen.testing.assert_close((found * 2).sum(), sum([p.sum() * 2 for p in parts]))


def test_the_same_lengths_at_other_places() -> None:
    """Components that begin at other offsets, or in more values: their values do not go together."""
    lengths = tengen.tensor([2, 1, 3])
    offsets = tengen.tensor([0, 3, 7, 10])
    first = nested.nested_tensor_from_jagged(tengen.ones(10, 3), offsets, lengths)
    same = nested.nested_tensor_from_jagged(2 * tengen.ones(10, 3), offsets, lengths)
    assert first.shape == same.shape and (first * same).sum() == 36
    moved = nested.nested_tensor_from_jagged(tengen.ones(10, 3), tengen.tensor([1, 4, 7, 10]), lengths)
    longer = nested.nested_tensor_from_jagged(tengen.ones(12, 3), offsets, lengths)
    assert moved.shape != first.shape == longer.shape
    for other in (moved, longer):
        for f in (tengen.mul, tengen.atan2, lambda a, b: tengen.cat([a, b], -1), lambda a, b: a.lerp(b, 0.3)):
            with pytest.raises(RuntimeError, match=r"of the same (offsets|sizes)"):
                f(first, other)
        assert lists(other.clone().copy_(same)) == lists(same)
    assert lists(tengen.add(first, 1, out=longer)) == lists(same) == lists(longer)
    before = lists(moved)
    with pytest.raises(RuntimeError, match="a nested tensor is not resized"):
        tengen.exp(first, out=moved)
    assert lists(moved) == before


class Filled:
    """NumPy, whose empty arrays hold sevens."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: Any, dtype: Any = float) -> Any:
        return np.full(shape, 7, dtype)


def test_what_is_in_gaps_of_results_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what memory held before."""
    places = tengen.tensor([0, 3, 7, 10]), tengen.tensor([2, 1, 3])
    gaps = nested.nested_tensor_from_jagged(tengen.zeros(10), *places)
    monkeypatch.setattr(array, "np", Filled())
    third = 1 / tengen.tensor(3.0).item()
    assert gaps.softmax(1).values().tolist() == pytest.approx([0.5] * 2 + [0, 1, 0, 0, 0] + [third] * 3)


def test_narrow_masked_select_and_padding() -> None:
    t = tengen.arange(12.0).reshape(2, 3, 2).requires_grad_()
    n = nested.narrow(t, 1, tengen.tensor([0, 1]), tengen.tensor([1, 2]), layout=tengen.jagged)
    assert lists(n) == [t[0, :1].tolist(), t[1, 1:].tolist()]
    assert lists(nested.narrow(t, 1, 1, 2)) == [t[0, 1:].tolist(), t[1, 1:].tolist()]
    mask = tengen.tensor([[True, False, True], [False, False, True]])
    chosen = nested.masked_select(t[:, :, 0], mask)
    assert lists(chosen) == [[0, 4], [10]]
    with pytest.raises(RuntimeError, match="holes"):
        n.to_padded_tensor(-1.0)
    padded = nested.to_padded_tensor(n.contiguous(), -1.0, (2, 3, 2))
    assert padded.tolist() == [[[0, 1], [-1, -1], [-1, -1]], [[8, 9], [10, 11], [-1, -1]]]
    (chosen * chosen).sum().backward()
    assert t.grad[..., 0].tolist() == [[0, 0, 8], [0, 0, 20]]


def test_gradients_of_strided_operands_and_second_ones() -> None:
    row = tengen.rand(3, dtype=tengen.float64, requires_grad=True)
    by_part = tengen.rand(2, 1, 3, dtype=tengen.float64, requires_grad=True)
    x = [p.double() for p in PARTS]

    def f(row: Any, by_part: Any) -> Any:
        n = nested.as_nested_tensor(x, layout=tengen.jagged)
        return ((n + row) * by_part).softmax(1).pow(2).sum(1)

    assert tengen.autograd.gradcheck(f, (row, by_part))
    leaf = jagged(dtype=tengen.float64, requires_grad=True)
    (first,) = tengen.autograd.grad((leaf**3).sum(), leaf, create_graph=True)
    (second,) = tengen.autograd.grad(first.sum(), leaf)
    tengen.testing.assert_close(second.values(), 6 * leaf.values().detach())
    leaf.sum().backward()
    (2 * leaf).sum().backward()
    assert leaf.grad.shape == leaf.shape and leaf.grad.values().unique().tolist() == [3]


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "no list": (lambda: nested.nested_tensor(3), TypeError, "tensor_list is of type int"),
    "no tensors": (lambda: nested.as_nested_tensor([1]), TypeError, "as_nested_tensor"),
    "other ranks": (lambda: nested.nested_tensor([PARTS[0], tengen.ones(2)]), RuntimeError, "index 1"),
    "other ranks in between": (
        lambda: nested.nested_tensor([PARTS[0], tengen.ones(2), PARTS[0]]),
        RuntimeError,
        "dimension 1 for Tensor at index 1",
    ),
    "other ranks in between, of jagged": (
        lambda: nested.as_nested_tensor([PARTS[0], tengen.ones(2), PARTS[0]], layout=tengen.jagged),
        RuntimeError,
        "dimension 1 for Tensor at index 1",
    ),
    "two ragged": (
        lambda: nested.nested_tensor([tengen.ones(2, 3), tengen.ones(4, 5)], layout=tengen.jagged),
        RuntimeError,
        r"one ragged dimension.*\[0, 1\]",
    ),
    "other dtypes": (
        lambda: nested.as_nested_tensor([tengen.ones(2), tengen.ones(2).int()], layout=tengen.jagged),
        RuntimeError,
        "same dtype.*int32",
    ),
    "no parts": (lambda: nested.nested_tensor([], layout=tengen.jagged), RuntimeError, "empty list"),
    "other layout": (lambda: jagged().to_sparse(), NotImplementedError, "_to_sparse"),
    "conversion": (lambda: nested.as_nested_tensor(jagged()), RuntimeError, "Converting"),
    "no offsets": (lambda: nested.nested_tensor_from_jagged(tengen.ones(3)), RuntimeError, "At least one"),
    "far offsets": (
        lambda: nested.nested_tensor_from_jagged(tengen.ones(3), tengen.tensor([0, 4])),
        RuntimeError,
        "out of bounds",
    ),
    "descending": (
        lambda: nested.nested_tensor_from_jagged(tengen.ones(3), tengen.tensor([0, 3, 2])),
        RuntimeError,
        "ascend",
    ),
    "float offsets": (
        lambda: nested.nested_tensor_from_jagged(tengen.ones(3), tengen.tensor([0.0, 3.0])),
        RuntimeError,
        "of integers.*float32",
    ),
    "long lengths": (
        lambda: nested.nested_tensor_from_jagged(tengen.ones(3), tengen.tensor([0, 3]), tengen.tensor([4])),
        RuntimeError,
        r"lengths \[4\] are out of bounds",
    ),
    "jagged_dim": (
        lambda: nested.nested_tensor_from_jagged(tengen.ones(3), tengen.tensor([0, 3]), jagged_dim=2),
        ValueError,
        "jagged_dim",
    ),
    "narrow": (
        lambda: nested.narrow(tengen.ones(2, 3), 1, tengen.tensor([0, 2]), 2, layout=tengen.jagged),
        RuntimeError,
        "out of bounds",
    ),
    "narrow over a row's end": (
        lambda: nested.narrow(tengen.ones(2, 3), 1, tengen.tensor([2, 0]), 2, layout=tengen.jagged),
        RuntimeError,
        "out of bounds",
    ),
    "matmul of more matrices": (
        lambda: jagged() @ tengen.ones(3, 3, 2),
        RuntimeError,
        "matmul: .*",
    ),
    "matmul of fewer matrices": (
        lambda: jagged() @ tengen.ones(4, 3, 2),
        RuntimeError,
        "matmul: .*",
    ),
    "other offsets": (lambda: jagged() + jagged(), RuntimeError, "^add: .*same offsets"),
    "no broadcast": (lambda: jagged() * tengen.ones(2, 2, 3), RuntimeError, "^mul: .*shapes"),
    "two layouts": (lambda: jagged() + nested.nested_tensor(PARTS), RuntimeError, "^add: .*shapes"),
    "strided sizes": (
        lambda: nested.nested_tensor(PARTS) + nested.nested_tensor(PARTS[::-1]),
        RuntimeError,
        "^add: .*shapes",
    ),
    "index": (lambda: jagged()[2], IndexError, "out of bounds for dimension 0 with size 2"),
    "select": (lambda: jagged().select(2, 3), IndexError, "select: .*size 3"),
    "ragged select": (lambda: jagged().select(1, 0), RuntimeError, "select: .*ragged"),
    "unbind": (lambda: jagged().unbind(1), RuntimeError, "unbind: .*dim=0"),
    "transpose": (lambda: jagged().transpose(0, 1), RuntimeError, "transpose|permute"),
    "dim": (lambda: jagged().sum(3), IndexError, "Dimension out of range"),
    "parts alone": (lambda: jagged().sum(0), RuntimeError, "sum: .*batch dimension"),
    "softmax of components": (lambda: jagged().softmax(0), RuntimeError, "softmax: .*dim=0"),
    "strided sum": (lambda: nested.nested_tensor(PARTS).sum(1), RuntimeError, "sum: .*last dimension"),
    "linear": (lambda: F.linear(jagged(), tengen.ones(2, 4)), RuntimeError, "linear: .*cannot be multiplied"),
    "matmul": (lambda: jagged() @ tengen.ones(4, 2), RuntimeError, "matmul: .*multiplied"),
    "ragged twice": (lambda: jagged() @ jagged().mT, RuntimeError, "not supported between inputs"),
    "layer_norm": (lambda: F.layer_norm(jagged(), (4,)), RuntimeError, "normalized_shape"),
    "ragged cat": (lambda: tengen.cat([jagged(), jagged()], 2), RuntimeError, "cat: .*tensor 1"),
    "small": (lambda: jagged().to_padded_tensor(0.0, (2, 1, 3)), RuntimeError, "output_size"),
    "mask": (
        lambda: F.scaled_dot_product_attention(jagged(), jagged(), jagged(), attn_mask=tengen.ones(2)),
        ValueError,
        "attn_mask",
    ),
    "attention of both": (
        lambda: F.scaled_dot_product_attention(jagged(), tengen.ones(2, 1, 3), jagged()),
        RuntimeError,
        "key is not",
    ),
    "no operator": (lambda: jagged().sort(-1), NotImplementedError, "sort.*NestedTensorCPU"),
    "not nested": (lambda: tengen.ones(2).offsets(), NotImplementedError, "offsets.*CPU"),
    "numpy": (lambda: jagged().numpy(), TypeError, "nested"),
    "view": (lambda: jagged().view(-1), RuntimeError, "view: .*number of components"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_calls(name: str) -> None:
    call, error, text = BAD[name]
    with pytest.raises(error, match=text):
        call()


def test_reduced_dtypes_are_computed_wide() -> None:
    n = jagged(dtype=tengen.float16)
    for result in (n.exp(), n.softmax(-1), F.layer_norm(n, (3,)), F.linear(n, tengen.ones(2, 3).half())):
        assert result.dtype is tengen.float16 is result.values().dtype
    assert n.sum(1).dtype is tengen.float16 and (n > 1).dtype is tengen.bool


def test_parts_chosen_of_a_batch() -> None:
    n = nested.nested_tensor([tengen.full((k, 2), float(k)) for k in (1, 3, 2)], layout=tengen.jagged)
    first, second = n.chunk(2)
    assert [part.shape[0] for part in (*first.unbind(), *second.unbind())] == [1, 3, 2]
    leaf = n.detach().requires_grad_()
    leaf.split(1)[1].sum().backward()
    assert [part.sum().item() for part in leaf.grad.unbind()] == [0, 6, 0]


LIKE = {
    "empty": tengen.empty_like,
    "zeros": tengen.zeros_like,
    "ones": tengen.ones_like,
    "full": lambda n, **options: tengen.full_like(n, 2.0, **options),
    "rand": tengen.rand_like,
    "randn": tengen.randn_like,
    "randint": lambda n, **options: tengen.randint_like(n, 5, **options),
}


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("name", LIKE)
def test_layout_and_device_of_what_is_like_it(name: str, layout: Any) -> None:
    """They may be named, and are those of the nested tensor."""
    n = nested.nested_tensor(PARTS, layout=layout)
    made = LIKE[name](n, layout=layout, device="cpu", dtype=tengen.float64)
    assert made.is_nested and made.layout is layout and made.dtype is tengen.float64
    assert [p.shape for p in made.unbind()] == [p.shape for p in PARTS]
    for other in {tengen.strided, tengen.jagged, tengen.sparse_coo} - {layout}:
        with pytest.raises(RuntimeError, match=f"a nested one of the layout {layout} has that layout: got"):
            LIKE[name](n, layout=other)
    with pytest.raises(NotImplementedError, match="no nested tensors on the device meta"):
        LIKE[name](n, device="meta")


def test_copies_between_offsets_of_the_same_sizes() -> None:
    n, other = jagged(), nested.nested_tensor([2 * p for p in PARTS], layout=tengen.jagged)
    size = n.size(1)
    assert lists(n.copy_(other)) == lists(other) and n.size(1) == size != other.size(1)
    before = lists(n)
    for wrong in (nested.nested_tensor(PARTS[::-1], layout=tengen.jagged), nested.nested_tensor(PARTS)):
        with pytest.raises(RuntimeError, match="does not expand to"):
            n.copy_(wrong)
    assert lists(n) == before


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_what_there_is_not_of_nested_tensors(layout: Any) -> None:
    n = nested.nested_tensor(PARTS, layout=layout)
    for call in (n.data_ptr, n.untyped_storage, n.storage):
        with pytest.raises(
            (RuntimeError, NotImplementedError), match=r"nested tensor.*(no storage|has none)"
        ):
            call()
    for call in (n.clone, n.contiguous):
        with pytest.raises(RuntimeError, match="a nested tensor has no order of the dimensions"):
            call(memory_format=tengen.channels_last)
    with pytest.raises(NotImplementedError, match="only strided tensors are copied to the device meta"):
        n.to("meta")
    with pytest.raises(TypeError, match="argument 'requires_grad' must be bool, not int"):
        nested.nested_tensor(PARTS, layout=layout, requires_grad=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("ragged", [1, 2, 3])
def test_selections_beside_the_ragged_dimension(ragged: int) -> None:
    """Before it and behind it: of each component the slice, with the ragged dimension where it then is."""
    parts = [tengen.arange(12.0 * n).view(n, 3, 4).movedim(0, ragged - 1) for n in (2, 5, 1)]
    given = tengen.nested.nested_tensor([p.movedim(ragged - 1, 0) for p in parts], layout=tengen.jagged)
    order = [0, *(d for d in (2, 3) if d - 1 < ragged), 1, *(d for d in (2, 3) if d - 1 >= ragged)]
    given = given.permute(*order)
    for dim in {1, 2, 3} - {ragged}:
        for index in (0, -1):
            found = given.select(dim, index)
            assert found.layout is tengen.jagged and found._array.ragged_idx == ragged - (dim < ragged)
            for one, part in zip(found.unbind(), parts, strict=True):
                assert one.equal(part.select(dim - 1, index))
