"""The errors of routines against exact values, in units in the last place (ulp).

``python tests/kernels/routine_errors.py`` prints them for every function with a routine, and beside them
those of NumPy and torch; ``... exp sin --step 1`` for some, over all 2**32 values of a float32. It needs
llvmlite.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from tengen.ir.lower.kernels import lower_row, write_routine
from tengen.ir.routines import Routine
from tengen.testing.declared import declarations

#: Numbers of which some functions are exact, or not finite, or nothing.
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan)
#: Where functions of one operand bend: dense samples are taken of each.
RANGES = ((-1e-3, 1e-3), (-1, 1), (0.4, 2.5), (-20, 20), (-750, 750), (0.999, 1.001), (-1.001, -0.999))
#: float32 values at a time.
BLOCK = 1 << 21

Array = npt.NDArray[Any]


def declared() -> Mapping[str, Mapping[str, Routine]]:
    """The routines by function and dtype."""
    return declarations().routines


@functools.cache
def compiled(name: str, dtype: str, processor: str = "") -> Callable[..., Array]:
    """A routine as a function of arrays, compiled for the processor at hand, or for one by its name."""
    from tengen.machine_code.compiler import Linker, machine_of, object_code

    operands = declared()[name][dtype].operands
    texts = {f: {d: write_routine(p) for d, p in of.items()} for f, of in declared().items()}
    row = (operands, ("result",), "", f"result = {name}({', '.join(operands)})")
    linker = Linker()
    machine = machine_of(linker.machine.triple, processor) if processor else linker.machine
    address = linker.link(object_code({name: lower_row(name, row, texts, dtype)}, machine), (name,))
    loop = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 5)(address[name])

    def call(*given: Array) -> Array:
        arrays = [np.ascontiguousarray(a, dtype) for a in given]
        result = np.empty_like(arrays[0])
        pointers = np.array([a.ctypes.data for a in (*arrays, result)], np.uintp)
        size, steps = np.array([result.size], np.intp), np.full(len(pointers), result.itemsize, np.intp)
        loop(None, pointers.ctypes.data, size.ctypes.data, steps.ctypes.data, None)
        return result

    return call


# -- exact values ----------------------------------------------------------------------------------


def _quarter_turns(x: Array) -> Array:
    sine, cosine = np.sin(x), np.cos(x)
    flat = np.where(cosine > 0, 0, 2)
    return np.where(
        np.isfinite(x), np.where(np.abs(sine) <= np.abs(cosine), flat, np.where(sine > 0, 1, 3)), np.nan
    )


def _past_quarter_turns(x: Array) -> Array:
    sine, cosine = np.sin(x), np.cos(x)
    return np.where(np.abs(sine) <= np.abs(cosine), np.arctan(sine / cosine), -np.arctan(cosine / sine))


def _cross_entropy(x: Array, y: Array) -> Array:
    no, yes = np.maximum(np.log1p(-x), -100), np.maximum(np.log(x), -100)
    return no * (y - 1) - yes * y


def _fractions(*given: Array) -> tuple[Array, ...]:
    """Numbers in [0, 1] for any; NaN stays."""
    with np.errstate(all="ignore"):
        return tuple(
            [np.where(np.abs(a) <= 1, np.abs(a), np.where(np.isinf(a), 1, np.abs(a) % 1)) for a in given]
        )


def _near(x: Array, y: Array) -> tuple[Array, ...]:
    """Positive numbers, of which the first is less than 2**26 times the second."""
    x, y = _positive(x), _positive(y)
    return np.where(x < y * 2.0**26, x, y * (1 + x % 1)), y


def _far(x: Array, y: Array) -> tuple[Array, ...]:
    """Positive numbers, of which the first is at least 2**26 times the second."""
    x, y = _positive(x), _positive(y)
    x = np.where(x >= y, x, y)
    return np.maximum(x, 1e-300), np.where(x >= y * 2.0**26, y, np.maximum(x, 1e-300) * 2.0**-27)


def _positive(x: Array) -> Array:
    x = np.abs(x)
    return np.where((x > 0) & (x < 1e300), x, 1.0)


#: What operands become of functions that others have not: the kernels check that they are in range.
DOMAINS: Mapping[str, Callable[..., tuple[Array, ...]]] = {
    "binary_cross_entropy_elements": _fractions,
    "fmod_near": _near,
    "multiple_near": _far,
}


def in_domain(name: str, *given: Array) -> tuple[Array, ...]:
    """Operands of a function, in its domain."""
    return DOMAINS[name](*given) if name in DOMAINS else given


def _multiple(x: Array, y: Array) -> Array:
    return np.ldexp(y, np.frexp(x / y)[1] - 26)


def _entropy(x: Array) -> Array:
    return np.where(x > 0, -x * np.log(x), np.where(x == 0, 0, np.where(x < 0, -np.inf, x)))


#: Functions of the representation of numbers: in more precision they are others.
OF_REPRESENTATION = ("nextafter",)
#: Functions that neither NumPy nor mpmath has.
OTHERS: Mapping[str, Callable[..., Any]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "quarter_turns": _quarter_turns,
    "past_quarter_turns": _past_quarter_turns,
    "binary_cross_entropy_elements": _cross_entropy,
    "entr": _entropy,
    "fmod_near": np.fmod,
    "multiple_near": _multiple,
}


def exact(name: str, dtype: str) -> tuple[Callable[..., Array], int]:
    """A function in more precision than the dtype's, and how many values of it are worth while.

    ModuleNotFoundError where what computes it is not installed.
    """
    known = OTHERS.get(name) or getattr(np, name, None)
    if name in OF_REPRESENTATION and known is not None:
        return functools.partial(_converted, known, np.dtype(dtype)), 1_000_000
    if dtype == "float32" and known is not None:
        return functools.partial(_converted, known, np.dtype(np.float64)), 1_000_000
    if dtype == "float32":
        known = getattr(import_module("scipy.special"), name)
        return _signed_zero(functools.partial(_converted, known, np.dtype(np.float64))), 300_000
    if known is not None and np.finfo(np.longdouble).nmant >= 63:
        return functools.partial(_converted, known, np.dtype(np.longdouble)), 100_000
    if name in OTHERS:
        raise ModuleNotFoundError("it is of twice the precision", name="a long double of NumPy's")
    return _signed_zero(_by_mpmath(name)), 2_000


def _converted(function: Callable[..., Array], dtype: np.dtype[Any], *given: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(function(*[a.astype(dtype) for a in given])).astype(dtype)


def _signed_zero(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function, which loses the sign of zero, with zeros at zeros of their sign."""

    def call(*given: Array) -> Array:
        with np.errstate(all="ignore"):
            result = function(*given)
            return np.where((result == 0) & (given[0] == 0), np.copysign(result, given[0]), result)

    return call


