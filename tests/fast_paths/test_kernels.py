"""Kernels of small arrays that the machine runs: what they give, and when it is they that run."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import fast_paths
from tengen.kernels.native_kernels import kernels

F = tengen.nn.functional


def layouts(kind: tengen.dtype) -> dict[str, Any]:
    """Tensors of one dtype in all kinds of shapes and layouts."""
    tengen.manual_seed(0)
    x = tengen.randn(4, 6).to(kind)
    return {
        "matrix": x,
        "row": x[:1],
        "column": x[:, :1],
        "one": x[:1, :1],
        "transposed": x.T,
        "strided": x[:, ::2],
        "expanded": x[:1].expand(3, 6),
        "empty": x[:0],
        "no columns": x[:, :0],
        "vector": x[0],
        "element": x[0, 0],
        "four": x.reshape(2, 2, 3, 2),
        "ones among": x.reshape(1, 4, 1, 6, 1),
        "strides of one": x[:1].T.T[:, 2:4].as_strided((1, 2), (7, 1)),
        "channels last": tengen.randn(2, 3, 4, 5).to(kind).contiguous(memory_format=tengen.channels_last),
        "many": tengen.randn(40, 50).to(kind),
        "more": tengen.randn(90, 70).to(kind),
        "infinite": tengen.tensor([[np.inf, 1, -np.inf], [np.nan, 2, 3]]).to(kind)
        if kind.is_floating_point
        else x,
        "far apart": (x * 1000),
        "read-only": tengen.from_numpy(x.numpy().copy()),
    }


#: Indices of all kinds.
KEYS: list[Any] = [
    *(0, -1, 5, True, np.int64(0), None, ..., (), slice(None), slice(1, None), slice(0, -1, 2), slice(2, 1)),
    *(slice(None, None, 2), slice(None, None, -1), slice(None, None, 0), slice("a", None), slice(3, 99)),
    *((0, 1), (0, ..., 1), (..., 0), (0, ...), (None, 0), (0, None), (None, slice(1, 3), None), (..., None)),
    *(
        (slice(1, 3), 0),
        (slice(None), slice(None, None, 2)),
        (..., slice(1, 2)),
        (0, slice(2)),
        (None, ..., 0),
    ),
    *(
        (0, 0, 0, 0, 0, 0, 0),
        (..., ...),
        (0, True),
        (0, [0, 1]),
        [0, 1],
        (slice(None), None, [0]),
        2**70,
        1.5,
    ),
    *(slice(-(2**70), 2**70), slice(2**70, None), slice(0, 5, 2**70), (7, 0), (0, -7), "a", (None,) * 40),
    *(
        slice(np.int64(1), None),
        (slice(1), None, 0, None),
        -(2**70),
        slice(None, None, True),
        slice(True, None),
    ),
]


def fit(a: Any, b: Any) -> bool:
    """Whether two tensors have a common shape."""
    return all([n == m or 1 in (n, m) for n, m in zip(reversed(a.shape), reversed(b.shape), strict=False)])


def both(a: Any, b: Any) -> Any:
    """An expression that is a native kernel."""
    return tengen.addcmul(a, a, b)


def said(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives; of an error its text, as a tensor."""
    try:
        return function(*arguments)
    except Exception as error:
        return tengen.tensor([*f"{type(error).__name__} {error}".encode()])


def at(x: Any, key: Any) -> Any:
    """What stands there; of an error its text, as a tensor."""
    return said(lambda: x[key])


