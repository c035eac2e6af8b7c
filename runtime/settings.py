"""What a program may ask of all operators at once, as ``torch`` has it: determinism, precision, denormals.

Results depend on values, dtypes, shapes and layouts alone here, and products are computed in the precision of
their operands. So these settings are kept, and change no result.
"""

from __future__ import annotations

import warnings

from .core.user_stack import program_stacklevel

_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")


class _Settings:
    """The settings of the process."""

    deterministic = False
    warn_only = False
    precision = "highest"


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic operators, which all are; with ``warn_only`` others would warn.

    TypeError for no bool.
    """
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms(): mode must be a bool, but got {type(mode).__name__}")
    _Settings.deterministic, _Settings.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic operators were asked for."""
    return _Settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether operators that are not deterministic would only warn."""
    return _Settings.warn_only


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """``use_deterministic_algorithms`` by number or word: 0 default, 1 warn, 2 error.

    TypeError for neither an int nor a str; RuntimeError for another one.
    """
    if isinstance(debug_mode, bool) or not isinstance(debug_mode, int | str):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    allowed = _MODES if isinstance(debug_mode, str) else range(len(_MODES))
    if debug_mode not in allowed:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of {list(allowed)}, but got {debug_mode!r}"
        )
    mode = _MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(mode > 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """0 where deterministic operators were not asked for, 1 where others would warn, else 2."""
    return 2 - _Settings.warn_only if _Settings.deterministic else 0


def set_float32_matmul_precision(precision: str) -> None:
    """How precise products of float32 must be at least: highest, high or medium; they are of float32 always.

    Another word is a warning, and changes nothing.
    """
    if precision in _PRECISIONS:
        _Settings.precision = precision
        return
    warnings.warn(
        f"{precision} is not one of 'highest', 'high', or 'medium'; the current "
        "set_float32_matmul_precision call has no effect.",
        UserWarning,
        stacklevel=program_stacklevel(),
    )


def get_float32_matmul_precision() -> str:
    """What ``set_float32_matmul_precision`` was given."""
    return _Settings.precision


def set_flush_denormal(mode: bool) -> bool:
    """Whether numbers too small for the usual precision can be made 0: never here, so False.

    RuntimeError for no bool.
    """
    if not isinstance(mode, bool):
        raise RuntimeError(f"set_flush_denormal(): mode must be a bool, but got {type(mode).__name__}")
    return False
