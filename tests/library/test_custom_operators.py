"""Operators that programs define: what transforms, the tracer, modes and the profiler make of them."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import Tensor, func, library
from tengen.custom_operators.checks import OpCheckError
from tengen.generated.operators import OPERATORS, OVERLOADS
from tengen.overrides import TengenFunctionMode
from tengen.testing import assert_close

X = tengen.tensor([0.5, -1.0, 2.0], dtype=tengen.float64)


@pytest.fixture
def lib() -> Iterator[library.Library]:
    """A library of the namespace ``spare``, whose operators are gone afterwards."""
    made = library.Library("spare", "FRAGMENT")
    yield made
    made._destroy()


def numpy_sine(x: Tensor) -> Tensor:
    return tengen.from_numpy(np.sin(x.detach().numpy().reshape(-1))).reshape(x.shape)


def numpy_cosine(x: Tensor) -> Tensor:
    return tengen.from_numpy(np.cos(x.detach().numpy().reshape(-1))).reshape(x.shape)


def clear(x: Tensor) -> None:
    x.zero_()


def parts(x: Tensor) -> tuple[Tensor, list[Tensor], int]:
    return x + 1, [x * 2, x * 3], 4


@pytest.fixture
def sine() -> Any:
    """The sine by NumPy, whose derivative is an operator as well."""
    made = library.custom_op("spare::sine", numpy_sine, mutates_args=())
    cosine = library.custom_op("spare::cosine", numpy_cosine, mutates_args=())
    save = lambda ctx, inputs, output: ctx.save_for_backward(*inputs)  # noqa: E731
    made.register_autograd(lambda ctx, g: g * cosine(ctx.saved_tensors[0]), setup_context=save)
    cosine.register_autograd(lambda ctx, g: -g * made(ctx.saved_tensors[0]), setup_context=save)
    for each in (made, cosine):
        each.register_fake(lambda x: tengen.empty_like(x))
        each.register_vmap(lambda info, dims, x, each=each: (each(x), dims[0]))
    return made


# -- the record ------------------------------------------------------------------------------


def test_it_is_an_operator_as_the_declared_ones(sine: Any) -> None:
    found = tengen.dispatch.operator.operator("spare::sine")
    assert found.name == "spare::sine" and found.kind == "functional" and not found.decomposes
    assert found.schema == "spare::sine(Tensor x) -> Tensor"
    assert OVERLOADS["spare::sine"] == ("spare::sine",) and "spare::sine" in OPERATORS
    assert_close(found(X), X.sin())
    assert_close(tengen.dispatch.calls.call("spare::sine", (X,), {}), X.sin())


def test_a_definition_is_taken_back_when_its_library_is_collected() -> None:
    made = library.Library("spare_collected", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.impl("f", lambda x: x + 1, "CPU")
    made.define("f.two(Tensor x, int n) -> Tensor")
    assert tengen.ops.spare_collected.f.overloads() == ["default", "two"]
    assert "spare_collected" in dir(tengen.ops)
    del made
    gc.collect()
    assert not [name for name in (*OPERATORS, *OVERLOADS) if name.startswith("spare_collected")]
    with pytest.raises(AttributeError, match="no library 'spare_collected'"):
        tengen.ops.spare_collected  # noqa: B018
    library.Library("spare_collected", "DEF")._destroy()  # the name is free again


def test_a_function_counts_as_long_as_its_library(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    other = library.Library("spare", "IMPL")
    other.impl("f", lambda x: x + 2, "CPU")
    assert_close(tengen.ops.spare.f(X), X + 2)
    other._destroy()
    assert_close(tengen.ops.spare.f(X), X + 1)


def test_declared_operators_keep_their_kernels() -> None:
    other = library.Library("aten", "IMPL")
    with pytest.raises(RuntimeError, match="aten::sin is a declared operator"):
        other.impl("sin", lambda x: x, "CPU")


def test_importing_tengen_loads_nothing_of_it() -> None:
    program = "import sys, tengen, tengen.library; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not [
        n for n in loaded.stdout.split() if n.startswith(("tengen.custom_operators", "tengen.codegen"))
    ]
    program = "import sys, tengen; tengen.library.define('a::b', '(Tensor x) -> Tensor'); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found = loaded.stdout.split()
    assert "tengen.codegen.parse.schema" in found and not {"yaml", "jinja2", "scipy"} & set(found)


def test_all_names_are_there() -> None:
    assert set(library._LAZY) <= set(dir(library))
    for name in library._LAZY:
        assert getattr(library, name).__doc__, name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        library.nothing  # type: ignore[attr-defined] # noqa: B018


# -- transforms ------------------------------------------------------------------------------


def test_gradients_by_the_engine_and_by_transforms(sine: Any) -> None:
    x = X.clone().requires_grad_()
    (g,) = tengen.autograd.grad(sine(x).sum(), x, create_graph=True)
    assert_close(g.detach(), X.cos())
    assert_close(tengen.autograd.grad(g.sum(), x)[0], -X.sin())
    assert tengen.autograd.gradcheck(sine, (x,)) and tengen.autograd.gradgradcheck(sine, (x,))
    total = lambda v: sine(v).sum()  # noqa: E731
    assert_close(func.grad(total)(X), X.cos())
    assert_close(func.jacrev(func.jacrev(total))(X), tengen.diag(-X.sin()))
    assert_close(func.jacrev(sine)(X), tengen.diag(X.cos()))
    assert_close(func.vjp(sine, X)[1](X)[0], X * X.cos())


def test_vmap_of_gradients_and_gradients_of_vmap(sine: Any) -> None:
    xs = tengen.stack([X, 2 * X])
    assert_close(func.vmap(sine)(xs), xs.sin())
    assert_close(func.vmap(func.vmap(sine), in_dims=1, out_dims=1)(xs), xs.sin())
    assert_close(func.vmap(func.grad(lambda v: sine(v).sum()))(xs), xs.cos())
    assert_close(func.grad(lambda v: func.vmap(sine)(v).sum())(xs), xs.cos())


def test_without_a_rule_each_example_is_run(lib: library.Library) -> None:
    made = library.custom_op("spare::plain", numpy_sine, mutates_args=())
    with pytest.warns(UserWarning, match="performance drop .* spare::plain"):
        assert_close(func.vmap(made)(tengen.stack([X, 2 * X])), tengen.stack([X, 2 * X]).sin())


def test_a_rule_may_come_later_and_go(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    xs = tengen.stack([X, 2 * X])
    with pytest.warns(UserWarning, match="performance drop"):
        func.vmap(tengen.ops.spare.f)(xs)
    other = library.Library("spare", "FRAGMENT")
    library.register_vmap("spare::f", lambda info, dims, x: (x * 10, 0), lib=other)
    assert_close(func.vmap(tengen.ops.spare.f)(xs), xs * 10)
    other._destroy()
    with pytest.warns(UserWarning, match="performance drop"):
        assert_close(func.vmap(tengen.ops.spare.f)(xs), xs + 1)


def test_forward_mode_is_refused(sine: Any, lib: library.Library) -> None:
    with pytest.raises(NotImplementedError, match="forward AD with spare::sine"):
        func.jvp(sine, (X,), (X,))
    made = library.custom_op("spare::clear", clear, mutates_args=("x",))
    with pytest.raises(NotImplementedError, match="forward AD with spare::clear"):
        func.jvp(lambda v: (made(w := v * 1), w)[1], (X,), (X,))
    lib.define("composite(Tensor x) -> Tensor")
    lib.impl("composite", lambda x: (x * 2).sin())
    assert_close(func.jvp(tengen.ops.spare.composite, (X,), (X,))[1], 2 * X * (2 * X).cos())


def test_nothing_looks_into_a_kernel(lib: library.Library) -> None:
    """What it calls is neither batched, differentiated nor recorded a second time."""
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: (x * 2).sin(), "CompositeExplicitAutograd")
    library.register_autograd("spare::f", lambda ctx, g: g * 5)
    library.register_vmap("spare::f", lambda info, dims, x: (tengen.ops.spare.f(x), dims[0]))
    seen = []

    class Mode(TengenFunctionMode):
        def __tengen_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    with Mode():
        tengen.ops.spare.f(X)
    assert seen == ["spare.f"]
    graph = tengen.jit.trace(lambda x: tengen.ops.spare.f(x) + 1, (X,)).graph
    assert [node.operator.name for node in graph.walk()] == ["spare::f", "add.Scalar"]
    xs = tengen.stack([X, X])
    assert_close(func.vmap(func.grad(lambda v: tengen.ops.spare.f(v).sum()))(xs), tengen.full_like(xs, 5))


FOR_KEYS = {
    # What is registered: what runs where gradients may be recorded, what in inference mode, what for meta.
    "CPU CompositeExplicitAutograd": "CPU CPU CompositeExplicitAutograd",
    "CPU CompositeImplicitAutograd": "CPU CPU CompositeImplicitAutograd",
    "CompositeExplicitAutograd CompositeImplicitAutograd": " ".join(["CompositeExplicitAutograd"] * 3),
    "Autograd CompositeImplicitAutograd": " ".join(["CompositeImplicitAutograd"] * 3),
    "Autograd CompositeExplicitAutograd": "Autograd CompositeExplicitAutograd Autograd",
    "CPU Autograd CompositeImplicitAutograd": "Autograd CPU CompositeImplicitAutograd",
    "AutogradCPU CompositeImplicitAutograd": "AutogradCPU " + " ".join(["CompositeImplicitAutograd"] * 2),
    "AutogradCPU Autograd CPU": "AutogradCPU CPU Autograd",
}


@pytest.mark.parametrize("registered", FOR_KEYS)
def test_which_function_is_run(lib: library.Library, registered: str) -> None:
    """As PyTorch has it: tests/library/library_programs.py compares all of them."""
    seen: list[str] = []
    lib.define("f(Tensor x) -> Tensor")
    for key in registered.split():
        lib.impl("f", lambda x, key=key: seen.append(key) or x * 2, key)
    tengen.ops.spare.f(X)
    with tengen.inference_mode():
        tengen.ops.spare.f(X)
    tengen.ops.spare.f(X.to("meta"))
    assert " ".join(seen) == FOR_KEYS[registered]


def test_a_formula_is_not_for_what_is_made_of_operators(lib: library.Library) -> None:
    """It is for a backend's kernel; the last that was registered counts, until it is taken back."""
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CompositeImplicitAutograd")
    more = library.Library("spare", "FRAGMENT")
    library.register_autograd("spare::f", lambda ctx, g: g * 5, lib=more)
    gradient = func.grad(lambda v: tengen.ops.spare.f(v).sum())
    assert gradient(X).tolist() == [2, 2, 2]
    lib.impl("f", lambda x: x * 2, "CPU")
    assert gradient(X).tolist() == [5, 5, 5]
    lib.impl("f", lambda x: x * 3, "Autograd")
    assert gradient(X).tolist() == [3, 3, 3]
    library.register_autograd("spare::f", lambda ctx, g: g * 7, lib=more)
    assert gradient(X).tolist() == [7, 7, 7]
    more._destroy()
    assert gradient(X).tolist() == [3, 3, 3]


