"""Typical uses, which mypy --strict and pyright take, and whose types they know. It runs, too."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import tengen
from tengen import Tensor
from tengen.autograd import Function
from tengen.generated import return_types
from tengen.nn import functional as F

# -- tensors are made

x = assert_type(tengen.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True), Tensor)
zeros = assert_type(tengen.zeros(2, 3), Tensor)
tengen.zeros((2, 3), dtype=tengen.float64)
tengen.zeros([2, 3], dtype=float, device="cpu", requires_grad=True)
tengen.ones(2, 3, dtype=tengen.complex64, device=tengen.device("cpu"))
tengen.full((2, 3), 7, dtype=tengen.long)
tengen.empty(0, layout=tengen.strided)
tengen.arange(5)
tengen.arange(0, 1, 0.25, dtype=tengen.float32)
tengen.linspace(0.0, 1.0, 5)
tengen.randn(2, 3, generator=tengen.Generator().manual_seed(1))
tengen.zeros_like(x, dtype=tengen.int64, requires_grad=False)
x.new_zeros(2, 3)
x.new_full((2, 2), 1.5, dtype=tengen.float64)
tengen.eye(3, 4)
tengen.from_numpy(np.arange(3))

# -- operators of Python

assert_type(x + 1, Tensor)
assert_type(1 - x, Tensor)
assert_type(x * x, Tensor)
assert_type(2.5 / x, Tensor)
assert_type(x**2, Tensor)
assert_type(2**x, Tensor)
assert_type(x @ x.T, Tensor)
assert_type(-x, Tensor)
assert_type(abs(x), Tensor)
assert_type(x == x, Tensor)
assert_type(x < 2, Tensor)
assert_type(~(x > 1) | (x > 2), Tensor)
assert_type(x * np.float32(2), Tensor)
assert_type(x + 2j, Tensor)
zeros += 1
zeros *= x.detach()
assert_type(x[0], Tensor)
assert_type(x[..., None, 1:, [0, 1]], Tensor)
assert_type(x[x > 1], Tensor)
zeros[0, 1] = 3.0
for row in x:
    assert_type(row, Tensor)

# -- overloads

assert_type(x.max(), Tensor)
assert_type(x.max(zeros), Tensor)
assert_type(x.max(dim=1), return_types.max)
values, indices = x.max(1, keepdim=True)
assert_type(values, Tensor)
assert_type(indices, Tensor)
assert_type(x.max(dim=1).indices, Tensor)
assert_type(x.sum(), Tensor)
assert_type(x.sum(1), Tensor)
assert_type(x.sum((0, 1), keepdim=True, dtype=tengen.float64), Tensor)
assert_type(x.std(0, correction=0), Tensor)
assert_type(x.to(tengen.float64), Tensor)
assert_type(x.to("cpu", tengen.float64, copy=True), Tensor)
assert_type(x.to(zeros), Tensor)
assert_type(x.to(device=tengen.device("cpu")), Tensor)
assert_type(tengen.where(x > 0, x, 0.0), Tensor)
assert_type(tengen.where(x > 0), tuple[Tensor, ...])
assert_type(x.split(1), tuple[Tensor, ...])
assert_type(x.unbind(), tuple[Tensor, ...])
assert_type(tengen.add(x, 2, alpha=3), Tensor)
assert_type(tengen.add(2, x), Tensor)
assert_type(x.clamp(min=0), Tensor)
assert_type(x.div(2, rounding_mode="floor"), Tensor)
assert_type(tengen.allclose(x, x), bool)
assert_type(tengen.equal(x, x), bool)
solution, info = tengen.linalg.solve_ex(tengen.eye(2), tengen.ones(2))
assert_type(solution, Tensor)
assert_type(tengen.linalg.slogdet(tengen.eye(2)).logabsdet, Tensor)
sign, _ = tengen.linalg.slogdet(tengen.eye(2))
assert_type(tengen.special.erf(x), Tensor)

# -- sizes stand loose, or in a sequence; NumPy's words

assert_type(x.view(3, 2), Tensor)
assert_type(x.view((3, 2)), Tensor)
assert_type(x.view(tengen.float32), Tensor)
assert_type(x.reshape(x.shape), Tensor)
assert_type(x.reshape(-1), Tensor)
assert_type(x.permute(1, 0), Tensor)
assert_type(tengen.permute(x, (1, 0)), Tensor)
assert_type(x.expand(4, -1, -1), Tensor)
assert_type(x.repeat(2, 2), Tensor)
assert_type(x.flip(0, 1), Tensor)
assert_type(x.sum(axis=1, keepdims=True), Tensor)
assert_type(tengen.cat([x, x], axis=1), Tensor)
assert_type(tengen.cat((x, x)), Tensor)
assert_type(x.unsqueeze(axis=0), Tensor)
assert_type(x.detach().squeeze(), Tensor)
assert_type(tengen.einsum("ij,kj->ik", x, x), Tensor)
assert_type(tengen.meshgrid(x[0], x[1], indexing="ij"), tuple[Tensor, ...])
assert_type(tengen.broadcast_tensors(x, zeros), tuple[Tensor, ...])
assert_type(tengen.tensordot(x, x, dims=([1], [1])), Tensor)

# -- in place, out

assert_type(zeros.add_(1), Tensor)
assert_type(zeros.zero_().copy_(x.detach()), Tensor)
assert_type(zeros.clamp_(0, 1), Tensor)
assert_type(tengen.exp(x.detach(), out=zeros), Tensor)
assert_type(tengen.relu_(zeros), Tensor)
tengen.max(x.detach(), 1, out=(tengen.empty(2), tengen.empty(2, dtype=tengen.int64)))

# -- what a tensor says of itself

assert_type(x.shape, tengen.Size)
assert_type(x.shape[0], int)
assert_type(x.size(), tengen.Size)
assert_type(x.size(-1), int)
assert_type(x.ndim, int)
assert_type(x.dtype, tengen.dtype)
assert_type(x.device, tengen.device)
assert_type(x.requires_grad, bool)
assert_type(len(x), int)
assert_type(float(x[0, 0].detach()), float)
rows, columns = x.shape

# -- gradients

y = assert_type(F.softmax(F.relu(x), dim=-1).sum(), Tensor)
y.backward()
if x.grad is not None:
    assert_type(x.grad * 2, Tensor)
(gradient,) = tengen.autograd.grad((x * x).sum(), [x])
assert_type(gradient, Tensor)
with tengen.no_grad():
    assert_type(x.exp(), Tensor)


class Double(Function):
    """A Function of one's own."""

    @staticmethod
    def forward(ctx: Any, given: Tensor) -> Tensor:
        return given * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad * 2


Double.apply(x)
batched = tengen.vmap(lambda row: row.sum())(x)

# -- neural networks

images = tengen.randn(4, 1, 8, 8)
features = F.max_pool2d(F.relu(F.conv2d(images, tengen.randn(3, 1, 3, 3), padding=1)), 2)
assert_type(features, Tensor)
logits = F.linear(features.flatten(1), tengen.randn(10, 48), tengen.zeros(10))
loss = F.cross_entropy(logits, tengen.tensor([1, 2, 3, 4]), reduction="mean")
assert_type(F.dropout(logits, 0.5, training=True), Tensor)
assert_type(F.layer_norm(logits, [10]), Tensor)