USES: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: [x.softmax(d) for d in range(-x.ndim - 1, x.ndim + 1)],
    "log_softmax": lambda x: [F.log_softmax(x, d) for d in range(-x.ndim, x.ndim)],
    "softmax as": lambda x: (x.softmax(-1, dtype=tengen.float64), F.softmax(x, dim=0, dtype=tengen.float32)),
    "view": lambda x: [
        said(x.view, *size)
        for size in (
            *[(*x.shape[:d], -1, *x.shape[d:]) for d in range(x.ndim + 1)],
            *[(*x.shape[:d], -1, *x.shape[d + 2 :]) for d in range(x.ndim - 1)],
            *[(*x.shape[:d], n, -1, *x.shape[d + 1 :]) for d in range(x.ndim) for n in (2, 3)],
            *[(*x.shape[:d], 1, -1, 1, 2, 1, *x.shape[d + 1 :]) for d in range(x.ndim)],
            (-1,),
            (x.numel(),),
            (1, -1, 1),
            (2, -1),
            (-1, 3),
            (0, -1),
            (-2, 1),
            (-1, -1),
            (2**62, 4),
            (7,),
            (),
        )
    ],
    "view of": lambda x: x.view([x.numel(), 1]).view((1, x.numel())).t(),
    "reshape": lambda x: (x.reshape(-1), x.reshape((x.numel(), 1)), x.reshape(2, -1)),
    "sum": lambda x: (x.sum(), x.sum(dtype=tengen.float64), x.sum(0), x.sum(-1, keepdim=True), x.sum(dim=[])),
    "products": lambda x: (x @ x.mT, x.mm(x.T), x @ x, tengen.mm(x.T, x)),
    "cat": lambda x: [
        tengen.cat(t, d) for t in ([x, x], (x, x[:2], x), [x], [x, x.T], []) for d in (0, 1, -1, 7)
    ],
    "cat of others": lambda x: (
        tengen.cat([x, x.double()]),
        tengen.cat([x, tengen.zeros(0)]),
        tengen.cat([x, x * 1j]),
    ),
    "stack": lambda x: [
        tengen.stack(t, d) for t in ([x, x], (x, x * 2, x), [x], [x, x[:2]], []) for d in (0, 1, -1, -2, 7)
    ],
    "lists": lambda x: (
        tengen.cat([x, x.detach(), x * 2]),
        tengen.hstack([x, x]),
        tengen.vstack((x, x)),
        tengen.stack([x.detach(), x], 1),
        tengen.cat(tensors=[x, x], dim=0),
        tengen.cat([x, x], axis=0),
    ),
    "views": lambda x: [
        f(x)
        for d in (-2, -1, 0, 1, 7)
        for f in (
            lambda x, d=d: x.unsqueeze(d),
            lambda x, d=d: x.squeeze(d),
            lambda x, d=d: x.select(d, 0),
            lambda x, d=d: x.select(d, -1),
            lambda x, d=d: x.narrow(d, 0, 1),
            lambda x, d=d: x.transpose(0, d),
            lambda x, d=d: x.movedim(0, d),
        )
    ],
    "expanded": lambda x: [
        x.expand(*size)
        for size in (
            x.shape,
            (3, *x.shape),
            (1, *x.shape),
            (1, 2, 1, *x.shape),
            [-1] * x.ndim,
            (2, *[-1] * x.ndim),
        )
    ],
    "expanded rows": lambda x: (x[:1].expand(5, *x.shape[1:]), x[..., :1].expand(*x.shape[:-1], 3)),
    "not expanded": lambda x: x.expand(*[7] * x.ndim),
    "flat": lambda x: (x.flatten(), x.flatten(-1), x.flatten(0, 0), x.ravel(), x.flatten(end_dim=0)),
    "order": lambda x: (x.permute(*reversed(range(x.ndim))), x.permute(tuple(range(-x.ndim, 0))), x.mT, x.T),
    "wrong order": lambda x: x.permute(*[0] * x.ndim),
    "slices": lambda x: (
        x[1:],
        x[:-1],
        x[::2],
        x[-3:2],
        x[1:1],
        x[5:100],
        x[..., 1:],
        x[..., ::3],
        x[None],
        x[0:2, None],
    ),
    "keys": lambda x: [at(x, key) for key in KEYS],
    "parts": lambda x: [
        p for d in (0, -1) for f in (x.unbind, lambda d: x.split(2, d), lambda d: x.chunk(3, d)) for p in f(d)
    ],
    "extrema": lambda x: (*x.max(0), *x.min(-1, keepdim=True), *x.sort(), *x.topk(1, 0), *x.cummax(0)),
    "rows": lambda x: [
        f
        for d in (0, -1, 1, 5)
        for f in (x.float().softmax(d) * x, x.log_softmax(d), x.logsumexp(d), x.logsumexp(d, True))
    ],
    "rows over several dims": lambda x: [
        x.logsumexp(dims, keep)
        for dims in ((0, 1), (-2, -1), (), (1, 0), (0, 2), (0, 0), tuple(range(x.ndim)))
        for keep in (False, True)
    ],
    "whole": lambda x: [
        said(f, *where)
        for f in (x.argmax, x.argmin, x.amax, x.amin, x.any, x.all, x.sum, x.prod)
        for where in ((), (0,), (-1,), (1, True), (5,), ((0, 1),), ((-1,), True), ((0, 0),), ((2, 0),))
    ],
    "running": lambda x: [said(f, d) for f in (x.cumsum, x.cumprod) for d in (0, -1, 1, 5)],
    "times": lambda x: [
        said(lambda f=f, a=a: f(x, alpha=a)) for f in (x.add, x.sub) for a in (2, 2.0, -0.5, 1e40, True)
    ],
    "moments": lambda x: (*tengen.var_mean(x.double(), -1), *tengen.std_mean(x.double())),
    "several": lambda x: (*tengen.aminmax(x), *x.mode(), *x.kthvalue(1), *tengen.frexp(x.float())),
    "norm": lambda x: (F.layer_norm(x, x.shape[-1:]), F.layer_norm(x, x.shape), F.rms_norm(x, x.shape[-1:])),
    "broadcast": lambda x: [
        f(a, b)
        for a, b in (
            *((x, x[:1]), (x[:1], x), (x, x[:, :1]), (x[:, :1], x[:1])) * (x.ndim > 1),
            *((x, x[0]), (x[0], x[None]), (x, x[0, 0]), (x[0] * 1, x * 1)) * (x.ndim > 1),
            *((x, x[None, None]), (x[..., None], x), (x, x.reshape(-1)), (x.mT, x), (x.mT, x[0]))
            * (x.ndim > 1),
        )
        for f in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a < b, tengen.maximum, both)
        if fit(a, b)
    ],
    "broadcast in place": lambda x: (
        x.clone().add_(x[:1]),
        x.clone().mul_(x[..., :1]),
        x.clone().div_(x[0]),
        (y := x.clone()).sub_(y[:1]),
        tengen.add(x, x[:1], out=x.detach().clone()) if not x.requires_grad else x,
    ),
    "in place": lambda x: (
        x.clone().sub_(x),
        x.clone().mul_(x * 0),
        x.clone().add_(x).div_(x - x),
        x.clone().exp_(),
    ),
    "bounds": lambda x: [
        f
        for low in (0, 0.0, -0.0, 0.5, 1, True, None, float("nan"), float("inf"), 1e300)
        for f in (x.clamp(min=low), x.clamp(max=low), x.clamp(low, 1.0), x.clone().clamp_(min=low))
        if not (low is None or (low.__class__ is float and not x.is_floating_point()))
    ],
    "zeros": lambda x: (
        x > 0,
        x > 0.0,
        x * 0,
        x * -0.0,
        x + False,
        x >= -0.0,
        x.double() * 0.0,
        0 / (x + 0.5),
    ),
    "filled": lambda x: (
        x.clone().fill_(2.0) if x.is_floating_point() else x,
        x.masked_fill(x > 0, 1.0) if x.is_floating_point() else x,
        x.float(),
        x.to(tengen.float64),
        x.long(),
    ),
    "copied": lambda x: (
        x.contiguous(),
        x.mT.contiguous(),
        x.clone(),
        x.mT.clone(memory_format=tengen.contiguous_format),
        x.clone(memory_format=tengen.preserve_format),
    ),
    "zero_": lambda x: (x.clone().zero_(), x.clone()[:1].zero_(), tengen.zero_(x.clone())),
}