def test_a_transform_inside_of_a_kernel_is_its_own(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: func.vmap(lambda a: a * 2)(x), "CPU")
    with pytest.warns(UserWarning, match="performance drop"):
        found = func.vmap(tengen.ops.spare.f)(tengen.stack([X, X]))
    assert_close(found, tengen.stack([X, X]) * 2)


# -- the tracer, ONNX, files -----------------------------------------------------------------


def test_a_trace_has_it_as_one_operator(sine: Any, tmp_path: Any) -> None:
    traced = tengen.jit.trace(lambda x: sine(x) * 2, (X,))
    assert "spare::sine" in str(traced.graph)
    assert_close(traced(2 * X), (2 * X).sin() * 2)
    x = X.clone().requires_grad_()
    traced(x).sum().backward()
    assert_close(x.grad, 2 * X.cos())
    tengen.jit.save(traced, str(tmp_path / "traced"))
    assert_close(tengen.jit.load(str(tmp_path / "traced"))(X), X.sin() * 2)


def test_a_trace_has_what_writes_and_returns_nothing() -> None:
    made = library.custom_op("spare::clear", clear, mutates_args=("x",))
    traced = tengen.jit.trace(lambda x: (made(y := x * 2), y + 1)[1], (X,))
    assert [node.operator.name for node in traced.graph.nodes][1] == "spare::clear"
    assert_close(traced(X), X * 0 + 1)
    assert "\n    tengen.ops.spare.clear(t0)" in traced.code


