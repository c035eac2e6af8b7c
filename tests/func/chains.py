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
def in_place_of_a_clone(m: Any, x: Any) -> Any:
    return x.clone().mul_(x).add_(x.sin(), alpha=2)


@function
def element_to_element(m: Any, x: Any) -> Any:
    z = x * x
    z[0] = x[1]
    return z * x


@function
def into_zeros(m: Any, x: Any) -> Any:
    z = m.zeros_like(x)
    z[1:] = x[:-1] * x[1:]
    z[:1].add_(x[1:2] ** 3)
    return z


@function
def views_written_to(m: Any, x: Any) -> Any:
    y = x.clone()
    y.view(2, 1)[1].mul_(x[0])
    y.unsqueeze(0).t()[0] = x[1].exp()
    return y * x


@function
def concatenated(m: Any, x: Any) -> Any:
    return (m.cat([x, x * x, x[:1]]) ** 3)[1:]


@function
def stacked(m: Any, x: Any) -> Any:
    a, b = m.stack([x, x.sin() * x]).unbind(1)
    return a * b + m.hstack([b[:1], a[1:]])


@function
def split(m: Any, x: Any) -> Any:
    a, b = (x * x.sum()).split(1)
    return m.cat([b * a, a.exp()])


@function
def put(m: Any, x: Any) -> Any:
    at = m.tensor([1, 0, 1])
    y = x.index_put((at,), m.cat([x * x, x[:1]]), accumulate=True)
    return y.scatter_add(0, at[:2], x.cos()).index_select(0, at) ** 2


@function
def expanded(m: Any, x: Any) -> Any:
    return (x.unsqueeze(-1).expand(-1, 3).tril() * x.flip(0).unsqueeze(1)).movedim(0, 1).reshape(-1)


@function
def strided(m: Any, x: Any) -> Any:
    return m.as_strided(x * x, (2, 2), (1, 0)) * m.as_strided(x.sin(), (2, 2), (0, 1))


@function
def detached(m: Any, x: Any) -> Any:
    return (x * x).detach() * x * x


@function
def written_under_no_grad(m: Any, x: Any) -> Any:
    y = x * x
    with m.no_grad():
        y.mul_(x)
        y[0] = 2 * y[1]
    return y * x


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
