"""The claims of the section "What is not there"."""

from __future__ import annotations

from differences.claim import Claim

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
        "fx", "export", "quantize_per_tensor", "Tensor.rename",
    ]),
)  # fmt: skip
AUTOCAST = """
x, layer = m.ones(2, 3), m.nn.Linear(3, 3)
def nested():
    with m.autocast("cpu"):
        layer(x)
        with m.autocast("cpu", dtype=m.float16):
            return layer(x).dtype is m.float16
def pinv():
    with m.autocast("cpu"):
        return m.linalg.pinv(x).dtype is m.float32
def batched():
    with m.autocast("cpu"):
        return m.func.vmap(layer)(x).dtype is m.bfloat16
"""
SHUFFLED = """
from importlib import import_module
data = import_module(m.__name__ + ".utils.data")
list(data.RandomSampler(range(8), generator=m.Generator().manual_seed(5))) != [3, 6, 0, 2, 1, 4, 5, 7]
"""
NO_TYPES_OF_PIPES = """
from importlib import import_module
data = import_module(m.__name__ + ".utils.data")
class Pipe(data.IterDataPipe):
    @data.runtime_validation
    def __iter__(self):
        yield from "ab"
list(Pipe())
"""
NO_AUTOGRAD = ABSENT.replace(
    "NAMES",
    repr([
        "autograd.function.NestedIOFunction", "autograd.profiler.emit_nvtx", "func.rearrange",
    ]),
)  # fmt: skip
NO_TYPES = ABSENT.replace(
    "NAMES",
    repr([
        "bits8", "int4", "quint8",
    ]),
)  # fmt: skip
FLOAT8 = """
x = m.tensor([2.0, 3.0], dtype=m.float8_e4m3fn)
"""
FLOAT8_GRADIENT = """
x = m.tensor([2.0, 3.0], dtype=m.float8_e4m3fn, requires_grad=True)
m.cat([x, x]).float().sum().backward()
x.grad.tolist()
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
OUT_OF_BOUNDS = "m.sparse_coo_tensor([[2]], [1.0], (2,)).shape[0]"
IMAGE = "x = m.ones(2, 3, 4, 5).to(memory_format=m.channels_last).requires_grad_()\n"
MASKED = "x, mask = m.ones(3), m.tensor([True, True, False])\n"
IN_COMPILED = """
f = m.compile(lambda x: x + m.compiler.is_compiling(), backend="eager")
f(m.zeros(1)).item()
"""
CLAIMS = [
    Claim("Not there", NOT_THERE, False, True),
    Claim("Compiling", IN_COMPILED, 0.0, 1.0),
    Claim("Autocast", AUTOCAST + "pinv()", True, False),
    Claim("Autocast", AUTOCAST + "batched()", True, False),
    Claim("Autocast", AUTOCAST + "nested()", True, RuntimeError),
    Claim("Data loading", SHUFFLED, True, False),
    Claim("Data loading", NO_TYPES_OF_PIPES, ["a", "b"], AttributeError),
    Claim("Parts of autograd", NO_AUTOGRAD, False, True),
    Claim("Devices", "[m.device(d).type for d in ('jax', 'dask')]", ["jax", "dask"], RuntimeError),
    Claim("Scalar types", NO_TYPES, False, True),
    Claim("complex32", "m.ones(2).chalf().flip(0).tolist()", [1, 1], NotImplementedError),
    Claim("complex32", "m.ones(2).chalf().sum(dtype=m.complex64).item()", NotImplementedError, 2 + 0j),
    Claim("float8", "m.ones(2, dtype=m.float8_e5m2).sum(dtype=m.float32).item()", NotImplementedError, 2.0),
    Claim("float8", "m.ones(1, 1, dtype=m.float8_e5m2).flip(0).tolist()", NotImplementedError, [[1.0]]),
    Claim("float8", FLOAT8_GRADIENT, [2.0, 2.0], NotImplementedError),
    Claim("float8", FLOAT8 + "(x * x[0]).tolist()", [4.0, 6.0], NotImplementedError),
    Claim("float8", "m.finfo(m.float8_e5m2fnuz).eps", 0.25, 0.125),
    Claim("float8", "str(m.zeros(1, dtype=m.float8_e8m0fnu))[8:11]", "5.8", "0.]"),
    Claim("float8", FLOAT8 + "str(x.numpy().dtype)", "float8_e4m3fn", TypeError),
    Claim("Typed classes", "type(m.DoubleTensor(2)).__name__", "Tensor", "Tensor"),
    Claim("Sizes of storages", "m.ones(3).untyped_storage().resize_(0).nbytes()", 0, 0),
    Claim("Sizes of storages", "x = m.ones(3)\nx.untyped_storage().resize_(4).nbytes()", RuntimeError, 4),
    Claim("Sizes of storages", "x = m.ones(3)\nc = x.__dlpack__()\nx.resize_(9).numel()", RuntimeError, 9),
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
    Claim("Sparse tensors", OUT_OF_BOUNDS, RuntimeError, 2),
    Claim(
        "Sparse tensors",
        "s = m.ones(2, 2).to_sparse(1)\n"
        "m.masked.amax(s, 1, mask=m.tensor([[True, False], [False, True]])).to_dense().tolist()",
        [1.0, 1.0],
        AttributeError,
    ),
    Claim(
        "Sparse tensors",
        "s = m.eye(2).to_sparse()\nm.func.jvp(lambda s: 2 * s, (s,), (s,))[1].to_dense().tolist()",
        [[2.0, 0.0], [0.0, 2.0]],
        NotImplementedError,
    ),
    Claim(
        "Sparse tensors",
        "s = m.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (2, 2))\n"
        "s.sparse_resize_((2, 3), 1, 1)._values()[1, 0].item()",
        3.0,
        4.0,
    ),
    Claim(
        "Sparse tensors",
        "v = m.ones(2, requires_grad=True)\nm.sparse_csr_tensor([0, 1, 2], [0, 1], v).mul_(2)\nv.tolist()",
        RuntimeError,
        [2.0, 2.0],
    ),
    Claim(
        "Sparse tensors",
        "s = m.ones(3, 2, 1, 2).to_sparse(2).sum(2, keepdim=True)\n(s.sparse_dim(), s.dense_dim())",
        (2, 2),
        (3, 1),
    ),
    Claim(
        "Sparse tensors",
        "m.sparse_coo_tensor([[0, 1]], [1.0, 2.0])[1:].to_dense().tolist()",
        [2.0],
        NotImplementedError,
    ),
    Claim(
        "Masked tensors",
        MASKED
        + "t = m.masked.masked_tensor(x, mask, True)\nt[0].sum().backward()\nt.grad.get_mask().tolist()",
        [True, True, False],
        [True, False, False],
    ),
    Claim(
        "Masked tensors",
        MASKED + "y = x.clone().requires_grad_()\nm.masked.as_masked_tensor(y, mask).sum().backward()\n"
        "type(y.grad) is m.Tensor",
        True,
        False,
    ),
    Claim(
        "Masked tensors",
        MASKED + "m.masked.masked_tensor(x, mask).relu().get_data().tolist()",
        [1.0, 1.0, 1.0],
        TypeError,
    ),
    Claim(
        "Memory formats",
        "m.stack([m.ones(2, 3, 4, 5).to(memory_format=m.channels_last)] * 2).stride()",
        (120, 60, 20, 5, 1),
        (120, 60, 1, 15, 3),
    ),
    Claim(
        "Memory formats",
        "(m.ones(2, 1, 3, 3).to(memory_format=m.channels_last) + m.ones(1, 1, 1)).stride()",
        (9, 9, 3, 1),
        (9, 1, 3, 1),
    ),
    *(
        Claim("Memory formats", IMAGE + f"out = m.nn.functional.{call}\n{gradient}", ours, (60, 1, 15, 3))
        for call in ("conv2d(x, m.ones(2, 3, 2, 2))", "avg_pool2d(x, 2)", "group_norm(x, 1)")
        for gradient, ours in (
            ("m.autograd.grad(out.sum(), x)[0].stride()", (60, 20, 5, 1)),
            ("out.sum().backward()\nx.grad.stride()", (60, 1, 15, 3)),
        )
    ),
    Claim("Lazy conjugation", "m.tensor([1j]).conj().is_conj()", False, True),
    Claim(
        "Lazy conjugation", "x = m.tensor([1 + 1j])\ny = x.conj()\nx.mul_(2)\ny.tolist()", [1 - 1j], [2 - 2j]
    ),
    Claim("Lazy conjugation", "bool(m.tensor([1j]).conj().__dlpack__())", True, BufferError),
]
