"""Lower: float16 and bfloat16 to float32 and back, in arithmetic on their bits, which vectorises everywhere.

LLVM's own conversions are calls of a library on processors that have no instruction for them; where there is
one, the compiler puts it in place of the functions that are defined here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from .instructions import WIDTHS, Instructions, float_constant

#: The functions that convert float16, an element at a time.
WIDEN, NARROW = "float16_to_float32", "float32_to_float16"
_FLOAT32 = WIDTHS["float32"]
#: What takes a float16's exponent, of 5 bits, to that of a float32 of the same bits.
_REBIASED = float_constant(2.0**112, _FLOAT32)
#: Down to float16's exponents, in two steps: what is too large for it becomes infinite in the first.
_DOWN = float_constant(2.0**-110, _FLOAT32)


def widened(body: Instructions, dtype: str, bits: str) -> str:
    """The float32 that 16 bits stand for."""
    if dtype == "bfloat16":
        return _as_float(body, body.add(f"shl i32 {body.add(f'zext i16 {bits} to i32')}, 16"))
    body.intrinsics.add(_defined("float", WIDEN, "i16", _half_widened))
    return body.add(f"call float @{WIDEN}(i16 {bits})")


def narrowed(body: Instructions, dtype: str, value: str) -> str:
    """The 16 bits of a float32 rounded to the nearest, of two to the even one."""
    if dtype == "float16":
        body.intrinsics.add(_defined("i16", NARROW, "float", _half_narrowed))
        return body.add(f"call i16 @{NARROW}(float {value})")
    word = _as_bits(body, value)
    is_nan = body.add(f"fcmp uno float {value}, {value}")
    odd = body.add(f"and i32 {body.add(f'lshr i32 {word}, 16')}, 1")
    rounded = body.add(f"add i32 {body.add(f'add i32 {word}, 32767')}, {odd}")
    quiet = body.add(f"or i32 {word}, 4194304")
    return _upper(body, body.add(f"select i1 {is_nan}, i32 {quiet}, i32 {rounded}"))


@functools.cache
def _defined(gives: str, name: str, takes: str, put: Callable[[Instructions, str], str]) -> str:
    """The text of a function, for which the compiler may take the processor's own instruction: it is weak."""
    body = Instructions()
    found = put(body, "%x")
    head = f"define weak {gives} @{name}({takes} %x) alwaysinline {{"
    return "\n".join([head, *body.lines, f"  ret {gives} {found}", "}"])


def _half_widened(body: Instructions, bits: str) -> str:
    # The sign, and the other bits where a float32 has its exponent and its fraction.
    word = body.add(f"shl i32 {body.add(f'sext i16 {bits} to i32')}, 13")
    moved = body.add(f"and i32 {word}, -1879056384")
    scaled = body.add(f"fmul float {_as_float(body, moved)}, {_REBIASED}")
    exponent = body.add(f"and i32 {moved}, 260046848")
    special = body.add(f"icmp eq i32 {exponent}, 260046848")  # infinities and NaN
    ending = body.add(f"or i32 {moved}, 2139095040")
    found = body.add(f"select i1 {special}, i32 {ending}, i32 {_as_bits(body, scaled)}")
    return _as_float(body, found)


def _half_narrowed(body: Instructions, value: str) -> str:
    word = _as_bits(body, value)
    is_nan = body.add(f"fcmp uno float {value}, {value}")
    sign = body.add(f"and i32 {body.add(f'lshr i32 {word}, 16')}, 32768")
    magnitude = _as_float(body, body.add(f"and i32 {word}, 2147483647"))
    # A power of two is added whose last place in float32 is that of the float16: the addition rounds.
    scaled = body.add(f"fmul float {magnitude}, {_REBIASED}")
    scaled = body.add(f"fmul float {scaled}, {_DOWN}")
    exponent = body.add(f"and i32 {word}, 2139095040")
    least = body.add(f"icmp ult i32 {exponent}, 947912704")
    exponent = body.add(f"select i1 {least}, i32 947912704, i32 {exponent}")
    power = _as_float(body, body.add(f"add i32 {exponent}, 125829120"))
    total = _as_bits(body, body.add(f"fadd float {power}, {scaled}"))
    high = body.add(f"and i32 {body.add(f'lshr i32 {total}, 13')}, 31744")
    low = body.add(f"and i32 {total}, 4095")
    finite = body.add(f"add i32 {high}, {low}")
    found = body.add(f"select i1 {is_nan}, i32 32256, i32 {finite}")
    return body.add(f"trunc i32 {body.add(f'or i32 {found}, {sign}')} to i16")


def _upper(body: Instructions, word: str) -> str:
    return body.add(f"trunc i32 {body.add(f'lshr i32 {word}, 16')} to i16")


def _as_float(body: Instructions, bits: str) -> str:
    return body.add(f"bitcast i32 {bits} to float")


def _as_bits(body: Instructions, value: str) -> str:
    return body.add(f"bitcast float {value} to i32")
