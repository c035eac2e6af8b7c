"""What the declarations of modules (the key ``module``) make of arguments, and how they check them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.user_stack import program_stacklevel
from ...tensors.tensor import Tensor

__all__: list[str] = []


def factory_kwargs(kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The keywords for functions that make tensors, ``empty`` and its like, among those of a module.

    They are ``device``, ``dtype`` and ``memory_format``, given as they are or in a dict ``factory_kwargs``.
    TypeError for other keywords, and for one that is given in both ways.
    """
    if kwargs is None:
        return {}
    known = {"device", "dtype", "memory_format"}
    unknown = kwargs.keys() - known - {"factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    found = dict(kwargs.get("factory_kwargs", {}))
    for name in known & kwargs.keys():
        if name in found:
            raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
        found[name] = kwargs[name]
    return found


def ntuple(value: Any, count: int) -> tuple[Any, ...]:
    """A number ``count`` times, or what is given, as a tuple."""
    if isinstance(value, Sequence) or hasattr(value, "__iter__"):
        return tuple(value)
    return (value,) * count


def ntuple_or_none(value: Any, count: int) -> tuple[Any, ...] | None:
    """As ``ntuple``; None stays."""
    return None if value is None else ntuple(value, count)


def check_bounds(min_val: float, max_val: float, min_value: float | None, max_value: float | None) -> None:
    """Warn of the older names of bounds. AssertionError where the bounds leave nothing between them."""
    for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
        if value is not None:
            warn_deprecated(f"keyword argument `{old}` is deprecated and rename to `{new}`")
    low, high = bound(min_val, min_value), bound(max_val, max_value)
    if high <= low:
        raise AssertionError(f"max_val ({high}) must be larger than min_val ({low})")


def bound(value: float, older: float | None) -> float:
    """A bound, or what is given by its older name."""
    return value if older is None else older


def check_probability(p: float) -> None:
    """ValueError for a probability of dropout that is not in [0, 1]."""
    if p < 0 or p > 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def check_fractional(name: str, kernel_size: Any, output_size: Any, output_ratio: Any, count: int) -> None:
    """ValueError unless there is either a size or ratios between 0 and 1."""
    if count == 3 and any(k <= 0 for k in ntuple(kernel_size, count)):
        raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
    if output_size is not None and output_ratio is not None:
        raise ValueError("only one of output_size and output_ratio may be specified")
    if output_ratio is not None and not all(0 < r < 1 for r in ntuple(output_ratio, count)):
        raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


def check_dims(input: Tensor, least: int, most: int) -> None:
    """ValueError for an input of other numbers of dimensions than two."""
    if input.ndim not in (least, most):
        raise ValueError(f"expected {least}D or {most}D input (got {input.ndim}D input)")


def check_images(input: Tensor) -> None:
    """ValueError for an input that is neither (C, H, W) nor (N, C, H, W)."""
    if input.ndim not in (3, 4):
        raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")


def check_sizes(sizes: Any) -> None:
    """TypeError for what is no tuple or list of ints."""
    if not isinstance(sizes, (tuple, list)):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(sizes).__name__}")
    for position, size in enumerate(sizes):
        if not isinstance(size, int):
            raise TypeError(
                "unflattened_size must be tuple of ints, but found element of type "
                f"{type(size).__name__} at pos {position}"
            )


def check_delta(delta: Any) -> None:
    """TypeError for a delta that is no number."""
    if not isinstance(delta, (float, int)):
        raise TypeError(f"delta must be a float or int, got: {type(delta)}")


def check_multi_margin(p: int, weight: Tensor | None) -> None:
    """ValueError for a power that is not 1 or 2, and for a weight that is no vector."""
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError(
            f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.dim()}D instead"
        )


def check_margin(name: str, margin: float) -> None:
    """ValueError for a margin that is not positive."""
    if margin <= 0:
        raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")


def distance_or_default(distance: Any) -> Any:
    """The function of a distance: PairwiseDistance where none is given."""
    from .distance import PairwiseDistance

    return PairwiseDistance() if distance is None else distance


def scale_factors(scale_factor: Any) -> Any:
    """Scale factors as floats; None where there are none."""
    if isinstance(scale_factor, tuple):
        return tuple(float(factor) for factor in scale_factor)
    return float(scale_factor) if scale_factor else None


def warn_deprecated(text: str) -> None:
    """A FutureWarning at the line of the program."""
    warnings.warn(text, FutureWarning, stacklevel=program_stacklevel())
