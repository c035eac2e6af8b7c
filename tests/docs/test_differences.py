"""What docs/differences.md says, said by the libraries themselves.

A claim is the name of a paragraph, a program, and what it gives in tengen and in PyTorch: a value,
or the class of an error. ``m`` is the library. Its last line is the expression looked at.
"""

from __future__ import annotations

import importlib
import math
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tengen

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "differences.md"


@dataclass(frozen=True, slots=True)
class Claim:
    """A program, and what it gives here and there."""

    name: str
    program: str
    here: Any
    there: Any


ABSENT = """
def has(name, where=m):
    for part in name.split("."):
        if not hasattr(where, part):
            return False
        where = getattr(where, part)
    return True
any(map(has, NAMES))
"""
NOT_THERE = ABSENT.replace(
    "NAMES",
    repr([
        "nn.Module", "optim.SparseAdam", "compile", "jit.script", "fx", "distributed", "amp",
        "utils.data", "sparse_coo_tensor", "quantize_per_tensor", "Tensor.rename",
    ]),
)  # fmt: skip
#: What the function is at 5, to 12 digits.
BESSEL = """
x = m.tensor([5.01], dtype=m.float64)
abs(m.special.bessel_j0(x).item() + 0.174315432057) < 1e-11
"""
#: The slope of the incomplete gamma function of parameter 2 at 0.
FORWARD = """
m.func.jvp(lambda x: m.igamma(m.full_like(x, 2.0), x), (m.zeros(1),), (m.ones(1),))[1].item()
"""
RESIZED = """
import warnings
out = m.ones(2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    m.{call}
any("was resized" in str(w.message) for w in caught)
"""
EXPANDED_FLOATS = "x = m.ones(2)\nout = m.zeros(1).expand(5)\n"
EXPANDED = "x = m.arange(2)\nout = m.zeros(1, dtype=m.int64).expand(5)\n"
OPERATOR = """
import numpy
def sine(x):
    return m.from_numpy(numpy.sin(x.detach().numpy()))
f = m.library.custom_op("differs::sine", sine, mutates_args=(), schema="(Tensor x) -> Tensor")
f.register_autograd(lambda ctx, g: g * 2)
"""
GIVEN = """
seen = []
if not hasattr(m.ops, "differs") or not hasattr(m.ops.differs, "given"):
    m.library.define("differs::given", "(Tensor x, int n=2) -> Tensor")
lib = m.library.Library("differs", "IMPL")
lib.impl("given", lambda *given: seen.append(len(given)) or given[0] + 1, "CPU")
"""
NO_AUTOGRAD = ABSENT.replace(
    "NAMES",
    repr([
        "autograd.function.NestedIOFunction", "autograd.profiler.emit_nvtx", "func.functional_call",
        "func.rearrange",
    ]),
)  # fmt: skip
NO_TYPES = ABSENT.replace(
    "NAMES",
    repr([
        "complex32", "float8_e4m3fn", "DoubleTensor", "Tensor.new",
        "set_default_tensor_type", "Tensor.storage",
    ]),
)  # fmt: skip
LBFGS = """
import copy
p = m.ones(2, requires_grad=True)
made, = copy.deepcopy([m.optim.LBFGS([p])])
hasattr(made, "_params")
"""
SCHEDULE = """
made = m.optim.SGD([m.ones(2, requires_grad=True)], lr=0.5)
try:
    m.optim.lr_scheduler.CyclicLR(made, 0.1, 0.2, mode="none")
except ValueError:
    rate = made.param_groups[0]["lr"]
rate
"""
ADAMAX = """
p = m.ones(2, requires_grad=True) * 1
made = m.optim.Adamax([p], differentiable=True)
for value in (1.0, 2.0):
    p.grad = m.full((2,), value, requires_grad=True)
    made.step()
p.sum().backward() is None
"""
GRADCHECK = """
x = m.tensor([1.0, 3.0, 2.0], dtype=m.float64, requires_grad=True)
check = m.autograd.gradcheck
"""
OVERRIDES = """
import importlib
overrides = importlib.import_module(m.__name__ + ".overrides")
seen = []
def handler(cls, func, types, args=(), kwargs=None):
    seen.append((func.__name__, args, kwargs))
    return func
PROTOCOL = f"__{m.__name__}_function__"
Foreign = type("Foreign", (), {PROTOCOL: classmethod(handler)})
Mode = type("Mode", (getattr(overrides, m.__name__.capitalize() + "FunctionMode"),), {PROTOCOL: handler})
x = m.ones(2).as_subclass(type(m.Tensor)("Special", (m.Tensor,), {PROTOCOL: classmethod(handler)}))
"""
HALF = """
rng = np.random.default_rng(0)
a, b = ((rng.random((64, 64)) * 0.8 + 0.1).astype(np.float16) for _ in range(2))
def differs(f):
    half, double = (f(m.from_numpy(a.astype(d)), m.from_numpy(b.astype(d))) for d in (np.float16, np.float64))
    return (half != double.to(m.float16)).any().item()
F = m.nn.functional
"""
ARRAY = """
class Data:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)
"""
READ_ONLY = """
array = np.arange(3.0)
array.flags.writeable = False
m.from_numpy(array).add_(1).tolist()
"""
NO_GRAD_VIEW = """
x = m.ones(2, requires_grad=True).clone()
with m.no_grad():
    view = x[0]
"""
UNBOUND = """
x = m.ones(2, requires_grad=True).clone()
a, b = x.unbind()
x.mul_(2)
"""
GRAD_DTYPE = """
import copy
x = m.ones(2, requires_grad=True)
x.grad_dtype = m.float64
x.grad = m.full((2,), 2.0, dtype=m.float64)
"""
ANY_DTYPE = """
x = m.ones(2, requires_grad=True)
x.grad_dtype = None
x.double().sum().backward()
x.grad.dtype is m.float64
"""
LOGICAL_NOT = """
x = m.ones(2, requires_grad=True)
y = x * 1
y.logical_not_()
(x * 0 + y).sum().backward()
x.grad.tolist()
"""
KRON = """
a, b = m.ones(2, requires_grad=True), m.ones(1)
y = m.kron(a, b)
b.mul_(2)
y.sum().backward()
a.grad.tolist()
"""
DETACHED = """
x = m.ones(2, requires_grad=True)
y = x * 2
z = (y * y).sum()
y.detach_()
z.backward()
x.grad.tolist()
"""
TWICE = """
x = m.ones(3, requires_grad=True)
y = x.clone()
y[0] = 2.0
z = y.sum()
z.backward()
z.backward()
x.grad.tolist()
"""
TWO_GRADS = """
x, y = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
seed = m.ones(2)
a, b = m.autograd.grad(x + y, (x, y), seed)
[a.data_ptr() == b.data_ptr(), a.data_ptr() == seed.data_ptr()]
"""
NODES = """
x, F = m.ones(1, 1, 4, 4, requires_grad=True), m.nn.functional
names = [F.conv2d(x, x).grad_fn.name(), F.linear(x[0, 0], m.ones(4, 4), m.ones(4)).grad_fn.name()]
[*names, len((x * 2).grad_fn.next_functions)]
"""
NUMBERS = """
x, seen = m.ones(2, requires_grad=True), []
y = x * 2
y.grad_fn.register_hook(lambda given, came: seen.append(len(given)))
y.sum().backward(retain_graph=True)
[*seen, isinstance(y.grad_fn(m.ones(2)), tuple)]
"""
FUNCTION_NODE = """
class F(m.autograd.Function):
    forward = staticmethod(lambda ctx, x: x * 1)
    backward = staticmethod(lambda ctx, g: g * 3)
F.apply(m.ones(1, requires_grad=True)).grad_fn(m.ones(1)).tolist()
"""
NO_HOOK = """
x = m.ones(2, requires_grad=True)
y = x * 1
def refused(register):
    try:
        register(3)
    except TypeError:
        return True
    return False
[refused(f) for f in (x.register_hook, y.register_hook, y.grad_fn.register_hook, y.grad_fn.register_prehook)]
"""
NO_HOOK_LATER = NO_HOOK + "y.sum().backward()"
WARNINGS = """
def warned():
    x = m.ones(1, requires_grad=True)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        x.exp().backward(create_graph=True)
    return len(found)
warned()
warned()
"""
NOTES = """
def notes():
    y = m.ones(1, requires_grad=True) * 1
    z = y.exp()
    z.add_(1)
    m.autograd.set_detect_anomaly(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            z.backward()
    except RuntimeError as error:
        return sum("Error detected in" in note for note in getattr(error, "__notes__", []))
    finally:
        m.autograd.set_detect_anomaly(False)
notes()
"""
TEXT = """
def text(f):
    try:
        f()
    except Exception as error:
        return str(error).partition("(")[0]
text(lambda: m.ones(2) + m.ones(3))
"""
SHARING = """
import pickle
x = m.ones(4)
a, b = pickle.loads(pickle.dumps([x, x[1:]]))
a.data_ptr() + 4 == b.data_ptr()
"""
FILE = """
import io
file = io.BytesIO()
m.save(m.ones(2), file)
file.getvalue()[:2]
"""