def _by_mpmath(name: str) -> Callable[..., Array]:
    import mpmath

    short = {"ndtr": "ncdf"}.get(name, name.replace("arc", "a"))
    function = getattr(mpmath, short, None) or (lambda x: mpmath.log(x, int(name.removeprefix("log"))))

    def one(*x: float) -> np.longdouble:
        with np.errstate(all="ignore"), mpmath.workprec(160):
            try:
                value = function(*[mpmath.mpf(v) for v in x])
            except ValueError:  # where it has no value
                return np.longdouble(np.nan)
            except OverflowError:  # far from where the function bends
                return np.longdouble(getattr(import_module("scipy.special"), name)(*x))
            if not isinstance(value, mpmath.mpf):  # a complex one
                return np.longdouble(np.nan)
            small = abs(value) < mpmath.ldexp(1, -16000)  # than any number is
            return np.longdouble("0" if small else mpmath.nstr(value, 30))

    return np.vectorize(one, otypes=[np.longdouble])


# -- errors ----------------------------------------------------------------------------------------


def errors(got: Array, want: Array) -> Array:
    """The differences in units in the last place; infinite where one is NaN, or a zero of the other sign.

    An infinity stands for the power of two that follows the largest number.
    """
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        top = np.ldexp(want.dtype.type(1), info.maxexp)
        value = np.clip(got.astype(want.dtype), -top, top)
        limited = np.clip(want, -top, top)
        exponent = np.clip(np.frexp(limited)[1] - 1, info.minexp, info.maxexp - 1)
        found = np.abs(value - limited) * np.ldexp(want.dtype.type(1), info.nmant - exponent)
        found = np.where(
            np.isnan(got) | np.isnan(want), np.where(np.isnan(got) & np.isnan(want), 0, np.inf), found
        )
        differs = (want == 0) & (got == 0) & (np.signbit(want) != np.signbit(got))
        return np.where(differs, np.inf, found)


