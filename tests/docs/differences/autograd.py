"""The claims of the section "Autograd"."""

from __future__ import annotations

from differences.claim import Claim

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
COUNTED = """
import importlib
x, y = m.ones(2, 2, requires_grad=True), m.ones(2, 2, requires_grad=True)
counter = importlib.import_module(m.__name__ + ".utils.flop_counter").FlopCounterMode(display=False)
with counter:
    {}
([str(op) for op in counter.get_flop_counts().get("Global", ())], counter.get_total_flops())
"""
TWO_GRADS = """
x, y = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
seed = m.ones(2)
a, b = m.autograd.grad(x + y, (x, y), seed)
[a.data_ptr() == b.data_ptr(), a.data_ptr() == seed.data_ptr()]
"""
NODES = """
x, F = m.ones(1, 1, 4, 4, requires_grad=True), m.nn.functional
name = F.linear(x[0, 0], m.ones(4, 4), m.ones(4)).grad_fn.name()
[name, len((x * 2).grad_fn.next_functions)]
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
def frozen(z):
    with m.no_grad():
        y = z * z
    return y * z
"""
CUT_OFF = """
first = func.grad(lambda x: (cut(x * 2) * x * x).sum())
func.grad(lambda x: first(x).sum())(x).tolist()
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
PARAMETRIZED = """
from copy import deepcopy
from importlib import import_module
P = import_module(m.__name__ + ".nn.utils.parametrize")
net = m.nn.Linear(2, 3)
class Half(m.nn.Module):
    def forward(self, x):
        return x.double() if self.wrong else x * 2
    def right_inverse(self, x):
        return x / 2
Half.wrong = False
"""
COPIED = (
    PARAMETRIZED
    + """
P.register_parametrization(net, "weight", Half())
P.remove_parametrizations(deepcopy(net), "weight")
tuple(net.weight.shape)
"""
)
REFUSED = (
    PARAMETRIZED
    + """
Half.wrong = True
net.register_buffer("scale", m.ones(2))
try:
    P.register_parametrization(net, "scale", Half())
except ValueError:
    pass
net.scale.tolist()
"""
)
PRUNED = """
from importlib import import_module
prune = import_module(m.__name__ + ".nn.utils.prune")
net = prune.l1_unstructured(m.nn.Linear(2, 3), "weight", 2)
try:
    prune.l1_unstructured(net, "weight", 1, importance_scores=m.ones(1))
except AssertionError:
    pass
prune.is_pruned(net)
"""
SMALL_ANGLE = """
x = m.tensor(1e-25, requires_grad=True)
m.atan2(x, m.tensor(1e-25)).backward()
4.99e24 < x.grad.item() < 5.01e24
"""
LARGE_ARSINH = """
x = m.tensor(1e20, requires_grad=True)
m.asinh(x).backward()
0.99e-20 < x.grad.item() < 1.01e-20
"""
CLAIMS = [
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
    Claim("Derivatives at single points", SMALL_ANGLE, True, False),
    Claim("Derivatives at single points", LARGE_ARSINH, True, False),
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
    Claim(
        "Operations that are counted",
        COUNTED.format("m.nn.Bilinear(2, 3, 4, bias=False)(m.ones(5, 2), m.ones(5, 3)).sum()"),
        (["aten.mm"], 2 * 5 * 2 * 3 * 4),
        ([], 0),
    ),
    Claim(
        "Operations that are counted",
        COUNTED.format("m.autograd.grad((x @ y).sum(), x)"),
        (["aten.mm"], 3 * 2 * 8),
        (["aten.mm"], 2 * 2 * 8),
    ),
    Claim("Gradients own their memory", TWO_GRADS, [False, False], [True, True]),
    Claim("Dtypes of gradients", GRAD_DTYPE + "copy.deepcopy(x).grad.tolist()", [2.0, 2.0], RuntimeError),
    Claim("Dtypes of gradients", ANY_DTYPE, True, False),
    Claim(
        "Nodes",
        NODES,
        ["LinearBackward0", 1],
        ["AddmmBackward0", 2],
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
    Claim(
        "Transforms of functions",
        "m.vmap(lambda x: (x * 2).detach_())(m.ones(2)).tolist()",
        [2.0, 2.0],
        RuntimeError,
    ),
    *(
        Claim("Transforms of functions", f"{FUNC}def cut(y):\n    {cut}\n{CUT_OFF}", [4.0, 8.0], [8.0, 16.0])
        for cut in ("return y.data", "y.detach_()\n    return y")
    ),
    Claim("Transforms of functions", FUNC + "func.linearize(counts, x)\nlen(calls)", 1, 2),
    Claim(
        "Transforms of functions",
        FUNC + "func.linearize(frozen, x)[1](m.ones(2)).tolist()",
        [1.0, 4.0],
        [3.0, 12.0],
    ),
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
    Claim(
        "Transforms of functions",
        FUNC + "func.functionalize(lambda x: x.add_(1))(x) is x",
        True,
        False,
    ),
    Claim(
        "Transforms of functions",
        FUNC + "func.functionalize(lambda x, y: x.add_(1))(x, x[:]).tolist()",
        RuntimeError,
        [2.0, 3.0],
    ),
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
    Claim("Operators of a program", "hasattr(m.library, 'triton_op')", False, True),
    Claim("Gradcheck", GRADCHECK + "check(lambda x: (x.argmax(), x * 2), x)", True, IndexError),
    Claim("Gradcheck", GRADCHECK + "check(lambda x: (x * 2, None), x)", TypeError, AttributeError),
    Claim("Optimisers", LBFGS, True, False),
    Claim("Optimisers", SCHEDULE, 0.5, 0.1),
    Claim("Optimisers", ADAMAX, True, RuntimeError),
    Claim("Parametrized and pruned modules", COPIED, (3, 2), AttributeError),
    Claim("Parametrized and pruned modules", REFUSED, [1.0, 1.0], [0.5, 0.5]),
    Claim("Parametrized and pruned modules", PRUNED, True, False),
]
