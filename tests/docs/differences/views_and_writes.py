"""The claims of the section "Views and writing in place"."""

from __future__ import annotations

from differences.claim import Claim

RESIZED = """
import warnings
out = m.ones(2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    m.bernoulli(m.ones(3), out=out)
any("was resized" in str(w.message) for w in caught)
"""
EXPANDED_FLOATS = "x = m.ones(2)\nout = m.zeros(1).expand(5)\n"
EXPANDED = "x = m.arange(2)\nout = m.zeros(1, dtype=m.int64).expand(5)\n"
NO_GRAD_VIEW = """
x = m.ones(2, requires_grad=True).clone()
with m.no_grad():
    view = x[0]
"""
INFERENCE_VIEW = NO_GRAD_VIEW.replace("no_grad", "inference_mode")
UNBOUND = """
x = m.ones(2, requires_grad=True).clone()
a, b = x.unbind()
x.mul_(2)
"""
RAISES = """
x, left = m.ones(2), [2.0]
try:
    x.apply_(lambda v: left.pop())
except IndexError:
    pass
x.tolist()
"""
CLAIMS = [
    *(
        Claim("Views of no_grad", view + "view.requires_grad", False, True)
        for view in (NO_GRAD_VIEW, INFERENCE_VIEW)
    ),
    Claim("Views whose base was written", UNBOUND + "(a * 2).item()", 4.0, RuntimeError),
    Claim("Views whose base was written", UNBOUND + "(a * 2).backward()", RuntimeError, RuntimeError),
    Claim("Views whose base was written", UNBOUND + "a.grad_fn", RuntimeError, RuntimeError),
    *(
        Claim("Views whose base was written", f"{view}x.mul_(2)\n{use}", here, RuntimeError)
        for view in (NO_GRAD_VIEW, INFERENCE_VIEW)
        for use, here in (
            ("(view * 2).item()", 4.0),
            ("view.grad_fn", RuntimeError),
            ("(view * 2).backward()", RuntimeError),
        )
    ),
    Claim("Expanded memory", "m.zeros(1).expand(3).copy_(m.ones(1)).tolist()", RuntimeError, RuntimeError),
    Claim("Expanded memory", "m.zeros(1).expand(3).zero_().tolist()", [0.0] * 3, [0.0] * 3),
    Claim("Expanded memory", "x = m.zeros(1).expand(3)\nx[0:2] = 4\nx.tolist()", RuntimeError, RuntimeError),
    Claim("Expanded memory", "m.zeros(1).expand(3).fill_(2).tolist()", [2.0] * 3, [2.0] * 3),
    *(
        Claim(
            "Expanded memory", f"out = m.full((1,), 7.0).expand(2)\nm.{call}, out=out).tolist()", here, here
        )
        for call, here in (("full((2,), 3.0", [3.0] * 2), ("ones(2", [1.0] * 2), ("zeros(2", [0.0] * 2))
    ),
    Claim(
        "Expanded memory",
        "m.eye(2, out=m.zeros(1).expand(2, 2)).tolist()",
        RuntimeError,
        [[1.0, 1.0], [1.0, 1.0]],
    ),
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
    Claim("Functions of elements", "m.ones(2).apply_(abs)._version", 1, 0),
    Claim("Functions of elements", RAISES, [1, 1], [2, 1]),
    Claim("Other memory", "v = m.ones(4).view(2, 2)\nv.set_(m.ones(3))\nv._is_view()", False, True),
    Claim("Other memory", "x = m.ones(4)\nv = x.view(2, 2)\nx.set_(m.ones(3))\nv._base.shape", (4,), (3,)),
    Claim(
        "Gradients and `out=`",
        "x, out = m.ones(1, requires_grad=True), m.zeros(())\nm.unbind_copy(x, out=[out])\nout.requires_grad",
        RuntimeError,
        False,
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
    Claim("Outputs that are resized", RESIZED, True, False),
    *(
        Claim(
            "Sparse outputs",
            f"m.ones(2, 2, out=m.eye(2).{to}()).to_dense().tolist()",
            NotImplementedError,
            [[1.0, 0.0], [0.0, 1.0]],
        )
        for to in ("to_sparse_csr", "to_sparse_csc")
    ),
    Claim(
        "Sparse outputs",
        "m.empty(2, 2, out=m.eye(2).to_sparse_csr()).to_dense().tolist()",
        [[0.0, 0.0], [0.0, 0.0]],
        [[1.0, 0.0], [0.0, 1.0]],
    ),
    *(
        Claim(
            "Outputs with gaps or more dimensions",
            f"{out}\nm.fft.fftfreq(4, out=out).flatten().tolist()",
            here,
            there,
        )
        for out, here, there in (
            ("out = m.zeros(8)[::2]", [0, 0.25, -0.5, -0.25], [0, 0.25, -0.5, 0.75]),
            ("out = m.zeros(1, 4)", [0, 0.25, -0.5, -0.25], [0, 0.25, 0.5, 0.75]),
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
]