def test_the_code_of_a_trace_takes_results_apart() -> None:
    made = library.custom_op("spare::parts", parts, mutates_args=())
    traced = tengen.jit.trace(lambda x: made(x)[1][0] + 1, (X,))
    assert "\n    t0, (t1, t2), _ = tengen.ops.spare.parts(x)" in traced.code
    assert_close(traced(2 * X), 4 * X + 1)


def test_onnx_has_no_symbolic_for_it(sine: Any) -> None:
    pytest.importorskip("onnx")
    with pytest.raises(tengen.onnx.UnsupportedOperatorError, match="spare::sine has no symbolic"):
        tengen.onnx.export(lambda x: sine(x) + 1, (X,), "unused.onnx")


# -- what stands around a call -----------------------------------------------------------------


def test_subclasses_and_modes_take_calls_over(sine: Any) -> None:
    seen = []

    class Mine(Tensor):
        @classmethod
        def __tengen_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(function)
            return super().__tengen_function__(function, types, args, kwargs or {})

    mine = X.as_subclass(Mine)
    assert type(sine(mine)) is Mine and type(tengen.ops.spare.sine(mine)) is Mine
    assert seen == [tengen.ops.spare.sine.default, tengen.ops.spare.sine]


def test_the_profiler_has_it_and_what_its_kernel_calls(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    library.register_autograd("spare::f", lambda ctx, g: g * 2)
    with tengen.profiler.profile() as found:
        tengen.ops.spare.f(X.clone().requires_grad_())
    keys = [event.key for event in found.key_averages()]
    for key in ("spare::f", "GeneratedBackwardFor_spare_f_default", "tengen::mul"):
        assert key in keys


def test_saved_tensors_that_it_writes_to_are_kept_for_backward() -> None:
    made = library.custom_op("spare::clear", clear, mutates_args=("x",))
    x = X.clone().requires_grad_()
    with tengen.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y * y
        with tengen.no_grad():
            made(y)
        z.sum().backward()
    assert_close(x.grad, 2 * X)


def test_a_call_counts_as_a_write_whatever_the_kernel_does() -> None:
    made = library.custom_op(
        "spare::nothing", lambda x: None, mutates_args="x", schema="(Tensor(a!) x) -> ()"
    )
    x = X.clone().requires_grad_()
    y = x * 1
    z = y * y
    made(y)
    assert y._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_what_a_kernel_captures_has_no_gradient() -> None:
    captured = X.clone().requires_grad_()
    made = library.custom_op(
        "spare::captures", lambda x: x * captured, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    assert not made(X).requires_grad
    assert made(X.clone().requires_grad_()).grad_fn is not None


def test_a_kernel_without_recording_knows_no_gradients(sine: Any) -> None:
    with tengen.inference_mode():
        assert_close(sine(X), X.sin())
    made = library.custom_op("spare::clear", clear, mutates_args=("x",))
    with tengen.inference_mode():
        y = tengen.ones(2)
        made(y)  # an inference tensor counts no writes
        assert y.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        ("Tensor", [(None, None)], [1, [X]]),
        ("Tensor[]", [((X,), [X]), ([], [])], [X, None, [None], [1]]),
        ("Tensor?[]", [([X, None], [X, None])], [None, 1]),
        ("int", [(True, 1), (np.int64(3), 3), (tengen.tensor([4]), 4)], [1.5, None, "1", tengen.ones(2)]),
        ("int?", [(None, None), (2, 2)], [2.5]),
        ("int[]", [((1, 2), [1, 2]), ([True], [1])], [1, [1.5], tengen.tensor([1, 2])]),
        ("int[2]", [(3, [3, 3]), ([1, 2], [1, 2])], [1.5, tengen.tensor(1)]),
        ("float", [(1, 1.0), (True, 1.0), (tengen.tensor([2.5]), 2.5)], [1j, "1", None]),
        ("bool", [(1, True), (0.0, False), (np.float32(2), True), (tengen.tensor(0), False)], ["a", None]),
        ("Scalar", [(1, 1), (1j, 1j), (True, True)], ["1", [1]]),
        ("str", [("a", "a")], [1, ["a"]]),
        ("ScalarType", [(tengen.int8, tengen.int8)], [1, np.ones(2)]),
        ("Device", [("cpu", tengen.device("cpu"))], [0, None]),
    ],
)
def test_arguments_are_cast_as_pytorch_casts_them(
    lib: library.Library, kind: str, taken: Any, refused: Any
) -> None:
    seen: list[Any] = []
    lib.define(f"f(Tensor x, {kind} v) -> Tensor")
    lib.impl("f", lambda x, v: seen.append(v) or x, "CPU")
    for value, expected in taken:
        tengen.ops.spare.f(X, value)
        found = seen.pop()
        assert type(found) is type(expected)
        assert found == expected if found.__class__ is not list else len(found) == len(expected)
        if found.__class__ is list:
            assert all([a is b or a == b for a, b in zip(found, expected, strict=True)])
    for value in refused:
        with pytest.raises(
            RuntimeError, match=r"Expected a value of|Expected one of|Device|Cannot access accelerator"
        ):
            tengen.ops.spare.f(X, value)
        assert not seen