def outcome(use: Callable[[Any], Any], x: Any, wanted: bool) -> Any:
    """What a use gives for each case of it: values, layouts, gradients, warnings, errors."""
    x = x.detach()
    if wanted:
        x.requires_grad_()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            results = use(x)
        except Exception as error:
            return type(error).__name__, str(error)
        seen = [seen_of(r) for r in results]
        if wanted and any([r.requires_grad for r in results]):
            total = sum([r.double().sum() for r in results if not r.is_complex()])
            seen.append(seen_of(tengen.autograd.grad(total, x)[0]))
    return seen, [str(w.message) for w in told]


def seen_of(t: Any) -> Any:
    a = t._array
    strides = a.strides if a.size else ()
    return a.dtype.str, a.shape, strides, a.tobytes(), a.flags.writeable, t._base is None, t.requires_grad


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", [tengen.float32, tengen.float64, tengen.int64, tengen.bool, tengen.bfloat16])
def test_kernels(use: str, kind: tengen.dtype) -> None:
    for name, x in layouts(kind).items():
        for wanted in (False, True) if kind.is_floating_point else (False,):
            with fast_paths.stopped():
                expected = outcome(USES[use], x, wanted)
            for _ in range(2):
                assert outcome(USES[use], x, wanted) == expected, (name, wanted)


