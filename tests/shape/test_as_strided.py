"""What ``as_strided`` and its kin do to memory that is not theirs alone."""

from __future__ import annotations

import tengen


def test_the_gradient_of_as_strided_scatter_may_be_a_view() -> None:
    x, s = tengen.arange(12.0).reshape(3, 4).requires_grad_(), tengen.ones(2, 2, requires_grad=True)
    y = tengen.as_strided_scatter(x, s, (2, 2), (4, 1), 1)
    grad = tengen.arange(24.0).reshape(6, 4)[3:]
    found = tengen.autograd.grad(y, (x, s), grad)
    assert found[0].tolist() == [[12.0, 0.0, 0.0, 15.0], [16.0, 0.0, 0.0, 19.0], [20.0, 21.0, 22.0, 23.0]]
    assert found[1].tolist() == [[13.0, 14.0], [17.0, 18.0]]
