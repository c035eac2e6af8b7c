"""Chains of transforms: each makes of a function of one tensor another such function.

What they are applied to takes the module, ``tengen`` or ``torch``, so that both can run the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Function = Callable[[Any], Any]
TRANSFORMS: dict[str, Callable[[Any, Function], Function]] = {}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {}


def transform(make: Callable[[Any, Function], Function]) -> Callable[[Any, Function], Function]:
    TRANSFORMS[make.__name__] = make
    return make


def function(body: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    FUNCTIONS[body.__name__] = body
    return body


@transform
def grad(m: Any, f: Function) -> Function:
    def total(x: Any) -> Any:
        y = f(x)
        return (y.abs() ** 2 if y.dtype.is_complex else y).sum()

    found: Function = m.func.grad(total)
    return found


@transform
def vjp(m: Any, f: Function) -> Function:
    def product(x: Any) -> Any:
        y, pull = m.func.vjp(f, x)
        return pull(y.cos())[0]

    return product


@transform
def jvp(m: Any, f: Function) -> Function:
    return lambda x: m.func.jvp(f, (x,), (x * 0.5 + 1,))[1]


@transform
def linearize(m: Any, f: Function) -> Function:
    if m.__name__ == "torch":  # whose own gives zeros where the point is itself differentiated
        return jvp(m, f)
    return lambda x: m.func.linearize(f, x)[1](x * 0.5 + 1)


@transform
def vmap(m: Any, f: Function) -> Function:
    return lambda x: m.func.vmap(f)(m.stack([x, x * 2]))


@transform
def vmap_around(m: Any, f: Function) -> Function:
    """The differentiated tensor comes from outside of the vmap."""
    return lambda x: m.func.vmap(lambda s: f(x * s))(m.tensor([1.0, 2.0], dtype=m.float64))


@transform
def jacrev(m: Any, f: Function) -> Function:
    found: Function = m.func.jacrev(f)
    return found


@transform
def jacrev_in_chunks(m: Any, f: Function) -> Function:
    found: Function = m.func.jacrev(f, chunk_size=2)
    return found


@transform
def jacfwd(m: Any, f: Function) -> Function:
    found: Function = m.func.jacfwd(f)
    return found


@transform
def hessian(m: Any, f: Function) -> Function:
    found: Function = m.func.hessian(f)
    return found


@function
def polynomial(m: Any, x: Any) -> Any:
    return x * x * x + x.sum() * x


@function
def outer(m: Any, x: Any) -> Any:
    return (x.reshape(-1, 1) * x.reshape(1, -1)).sin()


@function
def layer(m: Any, x: Any) -> Any:
    w = m.tensor([[1.0, 2.0], [3.0, -4.0]], dtype=m.float64)
    return (x.reshape(-1, 2) @ w).tanh()


@function
def softmax(m: Any, x: Any) -> Any:
    return m.softmax(x, -1) * x.exp()


@function
def indexed(m: Any, x: Any) -> Any:
    return m.cat([x[1:] * x[:1], x[0].reshape(1) ** 2])


@function
def in_place(m: Any, x: Any) -> Any:
    y = x * 2
    y.mul_(x)
    y[0] = y[0] * 3
    return y


@function
def linear(m: Any, x: Any) -> Any:
    return x * 3 + 1


def chain(m: Any, names: Sequence[str], f: Function) -> Function:
    """The function with the transforms around it, the first innermost."""
    for name in names:
        f = TRANSFORMS[name](m, f)
    return f


INPUTS: dict[str, Callable[[Any], Any]] = {
    "vector": lambda m: m.tensor([0.5, -1.5], dtype=m.float64),
    "scalar": lambda m: m.tensor(0.7, dtype=m.float64),
    "empty": lambda m: m.ones(0, dtype=m.float64),
    "complex": lambda m: m.tensor([0.5 + 1j, -1.5 + 0.5j], dtype=m.complex128),
}
