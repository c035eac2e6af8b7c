"""More programs as in operator_programs.py: of schemas, libraries, tensors without data, vmap and opcheck.

Of an error the class is compared, and the message where ``SAYS_ITS_OWN`` does not name the program.
"""

from __future__ import annotations

PROGRAMS: dict[str, str] = {
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
    "what is registered for several keys": """
        import itertools
        KEYS = ("CPU", "Meta", "CompositeExplicitAutograd", "CompositeImplicitAutograd", "Autograd",
                "AutogradCPU", "formula")
        def attempt(run):
            seen.clear()
            try:
                found = run()
            except NotImplementedError:
                found = "none"
            out.append((*seen, found))
        def gradient():
            v = T.ones(2, requires_grad=True)
            f(v).sum().backward()
            return v.grad
        def quiet(mode):
            with mode():
                return f(x).requires_grad
        lib = library()
        for number, chosen in enumerate(c for n in range(5) for c in itertools.combinations(KEYS, n)):
            lib.define(f"f{number}(Tensor x) -> Tensor")
            lib.define(f"empty{number}() -> Tensor")
            f, nothing = getattr(ops(), f"f{number}"), getattr(ops(), f"empty{number}")
            for key in chosen:
                if key == "formula":
                    T.library.register_autograd(f"{ns}::f{number}", lambda ctx, g: g * 5, lib=lib)
                    continue
                lib.impl(f"f{number}", lambda x, key=key: seen.append(key) or x.sin(), key)
                lib.impl(f"empty{number}", lambda key=key: seen.append(key) or T.ones(2), key)
            out.append(chosen)
            attempt(lambda: f(y))
            attempt(gradient)
            attempt(lambda: quiet(T.no_grad))
            attempt(lambda: quiet(T.inference_mode))
            attempt(lambda: str(f(T.empty(2, device="meta", requires_grad=True)).device))
            attempt(nothing)
        lib._destroy()
    """,
    "a formula and a function for Autograd, the last counts": """
        lib = library(); lib.define("d(Tensor x) -> Tensor"); lib.impl("d", lambda x: x * 2, "CPU")
        more = T.library.Library(ns, "FRAGMENT")
        def gradient():
            v = T.ones(2, requires_grad=True)
            ops().d(v).sum().backward()
            return v.grad
        lib.impl("d", lambda x: x * 3, "Autograd")
        T.library.register_autograd(f"{ns}::d", lambda ctx, g: g * 5, lib=lib)
        out.append(gradient())
        lib.impl("d", lambda x: x * 7, "Autograd")
        out.append(gradient())
        kernel = T.library.get_kernel(f"{ns}::d", "AutogradCPU")
        lib._destroy()
    """,
    "get_kernel of keys of autograd": """
        lib = library()
        for name, key in (("a", "CPU"), ("b", "CompositeImplicitAutograd"), ("c", "Autograd")):
            lib.define(f"{name}(Tensor x) -> Tensor")
            lib.impl(name, lambda x, key=key: seen.append(key) or x * 2, key)
            before = T.library.get_kernel(f"{ns}::{name}", "AutogradCPU")
            more = lambda keys, x, before=before: before.call_boxed(keys, x) + 1
            lib.impl(name, more, "AutogradCPU", with_keyset=True)
            out.append(getattr(ops(), name)(y))
        out.append(seen)
    """,
    "get_kernel of a key for several": """
        lib = library(); lib.define("d(Tensor x) -> Tensor")
        lib.impl("d", lambda x: x * 2, "CompositeImplicitAutograd")
        T.library.get_kernel(f"{ns}::d", "CompositeImplicitAutograd")
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
        "one gradient for a list",  # with what is no argument
        "numbers for lists and lists for numbers",
        "a float for an int",
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