VIEWS: dict[str, Any] = {
    "itself": lambda x: x,
    "a row": lambda x: x[:1],
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "a row of data": lambda x: x.data[:1],
    "transposed": lambda x: x.t(),
    "expanded": lambda x: x.expand(2, *x.shape),
    "contiguous": lambda x: x.contiguous(),
    "its own dtype": lambda x: x.to(x.dtype),
    "a part": lambda x: x.unbind()[0],
    "a diagonal": lambda x: x.diagonal(),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("mode", ["enable_grad", "no_grad", "inference_mode"])
def test_a_result_that_shares_memory_is_refused(view: str, mode: str) -> None:
    made = library.custom_op("spare::view", VIEWS[view], mutates_args=(), schema="(Tensor x) -> Tensor")
    with getattr(tengen, mode)():
        made_of = (tengen.ones(2, 2), tengen.ones(2, 2, requires_grad=True) * 1, tengen.ones(3, 2)[:2])
        for x in (*made_of, tengen.empty(2, 2, device="meta")):
            if x.device.type == "meta":
                made.register_fake(VIEWS[view])
            with pytest.raises(RuntimeError, match=r"\(2\) may not alias any inputs"):
                made(x)


# -- autograd kernels, keys and fallbacks ----------------------------------------------------


class Tripled(tengen.autograd.Function):
    """Calls the operator that it is registered for, and has another derivative."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return tengen.ops.spare.f(x)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3


def test_an_autograd_kernel_calls_what_is_below_it(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    lib.impl("f", Tripled.apply, "Autograd")
    x = X.clone().requires_grad_()
    out = tengen.ops.spare.f(x)
    assert type(out.grad_fn).__name__ == "TripledBackward"
    out.sum().backward()
    assert_close(x.grad, tengen.full_like(X, 3))


def test_a_kernel_with_its_keys_goes_below_autograd(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    seen = []

    def autograd(keys: Any, x: Any) -> Any:
        seen.append(keys)
        return tengen.ops.spare.f.default.redispatch(keys, x)

    lib.impl("f", autograd, "AutogradCPU", with_keyset=True)
    assert_close(tengen.ops.spare.f(X), 2 * X)
    assert seen == [frozenset({"AutogradCPU"})]


def test_an_autograd_kernel_is_of_its_thread(lib: library.Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    inside, other = threading.Event(), threading.Event()
    seen = []

    def autograd(x: Any) -> Any:
        seen.append(threading.get_ident())
        inside.set()
        other.wait(5) if len(seen) == 1 else other.set()
        return tengen.ops.spare.f(x)

    lib.impl("f", autograd, "Autograd")
    first = threading.Thread(target=tengen.ops.spare.f, args=(X,))
    first.start()
    inside.wait(5)
    tengen.ops.spare.f(X)
    first.join()
    assert len(set(seen)) == 2


def test_fallbacks_are_for_operators_without_a_kernel(lib: library.Library) -> None:
    lib.define("f(Tensor x, int n=2) -> Tensor")
    everywhere = library.Library("_", "IMPL")
    seen = []
    everywhere.fallback(lambda op, *args: seen.append((op, args[1])) or args[0] * args[1], "CPU")
    assert_close(tengen.ops.spare.f(X), 2 * X)
    assert seen == [(tengen.ops.spare.f.default, 2)]
    lib.impl("f", lambda x, n: x * n * 10, "CPU")
    assert_close(tengen.ops.spare.f(X, 3), 30 * X)
    everywhere._destroy()
    other = library.Library("spare", "FRAGMENT")
    other.define("g(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="Could not run 'spare::g'"):
        tengen.ops.spare.g(X)
    other._destroy()


def test_tensors_of_two_devices_go_where_there_is_no_data(lib: library.Library) -> None:
    lib.define("f(Tensor x, Tensor y) -> Tensor")
    lib.impl("f", lambda x, y: x, "Meta")
    meta = X.to("meta")
    for pair in ((X, meta), (meta, X)):
        assert tengen.ops.spare.f(*pair) is pair[0]


def test_what_has_no_meaning_here_says_why(sine: Any) -> None:
    with pytest.raises(ValueError, match="does not support autocast"):
        library.register_autocast(sine, "meta", tengen.float16)
    with pytest.raises(NotImplementedError, match="no __torch_dispatch__"):
        library.register_torch_dispatch(sine, Tensor, lambda *a: None)
    with pytest.raises(NotImplementedError, match="no __torch_dispatch__"):
        sine.register_torch_dispatch(Tensor)
    with pytest.warns(FutureWarning, match="renamed to `tengen.library.register_fake`"):
        library.impl_abstract("spare::sine", lambda x: tengen.empty_like(x))


@pytest.mark.parametrize(
    ("schema", "tag", "said"),
    [
        ("f(Tensor x) -> Tensor", "out", "at least one mutable argument"),
        ("f(Tensor(a!) x) -> Tensor(a!)", "out", "keyword-only"),
        ("f(*, Tensor(a!)[] x) -> Tensor", "out", "only supports Tensor mutable arguments"),
        ("f(*, Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)", "out", "must return all mutable arguments"),
        ("f(*, Tensor(a!) x) -> Tensor", "out", "must alias mutable arg 'x'"),
        ("f(*, Tensor(a!) x) -> Tensor(a!)", "inplace", "at least one positional argument"),
        ("f(Tensor x) -> Tensor", "inplace", "to be mutable"),
        ("f(Tensor(a!)[] x) -> Tensor", "inplace", "to be a Tensor"),
        ("f(Tensor(a!) x) -> ()", "inplace", "must return exactly one value"),
        ("f(Tensor(a!) x) -> Tensor", "inplace", "must return the first mutable argument"),
        ("f(Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)", "inplace", "additional mutable args"),
    ],
)
def test_tags_ask_for_their_schemas(lib: library.Library, schema: str, tag: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        lib.define(schema, tags=tengen.Tag[tag])
    assert not hasattr(tengen.ops, "spare") or not hasattr(tengen.ops.spare, "f")


def test_opcheck_compares_what_is_recorded(lib: library.Library) -> None:
    """A kernel that gives something else each time is no operator of its arguments."""
    count = iter(range(100))
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + next(count), "CompositeExplicitAutograd")
    found = library.opcheck(tengen.ops.spare.f, (X,), raise_exception=False)
    assert found["test_schema"] == found["test_faketensor"] == "SUCCESS"
    assert "different where it was recorded" in str(found["test_aot_dispatch_dynamic"])
    wrong = library.custom_op("spare::wrong", numpy_sine, mutates_args=())
    wrong.register_fake(lambda x: tengen.empty(2, device=x.device))
    with pytest.raises(OpCheckError, match="shapes of result 0 differ"):
        library.opcheck(wrong, (X,))