def test_memory_that_may_not_be_written_to() -> None:
    memory = np.arange(6.0)
    memory.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = tengen.from_numpy(memory)
    view = x.view(2, 3)
    assert not view._array.flags.writeable and view._array.base is memory
    assert x.sum().item() == 15


def test_a_view_holds_the_memory_that_it_is_of() -> None:
    x = tengen.zeros(6)
    views = [x.view(2, 3).view(-1).view(3, 2) for _ in range(3)]
    assert all([v._array.base is x._array for v in views])
    del x
    assert views[0].tolist() == [[0, 0]] * 3


x, y = tengen.randn(8, 8), tengen.randn(8, 8)
leaf = tengen.randn(8, 8, requires_grad=True)
#: What is done without a frame of Python's of tengen.
IN_C: dict[str, Callable[[], Any]] = {
    "operators": lambda: (x * y + 2, -x, tengen.exp(x)),
    "views": lambda: (x.view(64), x.view(2, 32), x.view(-1)),
    "sum": lambda: x.sum(),
    "softmax": lambda: (x.softmax(1), x.softmax(dim=-1)),
    "lists": lambda: (tengen.cat([x, y]), tengen.cat((x, y, x), dim=1), tengen.stack([x, y], -1)),
    "in place": lambda: y.mul_(x).zero_().add_(1),
    "recording": lambda: (leaf * x, leaf.view(64), leaf.sum()),
    "recording softmax": lambda: (leaf.softmax(1), tengen.layer_norm(x, (8,))),
    "keys": lambda: (x[1], x[-1, 2], x[1:3], x[..., None, 1:], x[None], x[2:, ::2], x[:]),
    "recording keys": lambda: (leaf[1], leaf[1:3], leaf[-2:]),
    "parts": lambda: (
        x.unsqueeze(0),
        x.select(1, 2),
        x.unbind(0),
        x.split(4),
        x.permute(1, 0),
        x.transpose(0, 1),
    ),
    "recording parts": lambda: (leaf.unsqueeze(0), leaf.unbind(0), leaf.split(4, 1), leaf.permute(1, 0)),
    "recording lists": lambda: (tengen.cat([leaf, y]), tengen.stack([y, leaf], 1)),
}


@pytest.mark.parametrize("use", IN_C)
def test_no_python_runs(use: str) -> None:
    if "softmax" in use and kernels.softmax_of_rows is None:
        pytest.skip("no native kernels")
    run, frames = IN_C[use], []
    for _ in range(3):
        run()

    def note(frame: Any, event: str, _: Any) -> None:
        name = frame.f_code.co_qualname
        if event == "call" and frame.f_code is not run.__code__ and not name.startswith("ViewList.sweep"):
            frames.append(name)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    assert frames == []


