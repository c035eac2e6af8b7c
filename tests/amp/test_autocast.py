"""Autocast on the CPU, without torch: what is cast, when, and that nothing else changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import tengen
from tengen import amp, nn
from tengen.core.interception import active
from tengen.generated.operators import AUTOCAST, OPERATORS
from tengen.nn import functional as F

BF16, F16, F32, F64 = tengen.bfloat16, tengen.float16, tengen.float32, tengen.float64
X = tengen.arange(6.0).reshape(2, 3)
W = tengen.arange(12.0).reshape(4, 3) / 10


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    assert not active and not tengen.is_autocast_enabled("cpu")
    assert tengen.get_autocast_dtype("cpu") is BF16 and tengen.is_autocast_cache_enabled()


def test_every_tag_is_of_an_operator_and_casts() -> None:
    assert set(AUTOCAST.values()) == {"float32", "lower_precision", "widest"}
    assert set(AUTOCAST) <= set(OPERATORS)
    assert not any(OPERATORS[name].out for name in AUTOCAST), "a variant with out= is cast for"


def test_what_is_cast() -> None:
    with tengen.autocast("cpu"):
        assert F.linear(X, W).dtype is (X @ W.T).dtype is BF16
        assert tengen.einsum("ij,kj->ik", X, W).dtype is BF16
        assert F.mse_loss(X.bfloat16(), X.bfloat16()).dtype is F32
        assert tengen.linalg.inv(tengen.eye(2, dtype=F16)).dtype is F32
        assert tengen.cat([X, X.bfloat16()]).dtype is F32
        assert tengen.cat([X.bfloat16(), X.bfloat16()]).dtype is BF16
        assert (X + X).dtype is F32 and X.softmax(-1).dtype is F32
        assert (X.double() @ W.double().T).dtype is F64
        assert (X.long() @ W.long().T).dtype is tengen.int64
        assert (X.to("meta") @ W.to("meta").T).dtype is F32
        out = tengen.empty(2, 4)
        assert tengen.mm(X, W.T, out=out).dtype is F32
        with pytest.raises(RuntimeError, match=r"cat: autocast to tengen\.bfloat16 takes"):
            tengen.cat([X.half(), X.half()])
    assert (X @ W.T).dtype is F32


def test_regions_nest() -> None:
    made = tengen.autocast("cpu", dtype=F16)
    with made as entered:
        assert entered is made and tengen.get_autocast_dtype("cpu") is F16
        with tengen.autocast("cpu", enabled=False):
            assert (X @ X.T).dtype is F32 and not tengen.is_autocast_enabled("cpu")
            with tengen.autocast("cpu", dtype=BF16):
                assert (X @ X.T).dtype is BF16
        with made:
            assert (X @ X.T).dtype is F16
        assert (X @ X.T).dtype is F16
    with pytest.raises(ZeroDivisionError), tengen.autocast("cpu"):
        raise ZeroDivisionError


def test_as_decorator() -> None:
    @tengen.autocast("cpu")
    def product(x: Any) -> Any:
        """Words."""
        return x @ x.T

    assert product(X).dtype is BF16 and product.__doc__ == "Words." and product.__name__ == "product"
    with pytest.raises(TypeError, match="requires a callable, but got int"):
        tengen.autocast("cpu")(3)  # type: ignore[arg-type]


def test_switches() -> None:
    tengen.set_autocast_enabled("cpu", True)
    tengen.set_autocast_cpu_dtype(F16)
    try:
        assert (X @ X.T).dtype is F16 and tengen.is_autocast_cpu_enabled()
        assert tengen.get_autocast_cpu_dtype() is F16
        assert tengen.autocast_increment_nesting() == 1 and tengen.autocast_decrement_nesting() == 0
        tengen.clear_autocast_cache()
        tengen.set_autocast_cache_enabled(False)
        assert not tengen.is_autocast_cache_enabled()
    finally:
        tengen.set_autocast_cache_enabled(True)
        tengen.set_autocast_dtype("cpu", BF16)
        tengen.set_autocast_cpu_enabled(False)
    assert (X @ X.T).dtype is F32


def test_gradients_have_the_dtypes_of_the_leaves() -> None:
    layer = nn.Linear(3, 2)
    with tengen.autocast("cpu"):
        out = layer(X)
        loss = F.mse_loss(out, tengen.zeros(2, 2))
    assert out.dtype is BF16 and loss.dtype is F32
    loss.backward()
    assert layer.weight.grad.dtype is layer.bias.grad.dtype is F32
    plain = tengen.autograd.grad(F.mse_loss(layer(X), tengen.zeros(2, 2)), layer.weight)[0]
    tengen.testing.assert_close(layer.weight.grad, plain, rtol=0.05, atol=0.05)


def casts(out: Any) -> int:
    """How many different casts there are in the history of a tensor."""
    seen, waiting = set(), [out.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [found for found, _ in node.next_functions]
    return len([node for node in seen if node.name().startswith("ToCopy")])


def test_leaves_are_cast_once() -> None:
    weight = nn.Parameter(W.clone())
    for cached, count in ((True, 1), (False, 2)):
        with tengen.autocast("cpu", cache_enabled=cached):
            assert casts(X @ weight.T.detach() + (F.linear(X, weight) + F.linear(X, weight))) == count
    with tengen.autocast("cpu"):
        with tengen.no_grad():
            assert not F.linear(X, weight).requires_grad
        before = F.linear(X, weight)  # what was cast without history is not taken
        assert before.requires_grad
        with tengen.no_grad():
            weight.mul_(2)
        assert tengen.equal(F.linear(X, weight), 2 * before)  # nor what was cast before a write
        with tengen.autocast("cpu", dtype=F16):
            assert F.linear(X, weight).dtype is F16


def test_transforms_see_the_casts() -> None:
    linear = nn.Linear(3, 2)
    for inside in (False, True):
        call = tengen.autocast("cpu")(linear) if inside else linear
        with tengen.autocast("cpu", enabled=not inside):
            batched = tengen.func.vmap(call)(X)
            out, tangent = tengen.func.jvp(call, (X,), (X,))
            grad = tengen.func.grad(lambda x, call=call: call(x).float().sum())(X)
            rows = tengen.func.vmap(tengen.func.grad(lambda x, call=call: call(x).float().sum()))(X)
        assert batched.dtype is out.dtype is tangent.dtype is BF16 and grad.dtype is rows.dtype is F32
        tengen.testing.assert_close(grad, linear.weight.detach().sum(0).expand(2, 3), rtol=0.02, atol=0.02)
        tengen.testing.assert_close(rows, grad)
        losses = tengen.autocast("cpu")(tengen.func.vmap(F.mse_loss))(X.bfloat16(), X.bfloat16())
        assert losses.dtype is F32


def test_what_is_traced_has_the_casts() -> None:
    with tengen.autocast("cpu"):
        traced = tengen.jit.trace(lambda x: x @ x.T, X)
    assert traced(X).dtype is BF16


def test_a_thread_has_its_own() -> None:
    found = []

    def other() -> None:
        found.append((X @ X.T).dtype)
        with tengen.autocast("cpu", dtype=F16):
            found.append((X @ X.T).dtype)

    with tengen.autocast("cpu"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert (X @ X.T).dtype is BF16
    assert found == [F32, F16]


#: The dtypes of the products in the backward pass of Product.
BACKWARD: list[Any] = []


class Product(tengen.autograd.Function):
    @staticmethod
    @amp.custom_fwd(device_type="cpu")
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return a.mm(b)

    @staticmethod
    @amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, grad: Any) -> Any:
        a, b = ctx.saved_tensors
        found = grad.to(a.dtype).mm(b.t()), a.t().mm(grad.to(a.dtype))
        BACKWARD.extend([t.dtype for t in found])
        return found


class Float32Product(tengen.autograd.Function):
    @staticmethod
    @amp.custom_fwd(device_type="cpu", cast_inputs=F32)
    def forward(ctx: Any, x: Any) -> Any:
        assert not tengen.is_autocast_enabled("cpu")
        return x @ x.T

    @staticmethod
    @amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, grad: Any) -> Any:
        return grad @ grad


def test_functions() -> None:
    x = X.clone().requires_grad_()
    with tengen.autocast("cpu"):
        out = Product.apply(x, W.T)
    out.sum().backward()
    assert out.dtype is BF16 and x.grad.dtype is F32 and BACKWARD == [BF16, BF16]
    with tengen.autocast("cpu"):
        assert Float32Product.apply(X.bfloat16()).dtype is F32
        assert tengen.is_autocast_enabled("cpu")
    assert Float32Product.apply(X.bfloat16()).dtype is BF16
    for decorator in (amp.custom_fwd, amp.custom_bwd):
        with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
            decorator(lambda ctx: None, device_type=3)


def test_operators_of_a_program() -> None:
    seen = []

    @tengen.library.custom_op("amp_tests::product", mutates_args=())
    def product(x: tengen.Tensor) -> tengen.Tensor:
        seen.append((x.dtype, (x @ x.T).dtype))
        return x * 2

    product.register_autocast("cpu", F16)
    product(X)
    with tengen.autocast("cpu"):
        assert product(X).dtype is F16
    assert seen == [(F32, F32), (F16, F16)]


def test_bad_input() -> None:
    for make, error, text in (
        (lambda: tengen.autocast(3), ValueError, "Expected `device_type` of type `str`"),
        (lambda: tengen.autocast("meta"), RuntimeError, "unsupported autocast device_type 'meta'"),
        (lambda: tengen.get_autocast_dtype("meta"), RuntimeError, "unsupported autocast device type: meta"),
        (lambda: tengen.set_autocast_enabled("cpu", 1), TypeError, "'enabled' must be bool, not int"),
        (lambda: tengen.set_autocast_dtype("cpu", "half"), TypeError, "'dtype' must be tengen.dtype"),
        (lambda: tengen.is_autocast_enabled(1), TypeError, "'device_type' must be str, not int"),
    ):
        with pytest.raises(error, match=text):
            make()
    for given, text in (
        ({"device_type": "cpu", "dtype": F32}, "target dtype is not supported"),
        ({"device_type": "cuda"}, "Disabling autocast"),
    ):
        with pytest.warns(UserWarning, match=text):
            made = tengen.autocast(**given)  # type: ignore[arg-type]
        with made:
            assert (X @ X.T).dtype is F32
    assert amp.is_autocast_available("cpu") and not amp.is_autocast_available("meta")
