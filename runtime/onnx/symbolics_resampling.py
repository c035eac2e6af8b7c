"""Symbolics of resizing and of sampling on grids: ONNX's Resize and GridSample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.scalar_type import float32
from .builder import Ref, constant, onnx
from .errors import Unsupported
from .symbolics import cast, int_vector

#: By mode, the attributes of Resize where corners are not aligned.
_MODES: dict[str, dict[str, Any]] = {
    "nearest": {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    },
    "nearest-exact": {
        "mode": "nearest",
        "coordinate_transformation_mode": "half_pixel",
        "nearest_mode": "round_prefer_ceil",
    },
    "linear": {"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
    "cubic": {"mode": "cubic", "coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.75},
}
_MODES["nearest-image"] = _MODES["nearest"]


def upsampled(
    self: Ref, mode: str, output_size: Sequence[int], align_corners: bool, scales: Sequence[float] | None
) -> Ref:
    """The last dims resized; Unsupported for modes that Resize does not have, or has with other borders."""
    if mode not in _MODES:
        raise Unsupported(f"interpolation by {mode!r}")
    attributes = dict(_MODES[mode])
    if attributes["mode"] != "nearest" and not self.dtype.is_floating_point:
        raise Unsupported("interpolation of integers, which rounds")
    if mode == "cubic" and self.ndim != 4:
        raise Unsupported("bicubic interpolation of anything but images with channels")
    if align_corners:
        attributes["coordinate_transformation_mode"] = "align_corners"
    left = self.ndim - len(output_size)
    given = cast(self, float32)
    if scales is not None and all(scales):
        scaled_to = [int(n * scale) for n, scale in zip(self.shape[left:], scales, strict=True)]
        if scaled_to != list(output_size):
            raise Unsupported(f"interpolation to {list(output_size)} by scales that give {scaled_to}")
        factors = constant([1.0] * left + [float(scale) for scale in scales], float32)
        made: Ref = onnx.Resize(given, None, factors, **attributes)
        return made
    if scales is not None and any(scales):
        raise Unsupported("interpolation by a scale of some dimensions and a size of others")
    sizes = int_vector([*self.shape[:left], *output_size])
    made = onnx.Resize(given, None, None, sizes, **attributes)
    return made


def grid_sample_symbolic(
    input: Ref, grid: Ref, mode: int, padding: int, align_corners: bool, orders: Sequence[int]
) -> Ref:
    """Images at the points of grids; Unsupported for derivatives."""
    if any(orders):
        raise Unsupported("the derivatives of samples on grids")
    made: Ref = onnx.GridSample(
        input,
        grid,
        mode=("linear", "nearest", "cubic")[mode],
        padding_mode=("zeros", "border", "reflection")[padding],
        align_corners=int(align_corners),
    )
    return made
