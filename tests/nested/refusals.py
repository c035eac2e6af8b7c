"""Calls of nested tensors that are refused."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

Call = Callable[[Any], Any]
Build = Callable[..., Any]
Refusal = tuple[Call, type[Exception], str]

A = ((2, 3), (4, 3))
#: Of components that differ in all sizes.
B = ((2, 5), (3, 4))


def numbers(m: Any, *shape: int) -> Any:
    return (m.arange(float(prod(shape))) / 7 - 1).reshape(shape)


def strided(m: Any, *shapes: tuple[int, ...], **options: Any) -> Any:
    return m.nested.nested_tensor([numbers(m, *shape) for shape in shapes], **options)


def jagged(m: Any, *shapes: tuple[int, ...], **options: Any) -> Any:
    return strided(m, *shapes, layout=m.jagged, **options)


def beside(m: Any, n: Any, *shape: int, dim: int = 1) -> Any:
    """A jagged tensor of the offsets of another one."""
    return m.nested.nested_tensor_from_jagged(numbers(m, *shape), n.offsets(), jagged_dim=dim)


def gaps(m: Any, *inner: int) -> Any:
    places = m.tensor([0, 3, 7, 10]), m.tensor([2, 1, 3])
    return m.nested.nested_tensor_from_jagged(numbers(m, 10, *inner), *places)


def turned(m: Any) -> Any:
    """Components of which the ragged dimension is the last one; not contiguous in PyTorch."""
    return strided(m, (2, 20), (3, 20)).transpose(-1, -2)


def attention(m: Any, *args: Any, **options: Any) -> Any:
    return m.nn.functional.scaled_dot_product_attention(*args, **options)


def jag(m: Any, values: Any, offsets: Any = None, lengths: Any = None, **options: Any) -> Any:
    places = [None if given is None else m.tensor(given) for given in (offsets, lengths)]
    return m.nested.nested_tensor_from_jagged(values, *places, **options)


OUT = r"Dimension out of range|out of range"
NO_BATCH = r"dim=0, which counts the components"
FIRST = "the first size must be 2, the number of components"
MISFIT = "^{}: cannot call a pointwise operator with inputs of shapes"

#: Of a tensor of either layout; ``x(m, *shapes)`` makes one.
OF_BOTH: dict[str, tuple[Callable[[Any, Build], Any], type[Exception], str]] = {
    "unbind": (lambda m, x: x(m, *A).unbind(1), RuntimeError, "^unbind: .*dim=0, got dim=1"),
    "unbind out of range": (lambda m, x: x(m, *A).unbind(3), IndexError, f"^unbind: {OUT}"),
    "transpose of components": (
        lambda m, x: x(m, *A).transpose(0, 1),
        RuntimeError,
        f"^transpose: .*{NO_BATCH}",
    ),
    "transpose to them": (lambda m, x: x(m, *A).transpose(1, -3), RuntimeError, f"^transpose: .*{NO_BATCH}"),
    "transpose out of range": (lambda m, x: x(m, *A).transpose(-4, -1), IndexError, f"^transpose: {OUT}"),
    "permute of components": (
        lambda m, x: x(m, *A).permute(1, 0, 2),
        RuntimeError,
        f"^permute: .*{NO_BATCH}",
    ),
    "permute of fewer": (lambda m, x: x(m, *A).permute(0, 1), RuntimeError, "^permute: got 2 dimensions.* 3"),
    "permute twice": (lambda m, x: x(m, *A).permute(0, 2, -1), RuntimeError, "^permute: .*repeated"),
    "squeeze": (lambda m, x: x(m, *A).squeeze(), NotImplementedError, "squeeze"),
    "squeeze of components": (lambda m, x: x(m, *A).squeeze(0), RuntimeError, f"^squeeze: .*{NO_BATCH}"),
    "squeeze out of range": (lambda m, x: x(m, *A).squeeze(3), IndexError, f"^squeeze: {OUT}"),
    "unsqueeze before": (lambda m, x: x(m, *A).unsqueeze(0), RuntimeError, f"^unsqueeze: .*{NO_BATCH}"),
    "view as none": (lambda m, x: x(m, *A).view(()), RuntimeError, f"^view: .*{FIRST}"),
    "view of all": (lambda m, x: x(m, *A).view(-1), RuntimeError, f"^view: .*{FIRST}"),
    "view of more": (lambda m, x: x(m, *A).view(3, -1, 3), RuntimeError, f"^view: .*{FIRST}"),
    "view of one size": (lambda m, x: x(m, *A).view(2, 2, 3), RuntimeError, "^view: "),
    "reshape as none": (lambda m, x: x(m, *A).reshape(()), RuntimeError, FIRST),
    "reshape to others": (lambda m, x: x(m, *A).reshape(2, -1, 4), RuntimeError, "^view: "),
    "flatten of components": (lambda m, x: x(m, *A).flatten(0, 1), RuntimeError, FIRST),
    "flatten of ragged": (lambda m, x: x(m, *A).flatten(1, 2), RuntimeError, "^view: "),
    "unflatten of ragged": (lambda m, x: x(m, *A).unflatten(1, (2, -1)), RuntimeError, "^unflatten: "),
    "expand": (lambda m, x: x(m, *A).expand(-1, -1, 5), RuntimeError, "^expand: the size 5 must be 3, or -1"),
    "expand to more": (lambda m, x: x(m, *A).expand(2, 2, -1, -1), RuntimeError, "^expand: got 4 sizes"),
    "narrow": (lambda m, x: x(m, *A).narrow(1, 0, 1), RuntimeError, "^narrow: .*dim=1, of the ragged size"),
    "narrow beyond": (lambda m, x: x(m, *A).narrow(0, 0, 3), RuntimeError, "^narrow.*exceeds"),
    "chunk": (lambda m, x: x(m, *A).chunk(2, 1), RuntimeError, "^chunk: .*dim=1, of the ragged size"),
    "split": (lambda m, x: x(m, *A).split(2, 1), RuntimeError, "^split: .*ragged dimension, dim=1"),
    "split by sizes": (lambda m, x: x(m, *A).split([1, 2], 1), RuntimeError, "^split_with_sizes: .*dim=1"),
    "split of another sum": (lambda m, x: x(m, *A).split([1, 1], -1), RuntimeError, "sum exactly to 3"),
    "split of components": (lambda m, x: x(m, *A).split([1, 2], 0), RuntimeError, "sum exactly to 2"),
    "tensor_split": (lambda m, x: x(m, *A).tensor_split(2, 1), RuntimeError, "^tensor_split: .*dim=1"),
    "index of ragged": (lambda m, x: x(m, *A)[:, 0], RuntimeError, "^index: .*dim=1, of the ragged size"),
    "index out of range": (lambda m, x: x(m, *A)[2], IndexError, "index 2 .* with size 2"),
    "index of none": (lambda m, x: x(m, *A)[0:0][0], IndexError, "with size 0"),
    "index within": (lambda m, x: x(m, *A)[1, 4, 2], IndexError, "out of bounds"),
    "index list": (lambda m, x: x(m, *A)[[0, 1]], NotImplementedError, "index.*NestedTensorCPU"),
    "indices nested": (
        lambda m, x: m.ones(9)[x(m, (2,), (3,)).to(m.int64)],
        IndexError,
        "indices must be strided, but got a nested one",
    ),
    "assignment": (
        lambda m, x: x(m, *A).__setitem__((slice(None), 0), 5.0),
        TypeError,
        "Cannot assign to parts of a nested tensor",
    ),
    "assignment of one out of range": (lambda m, x: x(m, *A).__setitem__(2, 5.0), TypeError, "Cannot assign"),
    "cat with strided": (
        lambda m, x: m.cat([x(m, *A), numbers(m, 2, 3, 3)], -1),
        NotImplementedError,
        "^cat: ",
    ),
    "cat of strided first": (
        lambda m, x: m.cat([numbers(m, 2, 3, 3), x(m, *A)]),
        NotImplementedError,
        "^cat: ",
    ),
    "cat of other sizes": (
        lambda m, x: m.cat([x(m, *A), x(m, *A[::-1])], -1),
        RuntimeError,
        "^cat: .*dimension 2",
    ),
    "cat of more dimensions": (
        lambda m, x: m.cat([x(m, *A), x(m, (2, 3, 4), (4, 3, 4))], 2),
        RuntimeError,
        "^cat: ",
    ),
    "cat out of range": (lambda m, x: m.cat([x(m, *A)] * 2, 3), IndexError, f"^cat: {OUT}"),
    "stack of components": (lambda m, x: m.stack([x(m, *A)] * 2), RuntimeError, f"^stack: .*{NO_BATCH}"),
    "stack of others": (lambda m, x: m.stack([x(m, *A), x(m, *A[::-1])], 1), RuntimeError, "^stack: "),
    "add of others": (lambda m, x: x(m, *A) + x(m, *A[::-1]), RuntimeError, MISFIT.format("add")),
    "eq of others": (lambda m, x: x(m, *A) == x(m, *A[::-1]), RuntimeError, MISFIT.format("eq")),
    "addcmul of others": (
        lambda m, x: x(m, *A).addcmul(x(m, *A[::-1]), x(m, *A)),
        RuntimeError,
        MISFIT.format("addcmul"),
    ),
    "add of more rows": (lambda m, x: x(m, *A) + numbers(m, 3, 3), RuntimeError, MISFIT.format("add")),
    "add of more dimensions": (
        lambda m, x: x(m, *A) + numbers(m, 1, 1, 2, 3),
        RuntimeError,
        MISFIT.format("add"),
    ),
    "add of other columns": (
        lambda m, x: x(m, *A) + numbers(m, 2),
        RuntimeError,
        "^add: .*(shapes|size of tensor)",
    ),
    "add to a strided one": (
        lambda m, x: numbers(m, 3).add_(x(m, *A)),
        RuntimeError,
        "output with shape|layout",
    ),
    "add_ of more columns": (
        lambda m, x: x(m, (2, 1), (4, 1)).mul_(numbers(m, 2, 1, 3)),
        RuntimeError,
        "^mul_?: (output with shape|cannot call)",
    ),
    "add of a size": (lambda m, x: x(m, *A) + x(m, *A).shape[1], RuntimeError, "ragged dimension"),
    "out of other sizes": (
        lambda m, x: m.exp(x(m, *A), out=x(m, *A[::-1])),
        RuntimeError,
        r"^exp\(\): Expected out tensor of the size .*: a nested tensor is not resized",
    ),
    "copy of others": (lambda m, x: x(m, *A).copy_(x(m, *A[::-1])), RuntimeError, "^copy: .*does not expand"),
    "copy of a strided one": (
        lambda m, x: x(m, *A).copy_(numbers(m, 2, 4, 3)),
        NotImplementedError,
        "^copy_: ",
    ),
    "fill": (lambda m, x: x(m, *A).fill_(m.tensor([1.0])), RuntimeError, "^fill: .*0-dimension"),
    "sum of components": (lambda m, x: x(m, *A).sum(0), RuntimeError, "^sum: .*reduc"),
    "sum of ragged and last": (lambda m, x: x(m, *A).sum((1, 2)), RuntimeError, "^sum: .*reduc"),
    "sum of first and last": (lambda m, x: x(m, *A).mean((0, 2), True), RuntimeError, "^mean: .*reduc"),
    "sum out of range": (lambda m, x: x(m, *A).sum(-4), IndexError, f"^sum: {OUT}"),
    "any out of range": (lambda m, x: x(m, *A).any(3), IndexError, f"^any: {OUT}"),
    "argmax of components": (lambda m, x: x(m, *A).argmax(0), RuntimeError, "^argmax: .*reduc"),
    "softmax of components": (lambda m, x: x(m, *A).softmax(0), RuntimeError, f"softmax: .*{NO_BATCH}"),
    "softmax out of range": (lambda m, x: x(m, *A).softmax(3), IndexError, f"softmax: {OUT}"),
    "dropout": (lambda m, x: m.nn.functional.dropout(x(m, *A), 1.1), ValueError, "got 1.1"),
    "layer_norm of components": (
        lambda m, x: m.nn.functional.layer_norm(x(m, *A), x(m, *A).shape),
        RuntimeError,
        "layer_norm: expected the last 3 of the dimensions",
    ),
    "layer_norm of more": (
        lambda m, x: m.nn.functional.layer_norm(x(m, (2, 3), (2, 3)), (2, 2, 2, 3)),
        RuntimeError,
        "layer_norm: expected the last 4 of the dimensions",
    ),
    "layer_norm of another size": (
        lambda m, x: m.nn.functional.layer_norm(x(m, *A), (4,)),
        RuntimeError,
        r"normalized_shape=\[4\]",
    ),
    "layer_norm of vectors": (
        lambda m, x: m.nn.functional.layer_norm(x(m, (2,), (3,)), (3,)),
        RuntimeError,
        "layer_norm: expected normalized_shape to be the last sizes",
    ),
    "linear of vectors": (
        lambda m, x: m.nn.functional.linear(x(m, (1,), (2,)), numbers(m, 2, 2)),
        RuntimeError,
        "^linear: expected the last 1",
    ),
    "linear by more": (
        lambda m, x: m.nn.functional.linear(x(m, *A), numbers(m, 2, 3, 3)),
        RuntimeError,
        "3-D",
    ),
    "linear by others": (
        lambda m, x: m.nn.functional.linear(x(m, *A), numbers(m, 2, 4)),
        RuntimeError,
        "6x3 and 4x2",
    ),
    "linear by nested": (
        lambda m, x: m.nn.functional.linear(x(m, *A), x(m, *A)),
        RuntimeError,
        "^linear: weight must be a matrix, got 3-D",
    ),
    "bmm of vectors": (lambda m, x: x(m, (2,), (3,)).bmm(x(m, (2,), (3,))), RuntimeError, "^bmm: .*3D"),
    "bmm by vectors": (lambda m, x: x(m, *A).bmm(x(m, (2,), (3,))), RuntimeError, "^bmm: .*mat2 has 2"),
    "bmm of more components": (
        lambda m, x: x(m, *A).bmm(x(m, *A, (3, 3))),
        RuntimeError,
        "^bmm: expected as many components of both, but got 2 and 3",
    ),
    "matmul of more components": (
        lambda m, x: x(m, *A) @ numbers(m, 3, 3, 2),
        RuntimeError,
        "but got 2 and 3",
    ),
    "matmul by a vector": (lambda m, x: x(m, *A) @ numbers(m, 4), RuntimeError, "^matmul: .*multiplied"),
    "matmul that does not fit": (
        lambda m, x: x(m, *A) @ x(m, *A),
        RuntimeError,
        "matmul: (the matrices of component 0 cannot be multiplied|not supported between)",
    ),
    "matmul by more dimensions": (
        lambda m, x: x(m, *A) @ numbers(m, 2, 2, 3, 2),
        RuntimeError,
        r"matmul: not supported between inputs of shapes \[2, .*, 3\] and \[2, 2, 3, 2\]",
    ),
    "matmul by fewer dimensions": (
        lambda m, x: x(m, (2, 2, 3), (4, 2, 3)) @ numbers(m, 2, 3, 2),
        RuntimeError,
        r"matmul: not supported between inputs of shapes \[2, .*, 2, 3\] and \[2, 3, 2\]",
    ),
    "attention beside a strided one": (
        lambda m, x: attention(m, x(m, *A), numbers(m, 2, 4, 3), x(m, *A)),
        RuntimeError,
        "key is not",
    ),
    "attention of other batches": (
        lambda m, x: attention(m, x(m, *A), x(m, (2, 3)), x(m, (2, 3))),
        RuntimeError,
        "as many components of key",
    ),
    "attention of other dimensions": (
        lambda m, x: attention(m, x(m, (2, 2, 3), (4, 2, 3)), x(m, *A), x(m, *A)),
        RuntimeError,
        "as many dimensions of key as of query, but got 3 and 4",
    ),
    "embedding of floats": (
        lambda m, x: m.nn.functional.embedding(x(m, (2,), (3,)), numbers(m, 5, 2)),
        RuntimeError,
        "^embedding: .*float32",
    ),
    "clone in channels_last": (
        lambda m, x: x(m, *A).clone(memory_format=m.channels_last),
        RuntimeError,
        "^clone: .*no order of the dimensions: got memory_format=tengen.channels_last",
    ),
    "to in channels_last": (
        lambda m, x: x(m, *A).to(m.float64, memory_format=m.channels_last),
        RuntimeError,
        "no order of the dimensions",
    ),
    "LSTM": (lambda m, x: m.nn.LSTM(3, 2)(x(m, *A)), NotImplementedError, "^LSTM: .*pack_sequence"),
    "GRU": (
        lambda m, x: m.nn.GRU(3, 2, batch_first=True)(x(m, *A)),
        NotImplementedError,
        "^GRU: .*pack_sequence",
    ),
    "resize_": (lambda m, x: x(m, *A).resize_(3), NotImplementedError, "^resize_: .*a nested tensor"),
    "padding of a smaller size": (
        lambda m, x: x(m, *A).to_padded_tensor("0"),
        TypeError,
        "'padding' .* must be float, not str",
    ),
    **{
        f"{name}_like in {format}": (
            lambda m, x, name=name, format=format: getattr(m, f"{name}_like")(
                x(m, *A), *([2.0] if name == "full" else []), memory_format=getattr(m, format)
            ),
            RuntimeError,
            f"a nested tensor has no order of the dimensions: got memory_format=tengen.{format}",
        )
        for name in ("empty", "zeros", "ones", "full", "rand", "randn")
        for format in ("channels_last", "channels_last_3d")
    },
}

ALONE: dict[str, Refusal] = {
    "numbers": (lambda m: m.nested.nested_tensor(4.0), TypeError, "tensor_list is of type float"),
    "one tensor": (lambda m: m.nested.nested_tensor(m.tensor([3.0])), TypeError, "of type Tensor"),
    "nothing": (lambda m: m.nested.nested_tensor(), TypeError, "tensor_list"),
    "other dimensions": (
        lambda m: m.nested.nested_tensor([m.tensor(1.0), m.tensor(2.0), m.tensor([])]),
        RuntimeError,
        "dimension 1 for Tensor at index 2 and dimension 0 for Tensor at index 0",
    ),
    "pinned by a word": (
        lambda m: m.nested.nested_tensor([m.ones(2)], pin_memory="yes"),
        TypeError,
        "'pin_memory' must be bool, not str",
    ),
    "other devices": (
        lambda m: m.nested.as_nested_tensor([m.ones(2), m.ones(2, device="meta")], layout=m.jagged),
        RuntimeError,
        "same device, but got cpu and, at index 1, meta",
    ),
    "strided on meta": (
        lambda m: m.nested.nested_tensor([m.ones(2)], device="meta"),
        NotImplementedError,
        "no backend has tensors of the layout jagged on the device meta",
    ),
    "a sparse one": (
        lambda m: m.nested.nested_tensor([m.eye(2).to_sparse()], layout=m.jagged),
        RuntimeError,
        "index 0 is of the layout tengen.sparse_coo",
    ),
    "a list in a list": (
        lambda m: m.nested.as_nested_tensor([m.ones(2), [1.0]]),
        TypeError,
        "ts has an element of type list",
    ),
    "none in a list": (lambda m: m.nested.as_nested_tensor([None]), TypeError, "element of type NoneType"),
    "rows of a vector": (lambda m: m.nested.as_nested_tensor(m.ones(3)), RuntimeError, "has dim.. 1"),
    "strides": (lambda m: strided(m, *A).stride(), RuntimeError, "has no strides"),
    "softmax of numbers": (lambda m: strided(m, (), ()).softmax(1), IndexError, OUT),
    "strided sum": (lambda m: strided(m, (3,), (2,)).sum(-1), RuntimeError, "^sum: .*keepdim=True"),
    "matmul of vectors": (
        lambda m: strided(m, (0,))[0:0] @ strided(m, *A),
        RuntimeError,
        "^matmul: |matmul: ",
    ),
    "matmul of other batches": (
        lambda m: strided(m, (2, 2, 4), (2, 3, 4)) @ strided(m, (3, 4, 6), (3, 4, 5)),
        RuntimeError,
        r"batches of matrices of component 0 do not go together \(\[2, 2, 4\] and \[3, 4, 6\]\)",
    ),
    "matmul of other dimensions": (
        lambda m: strided(m, *A) @ strided(m, (2, 3, 2), (2, 3, 2)),
        RuntimeError,
        "matmul: not supported between",
    ),
    "linear of ragged last": (
        lambda m: m.nn.functional.linear(turned(m), numbers(m, 8, 5)),
        RuntimeError,
        "^linear: expected the last 1",
    ),
    "cat of other dimensions": (
        lambda m: m.cat([strided(m, *A), strided(m, (2, 3, 4), (4, 3, 4))]),
        RuntimeError,
        "^cat: expected nested tensors of one number of dimensions, but got 3, 4",
    ),
    "jagged cat of components": (lambda m: m.cat([jagged(m, *A)] * 2), RuntimeError, "^cat: .*dim=0"),
    "add of more dimensions before": (
        lambda m: (lambda n: n + beside(m, n, 2, 6, 3, dim=2))(jagged(m, *A)),
        RuntimeError,
        MISFIT.format("add"),
    ),
    "mul by the transposed": (
        lambda m: (lambda n: n * n.transpose(1, 2))(jagged(m, *A)),
        RuntimeError,
        MISFIT.format("mul"),
    ),
    "add of five dimensions": (
        lambda m: jagged(m, (2, 3, 4), (3, 3, 4)) + numbers(m, 1, 1, 1, 1, 4),
        RuntimeError,
        MISFIT.format("add"),
    ),
    "padding of gaps": (
        lambda m: gaps(m, 3).to_padded_tensor(0.0),
        RuntimeError,
        "^to_padded_tensor: .*holes",
    ),
    "padding of too few": (
        lambda m: strided(m, *A).to_padded_tensor(0.0, (2, 4)),
        RuntimeError,
        "must have 3 sizes",
    ),
    "padding of less": (
        lambda m: strided(m, *A).to_padded_tensor(0.0, (2, 3, 3)),
        RuntimeError,
        "Truncation",
    ),
    "padding of a list": (
        lambda m: m.nested.to_padded_tensor([1.0], 0.0),
        TypeError,
        "input must be Tensor, not list",
    ),
    "from_jagged without places": (lambda m: jag(m, numbers(m, 4)), RuntimeError, "At least one of offsets"),
    "from_jagged of a list": (lambda m: jag(m, [1.0], [0, 1]), TypeError, "values must be Tensor, not list"),
    "from_jagged of nested": (
        lambda m: jag(m, jagged(m, *A), [0, 2]),
        RuntimeError,
        "values must be a strided tensor",
    ),
    "from_jagged by a list": (
        lambda m: m.nested.nested_tensor_from_jagged(numbers(m, 4), [0, 4]),
        TypeError,
        "offsets must be Tensor, not list",
    ),
    "from_jagged in dim 0": (lambda m: jag(m, numbers(m, 4), [0, 4], jagged_dim=0), ValueError, "but got 0"),
    "from_jagged in dim 1.0": (
        lambda m: jag(m, numbers(m, 4), [0, 4], jagged_dim=1.0),
        TypeError,
        "jagged_dim must be int, not float",
    ),
    "from_jagged at most a word": (
        lambda m: jag(m, numbers(m, 4), [0, 4], max_seqlen="4"),
        TypeError,
        "max_seqlen must be int, not str",
    ),
    "narrow of dim 0": (
        lambda m: m.nested.narrow(numbers(m, 3, 4), 0, 1, 2, layout=m.jagged),
        RuntimeError,
        "only supports dim=1",
    ),
    "narrow by tensors": (
        lambda m: m.nested.narrow(numbers(m, 3, 4), 1, m.tensor([0, 1, 2]), m.tensor([1, 1, 1])),
        RuntimeError,
        "must be integers for the strided layout",
    ),
    "narrow of a vector": (
        lambda m: m.nested.narrow(m.ones(3), 1, 0, 1, layout=m.jagged),
        RuntimeError,
        "has 1",
    ),
    "narrow of a list": (
        lambda m: m.nested.narrow([1.0], 1, 0, 1),
        TypeError,
        "tensor must be Tensor, not list",
    ),
    "narrow of nested": (
        lambda m: m.nested.narrow(jagged(m, *A), 1, 0, 1, layout=m.jagged),
        RuntimeError,
        "tensor must be a strided tensor, but got a nested one",
    ),
    "narrow from a half": (
        lambda m: m.nested.narrow(numbers(m, 3, 4), 1, 0.5, 1, layout=m.jagged),
        RuntimeError,
        "start must be an integer or a tensor, not float",
    ),
    "narrow from a list": (
        lambda m: m.nested.narrow(numbers(m, 3, 4), 1, [0, 1, 2], 1, layout=m.jagged),
        RuntimeError,
        "start must be an integer or a tensor, not list",
    ),
    "masked_select of nested": (
        lambda m: m.nested.masked_select(jagged(m, *A), m.tensor([True])),
        RuntimeError,
        "tensor must be a strided tensor",
    ),
    "masked_select by nested": (
        lambda m: m.nested.masked_select(numbers(m, 2, 3), jagged(m, *A) > 0),
        RuntimeError,
        "mask must be a strided tensor",
    ),
    "masked_select by numbers": (
        lambda m: m.nested.masked_select(numbers(m, 3, 3), m.tensor([1])),
        RuntimeError,
        "expected BoolTensor for mask",
    ),
}

#: What PyTorch takes: it forms tensors that no operator can read, reads other numbers or cuts some off.
HERE_ALONE: dict[str, Refusal] = {
    **{
        f"from_jagged of {name}": (lambda m, given=given: jag(m, numbers(m, 4), *given), RuntimeError, text)
        for name, given, text in (
            ("floats", ([0.0, 4.0],), "offsets must be 1D and of integers"),
            ("offsets that descend", ([0, 3, 2, 4],), "offsets must ascend"),
            ("offsets beyond", ([0, 5],), "out of bounds"),
            ("lengths beyond", ([0, 2, 4], [1, 3]), "out of bounds"),
            ("negative lengths", (None, [5, -1]), "offsets must ascend"),
        )
    },
    "from_jagged of longer ones": (
        lambda m: jag(m, numbers(m, 4), [0, 1, 4], max_seqlen=2),
        RuntimeError,
        r"got max_seqlen=2 for components of the lengths \[1, 3\]",
    ),
    "from_jagged of shorter ones": (
        lambda m: jag(m, numbers(m, 4), [0, 1, 4], min_seqlen=2),
        RuntimeError,
        "got min_seqlen=2 for components of the lengths",
    ),
    "narrow from halves": (
        lambda m: m.nested.narrow(numbers(m, 3, 4), 1, m.tensor([0.5, 1, 2]), 1, layout=m.jagged),
        RuntimeError,
        "start must be a tensor of integers, but got tengen.float32",
    ),
    "narrow beyond": (
        lambda m: m.nested.narrow(numbers(m, 3, 4), 1, 3, 2, layout=m.jagged),
        RuntimeError,
        "out of bounds for dimension 1 of size 4",
    ),
    "jagged padding of less": (
        lambda m: jagged(m, *A).to_padded_tensor(0.0, (2, 3, 3)),
        RuntimeError,
        "Truncation is not supported",
    ),
    "sum twice": (lambda m: jagged(m, *A).sum((1, 1)), RuntimeError, "^sum: dim 1 appears multiple times"),
}