DUAL = """
import threading
ad = m.autograd.forward_ad
def tangent(x):
    t = ad.unpack_dual(x).tangent
    return None if t is None else t.tolist()
def threaded(function):
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]
leaf = m.tensor([1.0, 2.0], requires_grad=True)
with ad.dual_level():
    x = ad.make_dual(leaf, m.ones(2))
    found = {}
found
"""

FUNC = """
import importlib
func = importlib.import_module(m.__name__ + ".func")
x = m.tensor([1.0, 2.0])
def writes(captured):
    def f(z):
        captured.add_(1)
        return (captured * z).sum()
    return f
def hooked(z):
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return (z * z).sum()
def makes(z):
    return (z * m.ones(2, requires_grad=True)).sum()
calls = []
def counts(z):
    calls.append(1)
    return z * z
"""

GRADIENT = """
nan, inf, F = np.nan, np.inf, m.nn.functional
def gradient(f, *numbers):
    x = m.tensor(numbers, dtype=m.float64, requires_grad=True)
    y = f(x).sum()
    return m.autograd.grad(y, x, create_graph=True)[0]
def finite(f, *numbers):
    return gradient(f, *numbers).isfinite().tolist()
"""
PRELU = (
    GRADIENT
    + """
x, w = (m.tensor([v], dtype=m.float64, requires_grad=True) for v in (0.0, 0.5))
g, = m.autograd.grad(F.prelu(x, w).sum(), x, create_graph=True)
m.autograd.grad(g.sum(), w)[0].item()
"""
)
HESSIAN = """
hessian = m.autograd.functional.hessian
f = lambda x: (x * x).sum()
hessian(f, m.ones(3), vectorize=True, outer_jacobian_strategy="forward-mode").requires_grad
"""
CLAIMS = [
    Claim("Not there", NOT_THERE, False, True),
    Claim("Parts of autograd", NO_AUTOGRAD, False, True),
    Claim("Devices", "m.device('cuda').type", RuntimeError, "cuda"),
    Claim("Scalar types", NO_TYPES, False, True),
    Claim(
        "Scalar types",
        "str((m.ones(2, dtype=m.float16) * 1j).dtype).partition('.')[2]",
        "complex64",
        "complex32",
    ),
    Claim(
        "Typed classes",
        "type(m.ones(2)).__name__ + str(len(m.ones(2).untyped_storage()))",
        "Tensor8",
        "Tensor8",
    ),
    Claim(
        "Function overrides",
        OVERRIDES + "[(x == x).__name__, (x ** 2).__name__]",
        ["eq", "pow"],
        ["__eq__", "pow"],
    ),
    Claim("Function overrides", OVERRIDES + "(x ** 2) is m.Tensor.pow", True, False),
    Claim("Function overrides", OVERRIDES + "m.exp(Foreign())\nseen[0][2]", {}, None),
    Claim(
        "Function overrides",
        OVERRIDES + "m.nn.functional.relu(Foreign())\nseen[0][2]",
        {},
        {"inplace": False},
    ),
    Claim("Function overrides", OVERRIDES + "m.sum(Foreign(), dim=0)\nseen[0][2]", {}, {"dim": 0}),
    Claim("Function overrides", OVERRIDES + "y = m.ones(2)\nwith Mode():\n    y.ndim\nlen(seen)", 0, 1),
    Claim("Function overrides", OVERRIDES + "m.exp(Foreign).__name__", TypeError, "exp"),
    Claim("Function overrides", "hasattr(m.Tensor, '__torch_dispatch__')", False, True),
    Claim(
        "Memory formats",
        "m.stack([m.ones(2, 3, 4, 5).to(memory_format=m.channels_last)] * 2).stride()",
        (120, 60, 20, 5, 1),
        (120, 60, 1, 15, 3),
    ),
    Claim("Lazy conjugation", "m.tensor([1j]).conj().is_conj()", False, True),
    Claim(
        "Lazy conjugation", "x = m.tensor([1 + 1j])\ny = x.conj()\nx.mul_(2)\ny.tolist()", [1 - 1j], [2 - 2j]
    ),
    Claim("Lazy conjugation", "bool(m.tensor([1j]).conj().__dlpack__())", True, BufferError),
    Claim("Rounding", "m.allclose(m.exp(m.ones(1)), m.tensor([2.7182817]))", True, True),
    Claim("Half precision", HALF + "differs(m.xlogy)", False, True),
    Claim("Half precision", HALF + "differs(lambda a, b: F.mse_loss(a, b, reduction='none'))", False, True),
    Claim("Half precision", HALF + "differs(lambda a, b: a.logsumexp(1))", False, True),
    Claim("Half precision", HALF + "differs(lambda a, b: a.logit())", False, True),
    Claim("Half precision", HALF + "differs(lambda a, b: m.add(a, b, alpha=0.3))", False, True),
    Claim("Special functions", BESSEL, True, False),
    Claim(
        "Special functions", "m.special.bessel_j0(m.ones(1, requires_grad=True)).requires_grad", True, False
    ),
    Claim(
        "Special functions",
        "m.special.chebyshev_polynomial_t(m.tensor([9.0]), 99).isinf().item()",
        True,
        False,
    ),
    Claim("Special functions", FORWARD, 0.0, NotImplementedError),
    Claim("Numbers beyond a dtype", "(m.ones(1) * 2**70).item() == 2.0**70", True, OverflowError),
    Claim("Numbers beyond a dtype", "m.ones(1).clamp(min=1e39).item()", math.inf, RuntimeError),
    Claim("Numbers beyond a dtype", "m.where(m.ones(1) > 0, 1e39, m.ones(1)).item()", math.inf, RuntimeError),
    Claim(
        "Numbers beyond a dtype",
        "m.nn.functional.leaky_relu(-m.ones(1), 1e39).item()",
        -math.inf,
        RuntimeError,
    ),
    Claim("Numbers beyond a dtype", "(m.tensor([1]) + 2**63).item()", OverflowError, 1 - 2**63),
    Claim(
        "Numbers beyond a dtype", "m.add(m.tensor([1]), m.tensor([2]), alpha=True).item()", 3, RuntimeError
    ),
    Claim("Numbers beyond a dtype", "m.add(m.ones(1), m.ones(1), alpha=2 + 0j).item()", 3.0, RuntimeError),
    Claim("Numbers beyond a dtype", "m.zeros(2**63).shape", RuntimeError, TypeError),
    Claim("Numbers beyond a dtype", "m.ones(2).reshape(2**63).shape", RuntimeError, TypeError),
    Claim(
        "Numbers beyond a dtype",
        "m.ones(2).index_fill(0, m.tensor([0]), 2 + 0j).tolist()",
        [2.0, 1.0],
        RuntimeError,
    ),
    Claim("Numbers beyond a dtype", "m.ones(4).norm(2 + 0j).item()", 2.0, RuntimeError),
    *(
        Claim(
            "Dtypes of parameters",
            f"x, w = m.zeros(2, 3), m.ones(3, dtype=m.float64)\nm.nn.functional.{call}.dtype is x.dtype",
            True,
            RuntimeError,
        )
        for call in (
            "layer_norm(x, (3,), w)",
            "group_norm(x, 1, w)",
            "batch_norm(x, m.zeros(3), m.ones(3), w)",
            "instance_norm(x[None], weight=w[:2])",
        )
    ),
    Claim(
        "Dtypes of parameters",
        "target = m.ones(2, dtype=m.int64)\n"
        "m.nn.functional.binary_cross_entropy_with_logits(m.zeros(2), target).dtype is m.float32",
        True,
        RuntimeError,
    ),
    Claim(
        "Dtypes of parameters",
        "x = m.ones(1, 2, 2)\nmask = m.ones(2, 2, dtype=m.int64)\n"
        "m.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask).dtype is x.dtype",
        True,
        RuntimeError,
    ),
    Claim("Random numbers", "m.manual_seed(0)\nm.randperm(5).tolist()", [2, 4, 3, 0, 1], [4, 0, 1, 3, 2]),
    Claim("Random numbers", "len(m.get_rng_state())", 45, 5056),
    Claim("Data", ARRAY + "m.tensor(Data()).tolist()", [0.0, 1.0, 2.0], RuntimeError),
    Claim("bfloat16 arrays", "m.ones(2, dtype=m.bfloat16).numpy().dtype.name", "bfloat16", TypeError),
    Claim(
        "bfloat16 arrays",
        "import ml_dtypes\nm.from_numpy(np.ones(1, ml_dtypes.bfloat16)).tolist()",
        [1.0],
        TypeError,
    ),
    Claim("Read-only memory", READ_ONLY, ValueError, [1.0, 2.0, 3.0]),
    Claim(
        "Read-only memory", "m.frombuffer(b'abc', dtype=m.uint8).add_(1).tolist()", ValueError, [98, 99, 100]
    ),
    Claim("NumPy's comparisons", "np.equal(m.ones(2), m.ones(2)).dtype == m.bool", True, False),
    Claim("Notebooks", "hasattr(m.ones(2), '_repr_html_')", True, False),
    Claim(
        "Hashes",
        "x = m.ones(2)\n[hash(x) == object.__hash__(x), hash(x) == id(x)]",
        [True, False],
        [False, True],
    ),
    Claim("Files", FILE, b"\x80\x04", b"PK"),
    Claim("Files", SHARING, True, False),
    *(
        Claim("Deprecated calls", f"x = m.ones(2, 2)\nv = m.ones(2)\nm.{call}.sum().item()", TypeError, there)
        for call, there in (
            ("add(x, 2, x)", 12.0),
            ("sub(x, 2, x)", -4.0),
            ("addmm(2, x, 3, x, x)", 32.0),
            ("addmm(2, x, x, x)", 16.0),
            ("addmv(2, v, x, v)", 8.0),
            ("addr(2, x, v, v)", 12.0),
            ("addbmm(2, x, x[None], x[None])", 16.0),
            ("baddbmm(2, x[None], x[None], x[None])", 16.0),
            ("addcmul(x, 2, x, x)", 12.0),
            ("addcdiv(x, 2, x, x)", 12.0),
        )
    ),
    Claim("Views of no_grad", NO_GRAD_VIEW + "view.requires_grad", False, True),
    Claim("Views whose base was written", UNBOUND + "(a * 2).item()", 4.0, RuntimeError),
    Claim("Views whose base was written", UNBOUND + "(a * 2).backward()", RuntimeError, RuntimeError),
    Claim("Views whose base was written", UNBOUND + "a.grad_fn", RuntimeError, RuntimeError),
    Claim("Views whose base was written", NO_GRAD_VIEW + "x.mul_(2)\n(view * 2).item()", 4.0, RuntimeError),
    Claim(
        "Views whose base was written", NO_GRAD_VIEW + "x.mul_(2)\nview.grad_fn", RuntimeError, RuntimeError
    ),
    Claim("Expanded memory", "m.zeros(1).expand(3).copy_(m.ones(1)).tolist()", RuntimeError, RuntimeError),
    Claim("Expanded memory", "m.zeros(1).expand(3).zero_().tolist()", [0.0] * 3, [0.0] * 3),
    Claim("Expanded memory", "x = m.zeros(1).expand(3)\nx[0:2] = 4\nx.tolist()", RuntimeError, RuntimeError),
    Claim("Expanded memory", "m.zeros(1).expand(3).fill_(2).tolist()", [2.0] * 3, [2.0] * 3),
    Claim("Expanded memory", "m.ones(1).expand(2, 2).tril_().tolist()", RuntimeError, [[0.0] * 2] * 2),
    *(
        Claim("Expanded memory", f"out = m.zeros(1{dtype}).expand(2)\nm.{call}.tolist()", RuntimeError, there)
        for call, dtype, there in (
            ("amax(m.ones(2, 2), 1, out=out)", "", [1.0, 1.0]),
            ("argmax(m.ones(2, 2), 1, out=out)", ", dtype=m.int64", [0, 0]),
            ("all(m.ones(2, 2), 1, out=out)", ", dtype=m.bool", [True, True]),
            ("histc(m.ones(2), 2, 0, 0.5, out=out)", "", [0.0, 0.0]),
            (
                "bmm(m.ones(1, 2, 1), m.ones(1, 1, 2), out=out.expand(1, 2, 2))",
                "",
                [[[1.0, 1.0], [1.0, 1.0]]],
            ),
        )
    ),
    Claim("Empty tensors", "(m.ones(0, 3).t() + 1).stride()", (1, 1), (1, 3)),
    Claim("Empty tensors", "m.ones(3, 2)[3:].storage_offset()", 0, 6),
    Claim("Overlapping writes", "x = m.arange(4.0)\nx[1:].add_(x[:-1])", RuntimeError, RuntimeError),
    Claim(
        "Overlapping writes",
        "x = m.ones(3, 2)\nx[:2].addmm_(x[1:], m.ones(2, 2)).tolist()",
        RuntimeError,
        [[3.0, 3.0], [3.0, 3.0]],
    ),
    *(
        Claim(
            "Gradients and `out=`",
            f"x = m.ones(2, 2, requires_grad=True)\nm.{call}.shape == (2, 2)",
            RuntimeError,
            True,
        )
        for call in (
            "diag(m.ones(2, requires_grad=True), out=m.empty(0))",
            "softmax(x, 0, out=m.empty(0))",
            "inner(x, x, out=m.empty(0))",
            "tensordot(x, x, 1, out=m.empty(0))",
            "floor_divide(x, x, out=m.empty(0))",
            "heaviside(x, x, out=m.empty(0))",
            "conj_physical(x, out=m.empty(0))",
        )
    ),
    Claim(
        "Gradients and `out=`",
        "m.argsort(m.ones(2, requires_grad=True), stable=True, out=m.empty(0, dtype=m.int64)).tolist()",
        [0, 1],
        RuntimeError,
    ),
    *(
        Claim("Which functions take `out=`", f"x = m.ones(2, 2)\nm.{call} is not None", True, TypeError)
        for call in (
            "count_nonzero(x, out=m.empty(0, dtype=m.int64))",
            "var_mean(x, dim=0, out=(m.empty(0), m.empty(0)))",
            "std_mean(x, dim=0, out=(m.empty(0), m.empty(0)))",
            "flip(x, (0,), out=m.empty(0))",
            "roll(x, 1, out=m.empty(0))",
            "rot90(x, out=m.empty(0))",
            "trace(x, out=m.empty(0))",
            "relu(x, out=m.empty(0))",
            "masked_fill(x, x > 0, 1.0, out=m.empty(0))",
            "diag_embed(x, out=m.empty(0))",
            "select_scatter(x, x[0], 0, 0, out=m.empty(0))",
            "diagonal_scatter(x, x[0], out=m.empty(0))",
            "masked_scatter(x, x > 0, x, out=m.empty(0))",
            "bincount(x[0].long(), out=m.empty(0, dtype=m.int64))",
            "index_put(x, (m.tensor([0]),), x[0], out=m.empty(0))",
            "put(x, m.tensor([0]), x[0, :1], out=m.empty(0))",
            "index_fill(x, 0, m.tensor([0]), 1.0, out=m.empty(0))",
            "avg_pool1d(x, 1, out=m.empty(0))",
            "adaptive_avg_pool1d(x, 1, out=m.empty(0))",
            "constant_pad_nd(x, (1, 1), out=m.empty(0))",
            "binary_cross_entropy_with_logits(x, x, out=m.empty(0))",
            "pixel_shuffle(m.ones(4, 1, 1), 2, out=m.empty(0))",
            "pixel_unshuffle(x[None], 2, out=m.empty(0))",
        )
    ),
    *(
        Claim("Outputs that are resized", RESIZED.format(call=call), True, False)
        for call in (
            "zeros(3, out=out)",
            "ones(3, out=out)",
            "full((3,), 1.0, out=out)",
            "empty(3, out=out)",
            "eye(3, out=out)",
            "linspace(0, 1, 3, out=out)",
            "logspace(0, 1, 3, out=out)",
            "rand(3, out=out)",
            "randn(3, out=out)",
            "randint(5, (3,), out=out)",
            "randperm(3, out=out)",
            "normal(0.0, 1.0, (3,), out=out)",
            "bernoulli(m.ones(3), out=out)",
        )
    ),
    *(
        Claim("Outputs that are resized", f"{EXPANDED}m.{call}.tolist()", [0, 1], RuntimeError)
        for call in (
            "take(x, x, out=out)",
            "masked_select(x, x >= 0, out=out)",
            "bitwise_and(x, x, out=out)",
            "index_select(x, 0, x, out=out)",
            "diff(x, prepend=x[:1], out=out)",
        )
    ),
    *(
        Claim("Outputs that are resized", f"{EXPANDED_FLOATS}m.{call}.dim()", x, RuntimeError)
        for call, x in (
            ("addr(m.ones(2, 2), x, x, out=out)", 2),
            ("clamp(x, 0, out=out)", 1),
            ("exp(x, out=out)", 1),
        )
    ),
    *(
        Claim(
            "Dtypes of outputs",
            f"m.{name}([m.ones(2)], out=m.empty(0, dtype=m.int64))",
            RuntimeError,
            TypeError,
        )
        for name in ("cat", "stack", "concat", "hstack", "vstack", "dstack", "column_stack", "row_stack")
    ),
    *(
        Claim(
            "Dtypes of outputs", f"m.bernoulli(m.ones(2), out=m.empty(2, dtype=m.{d})).tolist()", here, there
        )
        for d, here, there in (
            ("int64", RuntimeError, [1, 1]),
            ("bool", RuntimeError, [True, True]),
            ("complex64", [1 + 0j, 1 + 0j], NotImplementedError),
        )
    ),
    Claim("Logical operators in place", LOGICAL_NOT, [0.0, 0.0], [1.0, 1.0]),
    Claim("What may be written to before a backward pass", KRON, RuntimeError, [2.0, 2.0]),
    Claim("Saved tensors detached in place", DETACHED, [8.0, 8.0], RuntimeError),
    Claim("Backward twice", TWICE, [0.0, 2.0, 2.0], RuntimeError),
    *(
        Claim("Derivatives at single points", GRADIENT + program, here, there)
        for program, here, there in (
            ("finite(m.digamma, -1.0)", [False], [True]),
            ("finite(lambda x: m.polygamma(1, x), inf)", [True], [False]),
            ("finite(m.special.i1, nan)", [False], [True]),
            ("finite(m.special.i1e, nan)", [False], [True]),
            ("finite(m.acosh, -2.0)", [False], [True]),
            ("finite(lambda x: x.cumprod(0), 1.0, nan, 2.0)", [False, True, False], [False] * 3),
            ("finite(lambda x: x.logsumexp(0), -inf, -inf)", [True, True], [False, False]),
            ("finite(lambda x: x.logcumsumexp(0), -inf, -inf)", [True, True], [False, False]),
        )
    ),
    Claim("Derivatives at single points", PRELU, 1.0, 0.0),
    Claim(
        "Complex derivatives",
        "m.nn.functional.silu(m.ones(2, dtype=m.complex64, requires_grad=True)).requires_grad",
        True,
        RuntimeError,
    ),
    Claim(
        "Inference tensors",
        "with m.inference_mode():\n    x = m.ones(2, requires_grad=True)\n(x + 1).requires_grad",
        False,
        True,
    ),
    Claim(
        "Inference tensors",
        "with m.inference_mode():\n    i = m.tensor([0])\n"
        "m.ones(2, requires_grad=True).index_select(0, i).requires_grad",
        True,
        RuntimeError,
    ),
    Claim(
        "Inference tensors",
        "x = m.ones(2, requires_grad=True)\ny = (x * 2).sum()\n"
        "with m.inference_mode():\n    y.backward()\nx.grad.is_inference()",
        False,
        True,
    ),
    Claim("Gradients own their memory", TWO_GRADS, [False, False], [True, True]),
    Claim("Dtypes of gradients", GRAD_DTYPE + "copy.deepcopy(x).grad.tolist()", [2.0, 2.0], RuntimeError),
    Claim("Dtypes of gradients", ANY_DTYPE, True, False),
    Claim(
        "Nodes",
        NODES,
        ["Conv2DBackward0", "LinearBackward0", 1],
        ["ConvolutionBackward0", "AddmmBackward0", 2],
    ),
    Claim("Nodes", NUMBERS, [1, False], [2, True]),
    Claim("Nodes", FUNCTION_NODE, [3.0], TypeError),
    Claim("Hooks", NO_HOOK, [True] * 4, [False] * 4),
    Claim("Hooks", NO_HOOK_LATER, None, TypeError),
    Claim("Forward mode", DUAL.format("threaded(lambda: tangent(x))"), None, [1.0, 1.0]),
    Claim("Forward mode", DUAL.format("tangent((x * 1).mul_(x * 1))"), [2.0, 4.0], [2.0, 4.0]),
    Claim("Forward mode", DUAL.format("y = x * 1\n    found = tangent(y.mul_(y))"), [2.0, 4.0], [2.0, 6.0]),
    Claim(
        "Forward mode",
        DUAL.format("(x * x).sum().backward()\n    found = tangent(leaf.grad)"),
        [2.0, 2.0],
        None,
    ),
    Claim("Forward mode", DUAL.format("ad.make_dual(1.0, x)"), TypeError, AttributeError),
    Claim("Forward mode", HESSIAN, False, True),
    Claim(
        "Transforms of functions", FUNC + "func.grad(writes(m.ones(2)))(x).tolist()", [2.0, 2.0], RuntimeError
    ),
    Claim("Transforms of functions", FUNC + "func.grad(hooked)(x).tolist()", [2.0, 4.0], RuntimeError),
    Claim("Transforms of functions", FUNC + "func.grad(makes)(x).requires_grad", True, False),
    Claim("Transforms of functions", FUNC + "func.linearize(counts, x)\nlen(calls)", 1, 2),
    Claim(
        "Transforms of functions",
        FUNC + "func.jvp(lambda x: func.linearize(counts, x)[1](x), (x,), (m.ones(2),))[1].tolist()",
        [4.0, 8.0],
        RuntimeError,
    ),
    Claim(
        "Transforms of functions",
        FUNC + "func.jacfwd(lambda x, y: x * 3, argnums=(1, -2))(x, x)[1].tolist()",
        [[3.0, 0.0], [0.0, 3.0]],
        [[0.0, 0.0], [0.0, 0.0]],
    ),
    Claim(
        "Transforms of functions",
        FUNC + "func.jvp(lambda x: x * 2, (x.requires_grad_(),), (m.ones(2),))[1].requires_grad",
        False,
        True,
    ),
    Claim(
        "Transforms of functions",
        "m.vmap(lambda x, i: x[i, :, [0, 1]])(m.ones(5, 2, 3, 4), m.zeros(5, dtype=m.int64)).shape",
        (5, 3, 2),
        (5, 2, 3),
    ),
    *(
        Claim("Transforms of functions", f"m.vmap(m.{name})(m.ones(2, 3)).shape", RuntimeError, (2, 3))
        for name in ("tril", "triu")
    ),
    Claim("Transforms of functions", "m.vmap(lambda x: x.squeeze(-1))(m.ones(2)).shape", (2,), RuntimeError),
    Claim("Transforms of functions", FUNC + "hasattr(func, 'functional_call')", False, True),
    Claim(
        "Operators of a program",
        OPERATOR + "m.func.grad(lambda x: f(x).sum())(m.ones(2)).tolist()",
        [2.0, 2.0],
        RuntimeError,
    ),
    Claim(
        "Operators of a program",
        OPERATOR + "m.func.jvp(f, (m.ones(2),), (m.ones(2),))[1].tolist()",
        NotImplementedError,
        [0.0, 0.0],
    ),
    Claim("Operators of a program", GIVEN + "m.ops.differs.given(m.ones(2))\nseen", [2], [1]),
    Claim(
        "Operators of a program",
        GIVEN + "m.ops.differs.given(m.ones(2), m.tensor(2.5)).sum().item()",
        RuntimeError,
        4,
    ),
    Claim(
        "Operators of a program",
        "m.library.Library('aten', 'IMPL').impl('sin', lambda x: x, 'CPU')",
        RuntimeError,
        None,
    ),
    Claim(
        "Operators of a program",
        OPERATOR + "callable(f.register_kernel('cuda', lambda x: x))",
        RuntimeError,
        True,
    ),
    Claim(
        "Operators of a program",
        OPERATOR + "callable(m.library.register_autocast(f, 'cpu', m.bfloat16))",
        ValueError,
        True,
    ),
    Claim("Operators of a program", "hasattr(m.library, 'triton_op')", False, True),
    Claim("Gradcheck", GRADCHECK + "check(lambda x: (x.argmax(), x * 2), x)", True, IndexError),
    Claim("Gradcheck", GRADCHECK + "check(lambda x: (x * 2, None), x)", TypeError, AttributeError),
    Claim("Optimisers", LBFGS, True, False),
    Claim("Optimisers", SCHEDULE, 0.5, 0.1),
    Claim("Optimisers", ADAMAX, True, RuntimeError),
    Claim("Limits", "tuple(m.ones(3).unfold(0, 1, 2**62).shape)", RuntimeError, (1, 1)),
    Claim("Limits", "m.ones((1,) * 65).dim()", RuntimeError, 65),
    Claim("Limits", "m.ones(1).expand(2**62).dim()", RuntimeError, 1),
    Claim("Limits", "m.ones(1).expand(2**60).dim()", 1, 1),
    Claim("Texts", TEXT, "add: The size of tensor a ", "The size of tensor a "),
    Claim("Texts", "m.tensor([1j, 2]).sort()", NotImplementedError, RuntimeError),
    Claim("Warnings", WARNINGS, 1, 0),
    Claim("Warnings", NOTES, 1, 0),
    Claim("Divisions by zero", "(m.tensor(1.0) / 0).item()", float("inf"), float("inf")),
    Claim(
        "Divisions by zero",
        "warnings.simplefilter('error')\n(m.tensor(1.0) / 0).item()",
        RuntimeWarning,
        float("inf"),
    ),
]