@pytest.mark.parametrize("join", [tengen.cat, tengen.stack])
def test_a_list_that_is_none_of_tensors(join: Any) -> None:
    for given in ([x, 1], [x, None], [None], (x, [y]), [x, tengen.nn.Parameter(y)], iter([x, y]), x):
        with fast_paths.stopped():
            expected = result_of(join, given if not hasattr(given, "__next__") else iter([x, y]))
        assert result_of(join, given) == expected


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("join", [tengen.cat, tengen.stack])
def test_tensors_of_other_sizes_are_not_joined(join: Any, dim: int) -> None:
    """Whichever dimension it is in that one is larger or smaller; along that of cat it may be."""
    one = tengen.ones(2, 3, 4)
    for at in range(3):
        for size in (1, 5):
            other = tengen.ones(*[size if d == at else n for d, n in enumerate(one.shape)])
            for given in ([one, other], [other, one], [one, one, other]):
                if join is tengen.cat and dim % 3 == at:
                    assert join(given, dim).shape[at] == sum(t.shape[at] for t in given)
                    continue
                with pytest.raises(RuntimeError):
                    join(given, dim)


def result_of(join: Any, given: Any) -> Any:
    try:
        return seen_of(join(given))
    except Exception as error:
        return type(error).__name__, str(error)


MODES = {"recording": tengen.enable_grad, "not recording": tengen.no_grad, "inference": tengen.inference_mode}


@pytest.mark.parametrize("second", MODES)
@pytest.mark.parametrize("first", MODES)
def test_how_a_view_is_made(first: str, second: str) -> None:
    """Its base, what restricts writes through it, and who knows of it, in all modes."""
    found = []
    for stop in (True, False, False):
        x = tengen.zeros(4, 6, requires_grad=True)
        base = x * 1
        with fast_paths.stopped() if stop else nullcontext():
            with MODES[first]():
                views = [base.view(-1), base[1:], base.unbind(0)[1], base.detach().T]
            with MODES[second]():
                views += [part for v in views for part in (v[1:], v.view(v.shape), *v.split(2))]
            found.append([(made_of(v, base), written(v)) for v in views])
    assert found[1] == found[0] and found[2] == found[0]


def made_of(view: Any, base: Any) -> Any:
    meta = view._meta
    slots = None if meta is None else [repr(getattr(meta, name, "unset")) for name in type(meta).__slots__]
    known = view._storage.views is not None and any([ref() is view for ref in view._storage.views])
    bases = (view._base is base, view._base is None, view._storage is base._storage)
    return slots, known, bases, view._type.recording


def written(view: Any) -> str:
    try:
        view.mul_(2)
    except Exception as error:
        return str(error)
    return f"{view._version} {view.grad_fn.name() if view.grad_fn is not None else None}"


def test_a_node_of_several_results() -> None:
    """The versions of a result without a history that was saved are noted."""
    found = []
    for stop in (True, False, False):
        with fast_paths.stopped() if stop else nullcontext():
            a = (leaf * 1).detach().requires_grad_()
            values, indices = a.max(1)
            node = values.grad_fn
            seen = [node.name(), node.shape, [t.name for t in node.type], [*node.result_versions]]
            indices.zero_()
            try:
                values.sum().backward()
            except RuntimeError as error:
                seen.append(str(error))
            parts = a.unbind(0)
            seen += [parts[3].grad_fn.num_inputs, [p.output_nr for p in parts]]
            (parts[1] * parts[2]).sum().backward()
            found.append([*seen, a.grad.tolist()])
    assert len(found[0][4]) > 20
    assert found[1] == found[0] and found[2] == found[0]


def test_numbers_beside_rows_are_one_for_each() -> None:
    """A kernel's operands that are one number for each row lie next to each other, a number apart."""
    left: list[int] = []

    @fast_paths.fast_path(
        "fetch_kernel kernels.scale_and_shift; local x; local mean; local scale; local shift; "
        "constant -1; constant False; rows 4; give"
    )
    def scaled(x: Any, mean: Any, scale: Any, shift: Any) -> Any:
        left.append(1)
        return (x - mean[..., None]) * scale[..., None] + shift[..., None]

    for dtype in (np.float32, np.float64):
        x = np.arange(24, dtype=dtype).reshape(2, 3, 4)
        mean, scale, shift = (np.arange(6, dtype=dtype).reshape(2, 3) + n for n in (1, 2, 3))
        expected = (x - mean[..., None]) * scale[..., None] + shift[..., None]
        np.testing.assert_array_equal(scaled(x, mean, scale, shift), expected)
    assert not left or kernels.scale_and_shift is None
