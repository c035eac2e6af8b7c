"""Programs that define operators, written once for torch and tengen: ``T`` is the one or the other.

Each has a namespace of its own, ``ns``. What it puts into ``out`` is compared, and what it raises. Here are
calls, derivatives and writes; the other half is in library_programs.py.
"""

from __future__ import annotations

HEADER = """
def annotated(text):
    names = dict(globals())
    exec(compile(text, "<annotated>", "exec", dont_inherit=True), names)
    return names["f"]

def sine(name, **given):
    @T.library.custom_op(name, mutates_args=(), **given)
    def f(x: Tensor) -> Tensor:
        return T.from_numpy(np.sin(x.detach().numpy()))
    return f

def keeps(ctx, inputs, output):
    ctx.save_for_backward(*[i for i in inputs if isinstance(i, Tensor)])

def cosine(ctx, grad):
    x, = ctx.saved_tensors
    return grad * x.cos()

def library(kind="FRAGMENT"):
    lib = T.library.Library(ns, kind)
    kept.append(lib)
    return lib

def ops():
    return getattr(T.ops, ns)

x = T.tensor([0.5, -1.0, 2.0], requires_grad=True)
y = T.tensor([1.0, 2.0, 3.0])
"""

PROGRAMS: dict[str, str] = {
    # -- calls
    "a call": "out = sine(f'{ns}::s')(y)",
    "by the packet": "sine(f'{ns}::s'); out = ops().s(y)",
    "by the overload": "sine(f'{ns}::s'); out = ops().s.default(x=y)",
    "what they look like": """
        f = sine(f'{ns}::s')
        out = [repr(f), repr(ops().s), str(ops().s), ops().s.overloads()]
        one = ops().s.default
        out += [repr(one), str(one), str(one._schema), one.name(), one.tags]
    """,
    "a number for a tensor": "sine(f'{ns}::s')(3)",
    "nothing given": "sine(f'{ns}::s')()",
    "too much given": "sine(f'{ns}::s')(y, y)",
    "a name too many": "sine(f'{ns}::s')(y, z=y)",
    "defaults and keywords": """
        f = T.library.custom_op(f'{ns}::f', annotated('''
        def f(x: Tensor, a: float, b: int = 2, *, c: bool = True, d: str = "sum", e: Optional[float] = None,
              dt: T.dtype = T.float64, dev: T.device = T.device("cpu")) -> Tensor:
            seen.append((a, b, c, d, e, str(dt).split(".")[1], str(dev)))
            return (x * a).to(dt)
        '''.strip()), mutates_args=())
        out = [f(y, 2), f(y, 3, b=5, c=False, d="no", e=1), f(y, a=2.5, dt=T.float32), seen]
    """,
    "lists": """
        f = T.library.custom_op(f'{ns}::f', annotated('''
        def f(xs: List[Tensor], n: Sequence[int], w: List[float], o: List[Optional[Tensor]]) -> List[Tensor]:
            seen.append((type(xs).__name__, list(n), list(w), [v is None for v in o]))
            return [a * n[0] for a in xs]
        '''.strip()), mutates_args=())
        out = [f((y, y + 1), [3, 4], (1, 2.5), [None, y]), seen]
    """,
    "several results": """
        f = T.library.custom_op(f'{ns}::f', annotated('''
        def f(x: Tensor) -> Tuple[Tensor, List[Tensor], int, float, bool]:
            return x + 1, [x * 2, x * 3], 4, 5.5, True
        '''.strip()), mutates_args=())
        out = f(y)
    """,
    "no result": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> None: seen.append(x.tolist())"),
            mutates_args=())
        out = [f(y), seen]
    """,
    "None for a tensor": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> Tensor: return None"),
            mutates_args=())
        out = f(y)
    """,
    "two for one": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> Tensor: return x + 1, x"),
            mutates_args=())
        f(y)
    """,
    "one for two": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> Tuple[Tensor, Tensor]: return x + 1"),
                                mutates_args=())
        f(y)
    """,
    "something for nothing": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> None: return x + 1"),
            mutates_args=())
        f(y)
    """,
    "a list for a tuple": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> Tuple[Tensor, Tensor]: return [x + 1, x * 2]"),
                                mutates_args=())
        out = [type(f(y)).__name__, f(y)]
    """,
    # -- derivatives
    "a formula": """
        f = sine(f'{ns}::s'); f.register_autograd(cosine, setup_context=keeps)
        g, = T.autograd.grad(f(x).sum(), x, create_graph=True)
        out = [f(x), g, T.autograd.grad(g.sum(), x)]
    """,
    "no formula": "f = sine(f'{ns}::s'); z = f(x); out = [z, z.grad_fn.name()]; z.sum().backward()",
    "two results, one used": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]: return x * 2, y * 3"),
                                mutates_args=())
        def backward(ctx, a, b):
            seen.append((a.tolist(), b.tolist(), ctx.needs_input_grad))
            return a * 2, b * 3
        f.register_autograd(backward)
        f(x, y)[0].sum().backward()
        out = [x.grad, seen]
    """,
    "integers have no gradient": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]: return x * 2, y.long()"),
                                mutates_args=())
        out = f(x, y)
    """,
    "gradients of lists": """
        f = T.library.custom_op(f'{ns}::f', annotated('''
        def f(xs: List[Tensor], n: int, *, k: float = 1.0) -> List[Tensor]:
            return [a * n * k for a in xs]
        '''.strip()), mutates_args=())
        def setup(ctx, inputs, keyword_only_inputs, output):
            seen.append((type(inputs[0]).__name__, inputs[1], keyword_only_inputs, type(output).__name__))
            ctx.n, ctx.k = inputs[1], keyword_only_inputs["k"]
        def backward(ctx, grads):
            return [g * ctx.n * ctx.k for g in grads], None
        f.register_autograd(backward, setup_context=setup)
        a, b = f([x, y], 2, k=3.0)
        (a.sum() + b.sum()).backward()
        out = [a, b, x.grad, seen]
    """,
    "gradients for what is no tensor": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor, n: int = 2) -> Tensor: return x * n"),
            mutates_args=())
        f.register_autograd(lambda ctx, g: g * 2)
        f(x).sum().backward()
        out = x.grad
    """,
    "a gradient too few": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor, y: Tensor) -> Tensor: return x * y"),
            mutates_args=())
        f.register_autograd(lambda ctx, g: g * 2)
        f(x, y).sum().backward()
    """,
    "what is saved is guarded": """
        f = sine(f'{ns}::s'); f.register_autograd(cosine, setup_context=keeps)
        z = x * 1; r = f(z); z.mul_(2); r.sum().backward()
    """,
    "no gradient is recorded": """
        f = sine(f'{ns}::s'); f.register_autograd(cosine, setup_context=keeps)
        with T.no_grad():
            out = f(x)
    """,
    "a formula for a definition": """
        lib = library(); lib.define("d(Tensor x) -> Tensor"); lib.impl("d", lambda x: x * 2, "CPU")
        T.library.register_autograd(f"{ns}::d", lambda ctx, g: g * 5)
        z = ops().d(x); z.sum().backward()
        out = [z, x.grad]
    """,
    "formulas for what is not functional": """
        lib = library(); lib.define("m_(Tensor(a!) x) -> Tensor(a!)")
        T.library.register_autograd(f"{ns}::m_", lambda ctx, g: g)
    """,
    "saved tensors have hooks": """
        f = sine(f'{ns}::s')
        f.register_autograd(cosine, setup_context=keeps)
        pack = lambda t: seen.append("pack") or t
        unpack = lambda t: seen.append("unpack") or t
        with T.autograd.graph.saved_tensors_hooks(pack, unpack):
            z = f(x)
        z.sum().backward()
        out = [x.grad, seen]
    """,
    "a second backward pass": """
        f = sine(f'{ns}::s')
        f.register_autograd(cosine, setup_context=keeps)
        z = f(x).sum()
        z.backward(retain_graph=True)
        z.backward()
        out = x.grad
        z.backward()
    """,
    "results without gradients": """
        schema = "(Tensor x) -> (Tensor, Tensor)"
        f = T.library.custom_op(f'{ns}::f', lambda x: (x * 2, x * 3), mutates_args=(), schema=schema)
        def setup(ctx, inputs, output):
            ctx.mark_non_differentiable(output[1])
            ctx.set_materialize_grads(False)
        def backward(ctx, a, b):
            seen.append((a is None, b is None))
            return a * 2
        f.register_autograd(backward, setup_context=setup)
        a, b = f(x)
        a.sum().backward()
        out = [a, b, x.grad, seen]
    """,
    "a result is saved": """
        f = T.library.custom_op(f'{ns}::f', lambda x: x.exp(), mutates_args=(), schema="(Tensor x) -> Tensor")
        f.register_autograd(
            lambda ctx, g: g * ctx.saved_tensors[0],
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
        )
        g, = T.autograd.grad(f(x).sum(), x, create_graph=True)
        out = [g, T.autograd.grad(g.sum(), x)[0]]
    """,
    "a checkpoint": """
        import importlib
        checkpoint = importlib.import_module(T.__name__ + ".utils.checkpoint").checkpoint
        f = sine(f'{ns}::s')
        f.register_autograd(cosine, setup_context=keeps)
        checkpoint(lambda v: f(f(v)), x, use_reentrant=False).sum().backward()
        out = x.grad
    """,
    "hooks on the Node": """
        f = sine(f'{ns}::s')
        f.register_autograd(cosine, setup_context=keeps)
        z = f(x)
        z.grad_fn.register_hook(lambda given, taken: seen.append((len(given), len(taken))))
        z.grad_fn.register_prehook(lambda taken: seen.append(taken[0].tolist()))
        z.sum().backward()
        out = [seen, len(z.grad_fn.next_functions), x.grad]
    """,
    "no tensor requires gradients among lists": """
        schema = "(Tensor[] xs) -> Tensor[]"
        f = T.library.custom_op(f'{ns}::f', lambda xs: [a * 2 for a in xs], mutates_args=(), schema=schema)
        f.register_autograd(lambda ctx, gs: gs)
        out = [f([y, y]), f([]), f([y, x])]
    """,
    "gradients of gradients of lists": """
        schema = "(Tensor[] xs) -> Tensor[]"
        f = T.library.custom_op(f'{ns}::f', lambda xs: [a * a for a in xs], mutates_args=(), schema=schema)
        def setup(ctx, inputs, output):
            ctx.save_for_backward(*inputs[0])
        f.register_autograd(
            lambda ctx, gs: [2 * g * v for g, v in zip(gs, ctx.saved_tensors)],
            setup_context=setup,
        )
        g, = T.autograd.grad(f([x, y])[0].sum(), x, create_graph=True)
        out = [g, T.autograd.grad(g.sum(), x)[0]]
    """,
    "None for an element of a list": """
        schema = "(Tensor[] xs) -> Tensor"
        f = T.library.custom_op(f'{ns}::f', lambda xs: xs[0] * 2, mutates_args=(), schema=schema)
        f.register_autograd(lambda ctx, g: [g * 2, None])
        f([x, y]).sum().backward()
        out = x.grad
    """,
    "one gradient for a list": """
        schema = "(Tensor[] xs) -> Tensor"
        f = T.library.custom_op(f'{ns}::f', lambda xs: xs[0] * 2, mutates_args=(), schema=schema)
        f.register_autograd(lambda ctx, g: g * 2)
        f([x, y]).sum().backward()
    """,
    "a gradient for a number": """
        schema = "(Tensor x, int n) -> Tensor"
        f = T.library.custom_op(f'{ns}::f', lambda x, n: x * n, mutates_args=(), schema=schema)
        f.register_autograd(lambda ctx, g: (g, g))
        f(x, 2).sum().backward()
    """,
    "a gradient of another shape": """
        f = sine(f'{ns}::s')
        f.register_autograd(lambda ctx, g: g[:2])
        f(x).sum().backward()
    """,
    "setup_context of other names": """
        f = sine(f'{ns}::s')
        f.register_autograd(cosine, setup_context=lambda c, i, o: None)
        f(x)
    """,
    "the formula is replaced": """
        f = sine(f'{ns}::s')
        f.register_autograd(cosine, setup_context=keeps)
        z = f(x)
        f.register_autograd(lambda ctx, g: g * 7, setup_context=keeps)
        z.sum().backward()
        out = x.grad
    """,
    "inference mode": """
        f = sine(f'{ns}::s')
        f.register_autograd(cosine, setup_context=keeps)
        with T.inference_mode():
            z = f(x)
            out = [z, z.is_inference()]
    """,
    "a complex number": """
        schema = "(Tensor x, Scalar s) -> Tensor"
        f = T.library.custom_op(f'{ns}::f', lambda x, s: x * s, mutates_args=(), schema=schema)
        out = [f(y, 2), f(y, 2.5), f(y, True)]
    """,
    "numbers for lists and lists for numbers": """
        schema = "(Tensor x, int[] n) -> Tensor"
        f = T.library.custom_op(f'{ns}::f', lambda x, n: x * n[0], mutates_args=(), schema=schema)
        out = f(y, [2])
        f(y, 2.5)
    """,
    "a truth value for a number": """
        schema = "(Tensor x, int n) -> Tensor"
        f = T.library.custom_op(f'{ns}::f', lambda x, n: x * n, mutates_args=(), schema=schema)
        out = f(y, True)
    """,
    "a number for a truth value": """
        schema = "(Tensor x, bool n) -> Tensor"
        f = T.library.custom_op(f'{ns}::f', lambda x, n: x * n, mutates_args=(), schema=schema)
        out = f(y, 1)
    """,
    "a float for an int": """
        schema = "(Tensor x, int n) -> Tensor"
        f = T.library.custom_op(f'{ns}::f', lambda x, n: x * n, mutates_args=(), schema=schema)
        f(y, 1.5)
    """,
    "None for a tensor argument": """
        schema = "(Tensor x, Tensor y) -> Tensor"
        f = T.library.custom_op(f'{ns}::f', lambda x, y: y + (x is None), mutates_args=(), schema=schema)
        out = f(None, y)
    """,
    "a kernel that captures what requires gradients": """
        f = T.library.custom_op(f'{ns}::f', lambda a: a * x, mutates_args=(), schema="(Tensor a) -> Tensor")
        lib = library()
        lib.define("d(Tensor a) -> Tensor")
        lib.impl("d", lambda a: a * x, "CPU")
        out = [f(y), ops().d(y), f(x)]
    """,
    "in place of what requires gradients": """
        f = T.library.custom_op(f'{ns}::f', annotated('''
        def f(x: Tensor) -> Tensor:
            x.mul_(2)
            return x
        '''.strip()), mutates_args=("x",), tags=T.Tag.inplace)
        z = x * 1
        r = f(z)
        out = [r is z, r, z, r._base is z, z._version]
    """,
    # -- none
    "nothing registered": """
        lib = library()
        lib.define("d(Tensor x) -> Tensor")
        lib.impl("d", lambda x: T.from_numpy(x.detach().numpy() * 2), "CPU")
        z = ops().d(x); z.sum().backward(); out = [z, x.grad]
    """,
    "nothing registered, but recorded": """
        lib = library()
        lib.define("d(Tensor x) -> (Tensor, Tensor)")
        lib.impl("d", lambda x: (x * 2, x.detach() * 3), "CPU")
        a, b = ops().d(x); out = [a, b]; (a + b).sum().backward(); out.append(x.grad)
    """,
    "a fallthrough": """
        lib = library(); lib.define("d(Tensor x) -> Tensor"); lib.impl("d", lambda x: x * 2, "CPU")
        lib.impl("d", T.library.fallthrough_kernel, "Autograd")
        z = ops().d(x); z.sum().backward(); out = [z, x.grad]
    """,
    "a composite": """
        lib = library(); lib.define("d(Tensor x) -> Tensor"); lib.impl("d", lambda x: (x * 2).sin())
        z = ops().d(x); z.sum().backward(); out = [z, x.grad, ops().d(y)]
    """,
    "written to, nothing registered": """
        lib = library()
        lib.define("m_(Tensor(a!) x) -> Tensor(a!)")
        lib.impl("m_", lambda x: x.mul_(2), "CPU")
        z = x * 1; r = ops().m_(z); out = [r is z, z, z._version]; z.sum().backward(); out.append(x.grad)
    """,
    "a leaf is written to": """
        lib = library()
        lib.define("m_(Tensor(a!) x) -> Tensor(a!)")
        lib.impl("m_", lambda x: x.mul_(2), "CPU")
        ops().m_(x)
    """,
    "a view": """
        lib = library(); lib.define("v(Tensor(a) x) -> Tensor(a)"); lib.impl("v", lambda x: x[:1], "CPU")
        z = ops().v(y); out = [z, z._base is y]; z.zero_(); out.append(y)
    """,
    # -- writes
    "a write": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> None: x.detach().numpy()[...] = 7"),
            mutates_args=("x",))
        out = [f(y), y, y._version, str(ops().f.default._schema), ops().f.default._schema.is_mutable]
    """,
    "a write to a leaf": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> None: x.detach().numpy()[...] = 7"),
            mutates_args=("x",))
        out = [f(x), x, x._version]
    """,
    "a write to what is saved": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> None: x.detach().numpy()[...] = 7"),
            mutates_args=("x",))
        z = x * 1; r = z * z; f(z); r.sum().backward()
    """,
    "a write to unknown": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated('''
        def f(x: Tensor, n: int, ys: List[Tensor], o: Optional[Tensor]) -> Tensor:
            return x + n
        '''.strip()),
                                mutates_args="unknown")
        out = [f(y, 1, [x.detach()], None), y._version, str(ops().f.default._schema)]
    """,
    "in place": """
        f = T.library.custom_op(f'{ns}::f', annotated('''
        def f(x: Tensor) -> Tensor:
            x.mul_(2)
            return x
        '''.strip()), mutates_args=("x",), tags=T.Tag.inplace)
        r = f(y); out = [r is y, y, y._version]
    """,
    "in place, another returned": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> Tensor: return x * 2"),
            mutates_args=("x",), tags=T.Tag.inplace)
        f(y)
    """,
    "an out variant": """
        f = T.library.custom_op(f'{ns}::f', annotated('''
        def f(x: Tensor, *, out: Tensor) -> Tensor:
            out.copy_(x * 2)
            return out
        '''.strip()), mutates_args=("out",), tags=T.Tag.out)
        r = T.empty(3); out = [f(y, out=r) is r, r, str(ops().f.default._schema)]
    """,
    "an out variant of what requires gradients": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor, *, out: Tensor) -> Tensor: return out"),
                                mutates_args=("out",), tags=T.Tag.out)
        f(x, out=T.empty(3))
    """,
    "the argument itself": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> Tensor: return x"),
            mutates_args=())
        f(y)
    """,
    "a view of the argument": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> Tensor: return x[:2]"),
            mutates_args=())
        f(x)
    """,
    "an element of a list": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: List[Tensor]) -> List[Tensor]: return [x[0]]"),
            mutates_args=())
        f([x])
    """,
    "twice the same result": """
        f = T.library.custom_op(f'{ns}::f', annotated('''
        def f(x: Tensor) -> Tuple[Tensor, Tensor]:
            z = x + 1
            return z, z.view(-1)
        '''.strip()), mutates_args=())
        f(y)
    """,
}  # fmt: skip
