"""Derivatives of compiled functions: of any order, with hooks, transforms, from several threads."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from compared import alike, is_ready, reason, same, same_tensor

import tengen
from tengen import nn
from tengen.autograd import Function, grad, gradcheck, gradgradcheck
from tengen.utils.checkpoint import checkpoint


def x(needs: bool = True, shift: float = 0.0) -> Any:
    return (tengen.arange(6.0, dtype=tengen.float64).reshape(2, 3) / 4 - 0.3 + shift).requires_grad_(needs)


def y(needs: bool = True) -> Any:
    return (tengen.arange(12.0, dtype=tengen.float64).reshape(3, 4) / 5 - 1.1).requires_grad_(needs)


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "product": lambda a, b: (a @ b).tanh(),
    "several": lambda a, b: (a.exp() * 2, (a @ b).sum(0), b.sin().t()),
    "shared": lambda a, b: (h := (a @ b).sigmoid(), h * h, h.sum()),
    "rows": lambda a, b: (a @ b).softmax(-1) * (a @ b).logsumexp(-1, keepdim=True),
    "reduced": lambda a, b: ((a * a).sum() + b.prod(0).cos()).mean(),
    "indexed": lambda a, b: a[:, [0, 2, 0]] @ b[tengen.tensor([2, 1, 0])],
    "pieces": lambda a, b: tengen.cat([a.t(), b], 1).square() * tengen.cat([b, a.t()], 1),
    "of one": lambda a, b: a.sin() + b.detach().sum(),
    "inner gradient": lambda a, b: grad((a.sin() @ b).sum(), a, create_graph=True)[0] * a,
    "linear": lambda a, b: nn.functional.layer_norm(a @ b, (4,)) + 1,
    "written": lambda a, b: (a @ b).mul_(2).add_(1).clamp_(-1, 2),
    "no history": lambda a, b: (a * 2, b.argmax(), (b > 0), a.detach() + 1),
    "solved": lambda a, b: tengen.linalg.solve(a @ a.t() + tengen.eye(2, dtype=a.dtype), a @ b),
    "conv": lambda a, b: nn.functional.conv1d(a[None], b[None].permute(2, 0, 1)[:, :2, :2].expand(4, 2, 2)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True), (False, False)])
def test_gradients(name: str, needs: tuple[bool, bool]) -> None:
    if name == "inner gradient" and not needs[0]:
        return
    function = FUNCTIONS[name]
    compiled = tengen.compile(function)
    for shift in (0.0, 0.1, 0.2, -0.2):
        alike(compiled, function, x(needs[0], shift), y(needs[1]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_orders(name: str) -> None:
    function = FUNCTIONS[name]
    compiled = tengen.compile(function)
    for _ in range(3):
        found = [third(f) for f in (compiled, function)]
        for number, (a, b) in enumerate(zip(*found, strict=True)):
            assert (a is None) is (b is None), number
            if a is not None:
                same_tensor(a, b, f"gradient {number}")


def third(function: Any) -> list[Any]:
    """Gradients of first, second and third order."""
    leaves = [x(), y()]
    results = function(*leaves)
    total = weighted(results if isinstance(results, tuple) else (results,))
    found: list[Any] = []
    for _ in range(3):
        grads = [g for g in grad(total, leaves, create_graph=True, allow_unused=True)]
        found += grads
        total = weighted([g for g in grads if g is not None])
        if not isinstance(total, tengen.Tensor) or not total.requires_grad:
            break
    return found


def weighted(tensors: Any) -> Any:
    total: Any = 0
    for t in tensors:
        if t.requires_grad:
            total = total + (t * tengen.arange(1, t.numel() + 1).reshape(t.shape).to(t.dtype)).square().sum()
    return total


@pytest.mark.parametrize("name", ["product", "several", "rows", "indexed", "pieces", "linear"])
def test_gradcheck(name: str) -> None:
    compiled = tengen.compile(FUNCTIONS[name])
    for _ in range(2):
        compiled(x(), y())
    assert gradcheck(compiled, (x(), y()))
    assert gradgradcheck(compiled, (x(), y()))
    assert is_ready(compiled), reason(compiled)


FIXED = y(False)
TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda f: tengen.func.vmap(f, (0, None))(x(False)[:, None], y(False)),
    "jvp": lambda f: tengen.func.jvp(f, (x(False), y(False)), (x(False), y(False))),
    "jacrev": lambda f: tengen.func.jacrev(f)(x(False), y(False)),
    "jacfwd": lambda f: tengen.func.jacfwd(f)(x(False), y(False)),
    "hessian": lambda f: tengen.func.hessian(lambda a: f(a, FIXED).sum())(x(False)),
    "grad": lambda f: tengen.func.grad(lambda a: f(a, FIXED).sum())(x(False)),
    "vmap of grad": lambda f: tengen.func.vmap(tengen.func.grad(lambda a: f(a, FIXED).sum()))(
        x(False)[:, None]
    ),
    "autograd.jacobian": lambda f: tengen.autograd.functional.jacobian(f, (x(False), y(False))),
    "autograd.hessian": lambda f: tengen.autograd.functional.hessian(lambda a: f(a, FIXED).sum(), x(False)),
    "forward_ad": lambda f: _forward(f),
    "batched": lambda f: _batched(f),
}


def _forward(f: Any) -> Any:
    with tengen.autograd.forward_ad.dual_level():
        dual = tengen.autograd.forward_ad.make_dual(x(False), x(False, 1.0))
        return tuple(tengen.autograd.forward_ad.unpack_dual(f(dual, y(False))))


def _batched(f: Any) -> Any:
    a, b = x(), y()
    out = f(a, b)
    seeds = tengen.eye(out.numel(), dtype=out.dtype).reshape(-1, *out.shape)
    return grad(out, (a, b), seeds, is_grads_batched=True)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str) -> None:
    function = FUNCTIONS["product"]
    compiled = tengen.compile(function)
    for _ in range(3):
        for a, b in zip(flat(TRANSFORMS[name](compiled)), flat(TRANSFORMS[name](function)), strict=True):
            same_tensor(a.detach(), b.detach(), "gradient")
        alike(compiled, function, x(), y())
    assert is_ready(compiled), reason(compiled)


def flat(value: Any) -> list[Any]:
    return [each for v in value for each in flat(v)] if isinstance(value, tuple) else [value]


def test_retained_graphs() -> None:
    compiled = tengen.compile(FUNCTIONS["product"])
    for _ in range(4):
        a, b = x(), y()
        out = compiled(a, b).sum()
        first = grad(out, a, retain_graph=True)[0]
        same(grad(out, a, retain_graph=True)[0], first)
        out.backward()
        same(a.grad, first)
        with pytest.raises(RuntimeError, match="second time"):
            out.backward()


def test_a_written_input_is_noticed() -> None:
    compiled = tengen.compile(lambda a: a.sin() * a)
    for _ in range(4):
        a = x().clone()
        out = compiled(a)
        with tengen.no_grad():
            a.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


def test_a_written_result() -> None:
    function = lambda a: a.exp()  # noqa: E731
    compiled = tengen.compile(function)
    for _ in range(4):
        results = []
        for f in (compiled, function):
            a = x()
            out = f(a)
            out = out * 1
            out.mul_(3)
            results.append(grad(out.sum(), a)[0])
        same(*results)


def test_a_result_that_backward_keeps_is_written() -> None:
    compiled = tengen.compile(lambda a: a.exp())
    for _ in range(4):
        a = x()
        out = compiled(a)
        with tengen.no_grad():
            out.zero_()
        try:
            found = grad(out.sum(), a)[0]
        except RuntimeError as error:
            assert "modified by an inplace operation" in str(error)
        else:
            same(found, x(False).exp())


def test_hooks() -> None:
    compiled = tengen.compile(FUNCTIONS["product"])
    for _ in range(4):
        a, b = x(), y()
        seen: list[str] = []
        a.register_hook(lambda g, s=seen: s.append("a"))
        out = compiled(a, b)
        out.register_hook(lambda g, s=seen: (s.append("out"), g * 2)[1])
        assert out.grad_fn is not None
        out.retain_grad()
        out.sum().backward()
        expected = grad(FUNCTIONS["product"](a, b).sum() * 2, (a, b))
        assert seen == ["out", "a", "a"]
        same_tensor(a.grad, expected[0], "gradient")
        same_tensor(b.grad, expected[1], "gradient")
        assert bool((out.grad == 2).all())


def test_hooks_inside() -> None:
    seen: list[Any] = []

    def function(a: Any) -> Any:
        h = a.sin()
        h.register_hook(lambda g: (seen.append(1), g * 3)[1])
        return h * a

    compiled = tengen.compile(function)
    for number in range(1, 6):
        a = x()
        same_tensor(grad(compiled(a).sum(), a)[0], (a.sin() + 3 * a * a.cos()).detach(), "gradient")
        assert len(seen) == number


class Twice(Function):
    """Its derivative is another than its formula says."""

    @staticmethod
    def forward(ctx: Any, a: Any) -> Any:
        ctx.save_for_backward(a)
        return a * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 7 + ctx.saved_tensors[0]


def test_functions_with_their_own_derivative() -> None:
    function = lambda a: Twice.apply(a.sin()) * a  # noqa: E731
    compiled = tengen.compile(function)
    for shift in range(5):
        alike(compiled, function, x(True, shift))
        alike(compiled, function, x(False, shift))


def test_checkpoint() -> None:
    def function(a: Any, b: Any) -> Any:
        return checkpoint(lambda p, q: (p @ q).tanh(), a.sin(), b, use_reentrant=False) * 2

    compiled = tengen.compile(function)
    for shift in range(5):
        alike(compiled, function, x(True, shift), y())


def test_no_grad_inside() -> None:
    def function(a: Any, b: Any) -> Any:
        with tengen.no_grad():
            scale = a.abs().max() + 1
        with tengen.enable_grad():
            return (a @ b) / scale, (a.detach() @ b)

    compiled = tengen.compile(function)
    for needs in (True, True, True, False, False, False):
        alike(compiled, function, x(needs), y())


@pytest.mark.filterwarnings("ignore:tengen.compile")
@pytest.mark.parametrize("mode", [tengen.no_grad, tengen.inference_mode])
def test_enabled_inside_a_mode(mode: Any) -> None:
    def function(a: Any) -> Any:
        with tengen.enable_grad():
            h = a.sin()
        return h * 2, h

    compiled = tengen.compile(function)
    for _ in range(4):
        with mode():
            found, expected = compiled(x()), function(x())
            assert [t.requires_grad for t in found] == [t.requires_grad for t in expected]
        alike(compiled, function, x())


def test_gradients_accumulate() -> None:
    tengen.manual_seed(0)
    model, other = nn.Linear(3, 4).double(), nn.Linear(3, 4).double()
    other.load_state_dict(model.state_dict())
    compiled = tengen.compile(model)
    for shift in range(5):
        compiled(x(True, shift)).square().sum().backward()
        other(x(True, shift)).square().sum().backward()
        for p, q in zip(model.parameters(), other.parameters(), strict=True):
            same_tensor(p.grad, q.grad, "gradient")


def test_parts_of_what_is_asked() -> None:
    function = FUNCTIONS["several"]
    compiled = tengen.compile(function)
    for number in [0, 1, 2, 0, 1, 2]:
        a, b = x(), y()
        found = grad(compiled(a, b)[number].sum(), (a, b), allow_unused=True, materialize_grads=True)
        expected = grad(function(a, b)[number].sum(), (a, b), allow_unused=True, materialize_grads=True)
        for g, e in zip(found, expected, strict=True):
            same_tensor(g, e, "gradient")


def test_compiled_inside_compiled() -> None:
    inner = tengen.compile(FUNCTIONS["product"])
    function = lambda a, b: inner(a.sin(), b) * 2 + inner(a, b)  # noqa: E731
    compiled = tengen.compile(function)
    for shift in range(5):
        alike(compiled, function, x(True, shift), y())
        alike(inner, FUNCTIONS["product"], x(True, shift), y())


def test_recursion() -> None:
    @tengen.compile
    def power(a: Any, n: int) -> Any:
        return a * power(a, n - 1) if n else a.sin()

    def plain(a: Any, n: int) -> Any:
        return a * plain(a, n - 1) if n else a.sin()

    for n in (3, 2, 3, 3, 3, 0, 0, 0):
        same(power(x(False), n), plain(x(False), n))


def test_random_numbers_of_higher_orders() -> None:
    """The derivative of a derivative has the numbers that were drawn, and draws none."""

    def function(x: Any, y: Any) -> Any:
        return tengen.nn.functional.dropout(x * y, 0.5).sin().square().sum()

    def second(called: Any) -> list[Any]:
        tengen.manual_seed(0)
        x, y = tengen.ones(10, requires_grad=True), tengen.ones(10, requires_grad=True)
        (first,) = tengen.autograd.grad(called(x, y), x, create_graph=True)
        return [*tengen.autograd.grad(first.square().sum(), [x, y]), tengen.rand(1)]

    compiled = tengen.compile(function)
    for _ in range(4):
        for ours, theirs in zip(second(compiled), second(function), strict=True):
            assert ours.allclose(theirs)
    assert is_ready(compiled)


def test_long_chains() -> None:
    def function(a: Any) -> Any:
        for _ in range(300):
            a = a * 0.99 + a * a * 0.01
        return a

    compiled = tengen.compile(function)
    for _ in range(3):
        alike(compiled, function, x())
    assert is_ready(compiled)


def test_threads() -> None:
    function = FUNCTIONS["rows"]
    compiled = tengen.compile(function)
    found: list[Any] = [None] * 8
    ready = threading.Barrier(8)

    def work(number: int) -> None:
        ready.wait()
        try:
            for turn in range(12):
                alike(compiled, function, x(True, number + turn / 10), y())
        except BaseException as error:
            found[number] = error

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == [None] * 8


def test_an_interrupt() -> None:
    stop = [True]

    def function(a: Any) -> Any:
        h = a.sin()
        if stop[0]:
            raise KeyboardInterrupt
        return h * 2

    compiled = tengen.compile(function)
    with pytest.raises(KeyboardInterrupt):
        compiled(x())
    assert sys.getprofile() is None
    stop[0] = False
    for _ in range(4):
        alike(compiled, function, x())
    assert is_ready(compiled), reason(compiled)


def test_a_profile_function_stays() -> None:
    seen: list[Any] = []
    before = sys.getprofile()
    sys.setprofile(lambda *event: seen.append(event))
    try:
        tengen.compile(FUNCTIONS["product"])(x(), y())
        during = sys.getprofile()
    finally:
        sys.setprofile(before)
    assert during is not None and seen


def test_nothing_is_kept() -> None:
    compiled = tengen.compile(FUNCTIONS["product"])
    for _ in range(4):
        a = x()
        out = compiled(a, y())
        kept, result = weakref.ref(a), weakref.ref(out)
        out.sum().backward()
        del a, out
        gc.collect()
        assert kept() is None and result() is None


def test_backward_within_backward() -> None:
    inner = tengen.compile(lambda a: a.sin() * a)

    class Outer(Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            with tengen.enable_grad():
                a = ctx.saved_tensors[0].detach().requires_grad_()
                return g * grad(inner(a).sum(), a)[0]

    for _ in range(4):
        a = x()
        same_tensor(grad(Outer.apply(a).sum(), a)[0], (a.sin() + a * a.cos()).detach(), "gradient")


def test_saved_tensor_hooks() -> None:
    function = FUNCTIONS["product"]
    compiled = tengen.compile(function)
    for _ in range(4):
        packed: list[Any] = []
        with tengen.autograd.graph.saved_tensors_hooks(lambda t, p=packed: (p.append(1), t)[1], lambda t: t):
            alike(compiled, function, x(), y())
        assert packed


def test_anomaly_mode() -> None:
    function = FUNCTIONS["product"]
    compiled = tengen.compile(function)
    with tengen.autograd.set_detect_anomaly(True):
        for _ in range(4):
            alike(compiled, function, x(), y())


def test_gradients_need_not_lie_with_gaps() -> None:
    """Those of parts of one tensor are parts of its gradient."""

    def function(a: Any, b: Any, c: Any) -> Any:
        return tengen.cat([a, b], 1) * tengen.diag(c)

    args = [tengen.randn(*shape, requires_grad=True) for shape in ((3, 1), (3, 2), (3,))]
    compiled = tengen.compile(function)
    for _ in range(3):
        alike(compiled, function, *args)
    assert is_ready(compiled), reason(compiled)


def test_who_looks_at_operators() -> None:
    compiled = tengen.compile(lambda t: (t.sqrt() * t).sum())
    x = tengen.arange(3.0).add_(1).requires_grad_()
    for _ in range(4):
        compiled(x).backward()
    assert is_ready(compiled)
    packed: list[Any] = []
    with tengen.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        compiled(x).backward()
    assert packed
    below = (x - 2).detach().requires_grad_()
    with (
        pytest.warns(UserWarning, match="MulBackward0"),
        pytest.raises(RuntimeError, match="MulBackward0"),
        tengen.autograd.detect_anomaly(),
    ):
        compiled(below).backward()


def test_a_result_that_backward_needs_was_written_to() -> None:
    compiled = tengen.compile(lambda t: (t * 2).exp())
    for _ in range(5):
        y = compiled(tengen.arange(3.0).requires_grad_())
        with tengen.no_grad():
            y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
    assert is_ready(compiled)