def outcome(program: str, library: Any) -> Any:
    """What a program's last line gives, or the class of the error it ends with."""
    *_, last = program.strip().splitlines()
    scope = {"m": library, "np": np, "warnings": warnings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"tengen\.")
        try:
            exec(program.strip().removesuffix(last), scope)
            return eval(last, scope)
        except Exception as error:
            return type(error)


def named(claims: list[Claim]) -> Callable[[Any], Any]:
    return pytest.mark.parametrize("claim", claims, ids=[c.name for c in claims])


@named(CLAIMS)
def test_here(claim: Claim) -> None:
    assert outcome(claim.program, tengen) == claim.here


@pytest.mark.oracle
@named(CLAIMS)
def test_there(claim: Claim) -> None:
    assert outcome(claim.program, pytest.importorskip("torch")) == claim.there


def test_every_paragraph_has_a_claim() -> None:
    """And every claim a paragraph."""
    paragraphs = re.findall(r"^\*\*(.*?)\.\*\*", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert paragraphs == list(dict.fromkeys(c.name for c in CLAIMS))


@pytest.mark.oracle
def test_what_is_absent_of_library_is_listed(torch: Any) -> None:
    """All that ``torch.library`` offers is there, or is said not to be."""
    text = DOCUMENT.read_text(encoding="utf-8").partition("**Operators of a program.**")[2].partition("**")[0]
    absent = {name for name in torch.library.__all__ if not hasattr(tengen.library, name)}
    assert absent == {name for name in re.findall(r"`(\w+)`", text) if name in absent}
    members = [n for n in dir(torch.library.Library) if not n.startswith("_")]
    assert {n for n in members if not hasattr(tengen.library.Library, n)} == {"register_symm_mem_args"}
    ours = {n for n in dir(tengen.library.CustomOpDef) if not n.startswith("_")}
    assert {n for n in dir(torch.library.CustomOpDef) if not n.startswith("_")} - ours == {"register_effect"}


@pytest.mark.oracle
@pytest.mark.parametrize(
    "module",
    [
        "autograd",
        "autograd.forward_ad",
        "autograd.function",
        "autograd.functional",
        "autograd.gradcheck",
        "autograd.graph",
        "autograd.profiler",
        "func",
    ],
)
def test_what_is_absent_of_autograd_is_listed(module: str) -> None:
    """All that PyTorch's modules offer is there, or is said not to be."""
    pytest.importorskip("torch")
    theirs = importlib.import_module(f"torch.{module}")
    ours = sys.modules.get(f"tengen.{module}") or importlib.import_module(f"tengen.{module}")
    paragraph = DOCUMENT.read_text(encoding="utf-8").partition("**Parts of autograd.**")[2].partition("**")[0]
    listed = set(re.findall(r"`(?:\w+\.)?(\w+)`", paragraph))
    absent = {name for name in theirs.__all__ if not hasattr(ours, name)}
    assert absent <= listed
    assert not {name for name in listed & set(theirs.__all__) if hasattr(ours, name)}