def samples(name: str, dtype: str, count: int, step: int = 0) -> Iterator[tuple[Array, ...]]:
    """Operands: special ones, bit patterns, and dense ranges; with a step every so many bit patterns."""
    operands = len(declared()[name][dtype].operands)
    info = np.finfo(dtype)
    edges = [*SPECIAL, 0.5, 1, 2, 3, info.tiny, info.smallest_subnormal, info.max, info.eps, 1 - info.eps / 2]
    known = np.array([*edges, *[-e for e in edges]], dtype)
    yield tuple(a.ravel() for a in np.meshgrid(*[known] * operands))
    bits = np.uint32 if dtype == "float32" else np.uint64
    if step and operands == 1 and dtype == "float32":
        for start in range(0, 1 << 32, step * BLOCK):
            yield (np.arange(start, min(start + step * BLOCK, 1 << 32), step).astype(bits).view(dtype),)
        return
    random = np.random.default_rng(0)
    if operands == 1:
        yield (random.integers(0, np.iinfo(bits).max, count // 2, bits, endpoint=True).view(dtype),)
        size = count // 2 // len(RANGES)
        yield (np.concatenate([random.uniform(a, b, size) for a, b in RANGES]).astype(dtype),)
        return
    for scale in (0, 1, 30, 300):
        if scale:
            first = np.exp2(random.uniform(-scale, scale, count // 4)) * random.choice(
                [1, 1, 1, -1], count // 4
            )
            others = [random.uniform(-scale, scale, count // 4) for _ in range(operands - 1)]
            with np.errstate(all="ignore"):
                yield (first.astype(dtype), *[o.astype(dtype) for o in others])
        else:
            patterns = random.integers(0, np.iinfo(bits).max, (operands, count // 4), bits, endpoint=True)
            yield tuple(patterns.view(dtype))


def largest_error(
    function: Callable[..., Array], name: str, dtype: str, step: int = 0, share: int = 1
) -> tuple[float, tuple[Any, ...]]:
    """The largest error over samples, or a share of them, and the operands that have it."""
    truth, count = exact(name, dtype)
    count //= share
    worst: tuple[float, tuple[Any, ...]] = (0.0, ())
    for given in [in_domain(name, *operands) for operands in samples(name, dtype, count, step)]:
        found = errors(function(*given), truth(*given))
        at = int(np.argmax(found))
        worst = max(worst, (float(found[at]), tuple(a[at].item() for a in given)), key=lambda w: w[0])
    return worst


def torchs(name: str) -> Callable[..., Array] | None:
    """The same function of torch's, where torch is installed."""
    try:
        torch = import_module("torch")
    except ModuleNotFoundError:
        return None
    short = {"power": "pow"}.get(name, name.replace("arc", "a"))
    function = getattr(torch, short, None)
    if function is None:
        return None

    def call(*given: Array) -> Array:
        result: Array = function(*map(torch.from_numpy, given)).numpy()
        return result

    return call


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="functions (default: all)")
    parser.add_argument("--step", type=int, default=100, help="of float32 bit patterns (default: 100)")
    given = parser.parse_args()
    print(f"{'':10}{'':10}{'bound':>8}{'error':>8}{'numpy':>8}{'torch':>8}")
    for name in given.names or declared():
        for dtype, routine in declared()[name].items():
            error, at = largest_error(compiled(name, dtype), name, dtype, given.step)
            others = [
                "-" if other is None else f"{largest_error(other, name, dtype, max(given.step, 1000))[0]:.3g}"
                for other in (getattr(np, name, None), torchs(name))
            ]
            shown = "".join(f"{o:>8}" for o in others)
            print(
                f"{name:10}{dtype:10}{routine.ulp:8g}{error:8.3f}{shown}  at {', '.join(map(repr, at))}",
                flush=True,
            )


if __name__ == "__main__":
    main()
