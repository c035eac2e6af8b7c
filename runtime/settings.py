"""What a program may ask of all operators at once, as ``torch`` has it: determinism, precision, warnings ...

Results depend on values, dtypes, shapes and layouts alone here, and products are computed in the precision of
their operands. So these settings are kept, and change no result, but for what memory holds that nobody
has written (``kernels/uninitialized.py``).
"""

from __future__ import annotations

import warnings

from .core.user_stack import Warned, program_stacklevel
from .kernels.parallel import default_num_threads
from .kernels.uninitialized import NewMemory

_MODES = ("default", "warn", "error")
_PRECISIONS = ("highest", "high", "medium")


class _Settings:
    """The settings of the process."""

    warn_only = False
    precision = "highest"
    interop_threads = 0


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic operators, which all are; with ``warn_only`` others would warn.

    What ``empty`` and its like make, and ``resize_`` adds, is then NaN, the greatest integer or True, unless
    ``utils.deterministic.fill_uninitialized_memory`` is False.

    TypeError for no bool.
    """
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms(): mode must be a bool, but got {type(mode).__name__}")
    NewMemory.deterministic, _Settings.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic operators were asked for."""
    return NewMemory.deterministic


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
    return 2 - _Settings.warn_only if NewMemory.deterministic else 0


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


def get_num_interop_threads() -> int:
    """How many operators may run at a time: what ``set_num_interop_threads`` was given, or the cores.

    It changes nothing: one operator runs after the other, and each in ``get_num_threads()`` threads.
    """
    return _Settings.interop_threads or default_num_threads()


def set_num_interop_threads(count: int) -> None:
    """Say how many operators may run at a time, once.

    RuntimeError for no int, for one that is not positive, and for a second call.
    """
    if isinstance(count, bool) or not isinstance(count, int):
        raise RuntimeError(f"set_num_interop_threads expects an int, but got {type(count).__name__}")
    if count <= 0:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, but got {count}")
    if _Settings.interop_threads:
        raise RuntimeError("cannot set the interop threads: set_num_interop_threads was called before")
    _Settings.interop_threads = count


def set_warn_always(b: bool, /) -> None:
    """Ask for every warning, also of what was warned of before. RuntimeError for no bool.

    All are given to Python's ``warnings`` each time, whose filters decide which are shown.
    """
    if not isinstance(b, bool):
        raise RuntimeError(f"set_warn_always(): expected a bool, but got {type(b).__name__}")
    Warned.always = b


def is_warn_always_enabled() -> bool:
    """What ``set_warn_always`` was given."""
    return Warned.always
