"""Programs that define operators, written once for torch and tengen: ``T`` is the one or the other.

Each has a namespace of its own, ``ns``. What it puts into ``out`` is compared, and what it raises: the class,
and the message where ``SAYS_ITS_OWN`` does not name the program.
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
    # -- schemas
    "a schema of all types": """
        out = T.library.infer_schema(annotated('''
        def f(x: Tensor, xs: List[Tensor], ys: Sequence[Optional[Tensor]], fl: List[float],
              il: Optional[List[int]], o: Optional[Tensor] = None, d: Optional[T.dtype] = None,
              dd: Optional[T.device] = None, s: "str" = "a", b: bool = False, *, k: float = 1e-5
              ) -> Tuple[Tensor, int]:
            pass
        '''.strip()), mutates_args=("x", "xs"), op_name="foo")
    """,
    "no annotation": "T.library.infer_schema(annotated('def f(x) -> Tensor: pass'), mutates_args=())",
    "no returned annotation": "T.library.infer_schema(annotated('def f(x: Tensor): pass'), mutates_args=())",
    "a dict": "T.library.infer_schema(annotated('def f(x: dict) -> Tensor: pass'), mutates_args=())",
    "loose arguments": """
        T.library.infer_schema(annotated('def f(*x: Tensor) -> Tensor: pass'), mutates_args=())
    """,
    "a string returned": """
        T.library.infer_schema(annotated('def f(x: Tensor) -> str: pass'), mutates_args=())
    """,
    "a number is mutated": """
        T.library.infer_schema(annotated('def f(x: int) -> Tensor: pass'), mutates_args=('x',))
    """,
    "what is not there is mutated": """
        T.library.infer_schema(annotated('def f(x: int) -> Tensor: pass'), mutates_args=('y',))
    """,
    "one name is mutated": """
        T.library.infer_schema(annotated('def f(x: Tensor) -> Tensor: pass'), mutates_args='x')
    """,
    "a default list": """
        f = annotated('def f(x: Tensor, n: List[int] = [1]) -> Tensor: pass')
        T.library.infer_schema(f, mutates_args=())
    """,
    "tensors by keyword": """
        T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor, *, y: Tensor) -> Tensor: return x"),
            mutates_args=())
    """,
    "a schema of one's own": """
        schema = "(Tensor x, int n) -> (Tensor, Tensor)"
        f = T.library.custom_op(f'{ns}::f', lambda x, n: (x * n, x + n), mutates_args=(), schema=schema)
        out = [f(y, 3), str(ops().f.default._schema)]
    """,
    "a schema that mutates": """
        T.library.custom_op(f'{ns}::f', lambda x: x, mutates_args=(), schema='(Tensor(a!) x) -> Tensor')
    """,
    "spaces in a schema": """
        lib = library()
        lib.define("d( Tensor  x ,int[2] n = 1,*, str s= 'a  b' )->Tensor")
        lib.impl("d", lambda x, n=[1, 1], s="a  b": seen.append((n, s)) or x + 1, "CPU")
        out = [ops().d(y), ops().d(y, [3, 4], s="c"), seen]
    """,
    "not a schema": "library().define('foo(Tensor x -> Tensor')",
    "an unknown type": "library().define('foo(Tensr x) -> Tensor')",
    "no arguments": "library().define('foo')",
    # -- libraries
    "defined twice": """
        lib = library()
        lib.define('d(Tensor x) -> Tensor')
        lib.define('d(Tensor x) -> Tensor')
    """,
    "an unknown kind": "T.library.Library(ns, 'NOPE')",
    "a reserved name": "T.library.Library('prim', 'FRAGMENT')",
    "two of the kind DEF": "library('DEF'); library('DEF')",
    "defined where functions go": "library('IMPL').define('d(Tensor x) -> Tensor')",
    "an unknown alias analysis": "library().define('d(Tensor x) -> Tensor', 'X')",
    "no function": "lib = library(); lib.define('d(Tensor x) -> Tensor'); lib.impl('d', 3, 'CPU')",
    "an unknown key": """
        lib = library()
        lib.define('d(Tensor x) -> Tensor')
        lib.impl('d', lambda x: x, 'Nope')
    """,
    "no kernel": "lib = library(); lib.define('d(Tensor x) -> Tensor'); ops().d(y)",
    "no kernel without data": """
        lib = library()
        lib.define('d(Tensor x) -> Tensor')
        ops().d(T.empty(3, device='meta'))
    """,
    "no tensors": """
        lib = library()
        lib.define('d() -> Tensor')
        lib.impl('d', lambda: T.ones(2), 'CPU')
        ops().d()
    """,
    "a kernel for all": """
        lib = library()
        lib.define('d() -> Tensor')
        lib.impl('d', lambda: T.ones(2), 'CompositeExplicitAutograd')
        out = ops().d()
    """,
    "a function before its operator": """
        lib = library()
        lib.impl('d', lambda x: x * 2, 'CPU')
        lib.define('d(Tensor x) -> Tensor')
        out = ops().d(y)
    """,
    "no override": """
        lib = library()
        lib.define('d(Tensor x) -> Tensor')
        lib.impl('d', lambda x: x, 'CPU')
        lib.impl('d', lambda x: x, 'CPU', allow_override=False)
    """,
    "a key of the library": """
        lib = library()
        lib.define('d(Tensor x) -> Tensor')
        lib = T.library.Library(ns, 'IMPL', 'CPU')
        lib.impl('d', lambda x: x * 2)
        out = [repr(lib), ops().d(y)]
    """,
    "overloads": """
        lib = library()
        for text in ("ov(Tensor x)", "ov.Scalar(Tensor x, Scalar y)", "ov.str(Tensor x, str y)"):
            out.append(lib.define(f"{text} -> Tensor"))
        lib.impl("ov", lambda x: x + 100, "CPU")
        lib.impl("ov.Scalar", lambda x, y: x + y, "CPU")
        lib.impl("ov.str", lambda x, y: x * len(y), "CPU")
        ov = ops().ov
        out += [ov.overloads(), ov(y), ov(y, 2.5), ov(y, "abc"), ov.Scalar(y, 1)]
        out += [repr(ov.Scalar), ov.Scalar.name()]
    """,
    "no such overload": "lib = library(); lib.define('d(Tensor x) -> Tensor'); ops().d.other",
    "no overload fits": """
        lib = library()
        lib.define('d(Tensor x) -> Tensor')
        lib.define('d.two(Tensor x, int n) -> Tensor')
        ops().d(y, 'a')
    """,
    "destroyed": """
        lib = library()
        lib.define('d(Tensor x) -> Tensor')
        lib._destroy()
        lib.define('e(Tensor x) -> Tensor')
    """,
    "defined anew": """
        sine(f'{ns}::s')
        T.library.custom_op(f'{ns}::s', lambda x: x * 2, mutates_args=(), schema='(Tensor x) -> Tensor')
        out = ops().s(y)
    """,
    "the function define": """
        T.library.define(f"{ns}::d", "(Tensor x) -> Tensor")
        T.library.impl(f"{ns}::d", "cpu")(lambda x: x * 3)
        out = [ops().d(y)]; T.library.impl(f"{ns}::d", "default", lambda x: x * 5); out.append(ops().d(y))
    """,
    "define decorates": """
        lib = library()
        @T.library.define(lib, "d(Tensor x) -> Tensor")
        def d(x):
            return x * 2
        @T.library.impl(lib, "d", "CPU")
        def d_cpu(x):
            return x * 3
        out = ops().d(y)
    """,
    "define without a namespace": "T.library.define('d', '(Tensor x) -> Tensor')",
    "define without a schema": "T.library.define(f'{ns}::d', 'Tensor x -> Tensor')",
    "define of a number": "T.library.define(3, '(Tensor x) -> Tensor')",
    "a device that is none": """
        T.library.define(f'{ns}::d', '(Tensor x) -> Tensor')
        T.library.impl(f'{ns}::d', 'nodevice', lambda x: x)
    """,
    "register_kernel": "f = sine(f'{ns}::s'); f.register_kernel('cpu')(lambda x: x * 7); out = f(y)",
    "a kernel of a number": "T.library.register_kernel(3, 'cpu', lambda x: x)",
    "a kernel is disabled": """
        f = sine(f'{ns}::s'); f.register_kernel('cpu')(lambda x: x * 7)
        with f.set_kernel_enabled('cpu', enabled=False):
            out = [f(y)]
        out.append(f(y))
    """,
    "devices": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(device: T.device) -> Tensor: return T.ones(2, device=device)"),
            mutates_args=(), device_types="cpu")
        out = [f("cpu"), f(T.device("cpu"))]; f("meta")
    """,
    "devices without an argument": """
        T.library.custom_op(
            f'{ns}::f',
            annotated("def f() -> Tensor: return T.ones(2)"),
            mutates_args=(), device_types="cpu")
    """,
    "get_kernel": """
        lib = library(); lib.define("d(Tensor x) -> Tensor"); lib.impl("d", lambda x: x * 2, "CPU")
        before = T.library.get_kernel(f"{ns}::d", "CPU")
        lib.impl("d", lambda keys, x: before.call_boxed(keys, x) + 1, "CPU", with_keyset=True)
        out = ops().d(y)
    """,
    "get_kernel of nothing": "T.library.get_kernel(f'{ns}::d', 'CPU')",
    "get_kernel of no key": """
        lib = library()
        lib.define('d(Tensor x) -> Tensor')
        T.library.get_kernel(f'{ns}::d', 'Nope')
    """,
    "fallthrough_kernel is not called": "T.library.fallthrough_kernel()",
    "a fallback elsewhere": "library('IMPL').fallback(lambda op, *args: 1, 'CPU')",
    # -- tensors without data
    "a fake": """
        f = sine(f'{ns}::s')
        f.register_fake(lambda x: T.empty_like(x))
        r = f(T.empty(3, device='meta'))
        out = [tuple(r.shape), str(r.device)]
    """,
    "no fake": "sine(f'{ns}::s')(T.empty(3, device='meta'))",
    "a fake twice": """
        lib = library()
        lib.define("d(Tensor x) -> Tensor")
        T.library.register_fake(f"{ns}::d", lambda x: x + 1)
        T.library.register_fake(f"{ns}::d", lambda x: x + 1, allow_override=False)
    """,
    "a fake asks for a size": """
        lib = library(); lib.define("d(Tensor x) -> Tensor")
        T.library.register_fake(f"{ns}::d", lambda x: x.new_empty(T.library.get_ctx().new_dynamic_size()))
        out = T.library.get_ctx(); ops().d(T.empty(3, device='meta'))
    """,
    "nothing to fake": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> None: x.zero_()"),
            mutates_args=("x",))
        out = f(T.empty(3, device='meta'))
    """,
    # -- vmap
    "a batching rule": """
        f = sine(f'{ns}::s')
        @f.register_vmap
        def rule(info, in_dims, x):
            seen.append((info.batch_size, info.randomness, in_dims, tuple(x.shape)))
            return f(x), in_dims[0]
        z = T.arange(6.0).reshape(2, 3)
        out = [T.vmap(f)(z), T.vmap(f, in_dims=1)(z), T.vmap(T.vmap(f))(z), seen]
    """,
    "a rule with lists and keywords": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated('''
        def f(xs: List[Tensor], n: int, *, k: float = 1.0) -> Tuple[Tensor, Tensor]:
            return xs[0] * n, xs[1] * k
        '''.strip()),
                                mutates_args=())
        @f.register_vmap
        def rule(info, in_dims, xs, n, *, k=1.0):
            seen.append((in_dims, n, k))
            return f(xs, n, k=k), (0, None)
        z = T.arange(6.0).reshape(2, 3)
        out = [T.vmap(lambda a: f([a, y], 2, k=3.0))(z), seen]
    """,
    "no rule": "f = sine(f'{ns}::s'); out = T.vmap(f)(T.arange(6.0).reshape(2, 3))",
    "no rule for what writes": """
        f = T.library.custom_op(
            f'{ns}::f',
            annotated("def f(x: Tensor) -> None: x.zero_()"),
            mutates_args=("x",))
        T.vmap(lambda a: (f(a), a)[1])(T.ones(2, 3))
    """,
    "a rule that returns one thing": """
        f = sine(f'{ns}::s')
        f.register_vmap(lambda info, dims, x: f(x))
        T.vmap(f)(T.ones(2, 3))
    """,
    "a rule with other dimensions": """
        f = sine(f'{ns}::s')
        f.register_vmap(lambda info, dims, x: (f(x), (0, 0)))
        T.vmap(f)(T.ones(2, 3))
    """,
    # -- opcheck
    "opcheck": """
        f = sine(f'{ns}::s')
        f.register_autograd(cosine, setup_context=keeps)
        f.register_fake(lambda x: T.empty_like(x))
        out = T.library.opcheck(f, (x,))
    """,
    "opcheck finds a write": """
        lib = library()
        lib.define("d(Tensor x) -> Tensor")
        lib.impl("d", lambda x: x.add_(1).clone(), "CPU")
        found = T.library.opcheck(ops().d, (y,), test_utils=("test_schema",), raise_exception=False)
        out = {k: type(v).__name__ for k, v in found.items()}
        T.library.opcheck(ops().d, (y,), test_utils="test_schema")
    """,
    "opcheck finds an alias": """
        lib = library(); lib.define("d(Tensor x) -> Tensor"); lib.impl("d", lambda x: x[:1], "CPU")
        T.library.opcheck(ops().d.default, (y,), test_utils="test_schema")
    """,
    "opcheck finds a derivative in the wrong place": """
        lib = library(); lib.define("d(Tensor x) -> Tensor"); lib.impl("d", lambda x: x * 2, "CPU")
        T.library.opcheck(ops().d.default, (x,), test_utils="test_autograd_registration")
    """,
    "opcheck finds no fake": "f = sine(f'{ns}::s'); T.library.opcheck(f, (y,), test_utils='test_faketensor')",
    "opcheck of another test": "f = sine(f'{ns}::s'); T.library.opcheck(f, (y,), test_utils='test_nothing')",
    "opcheck of a function": "T.library.opcheck(T.sin, (y,))",
    "opcheck with one tolerance": "f = sine(f'{ns}::s'); T.library.opcheck(f, (y,), atol=1e-3)",
}  # fmt: skip

#: Programs whose errors say the same in other words: PyTorch's are of its dispatcher, casters or parser.
SAYS_ITS_OWN = frozenset(
    {
        "a number for a tensor",  # less: what casting says
        "a dict",  # the types that there are, one of torch.distributed among them
        "a default list",  # less: where to file an issue
        "a device that is none",  # the devices that there are
        "a fake asks for a size",
        "a fake twice",  # the place of the first
        "a kernel of a number",
        "a name too many",
        "a reserved name",
        "a rule that returns one thing",
        "a rule with other dimensions",
        "a string returned",
        "a schema that mutates",  # set() where nothing is
        "a write to what is saved",
        "an unknown key",
        "an unknown type",
        "define without a namespace",
        "defined twice",
        "defined where functions go",
        "destroyed",
        "devices",
        "no arguments",
        "no fake",
        "no kernel",
        "no kernel without data",
        "no overload fits",
        "no tensors",
        "not a schema",
        "one for two",
        "opcheck finds a derivative in the wrong place",
        "opcheck finds no fake",
        "opcheck of a function",
        "something for nothing",
        "two for one",
        "two of the kind DEF",
        "what is saved is guarded",
        "a gradient too few",
    }
)
