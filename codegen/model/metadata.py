"""What a formula may ask of a tensor without its data, and what a Node keeps for it.

``self.shape`` needs the sizes, not the elements: the Node keeps the shape in a slot ``_self_shape``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metadata:
    """One thing to ask of a tensor: an attribute, or a method without arguments."""

    slot: str  # which of SLOTS it is made of
    made: str  # the expression of it, of what is kept
    method: bool = False


#: What a Node may keep of a tensor in place of its data: the expression of it, of the tensor.
SLOTS = {
    "shape": "{}._array.shape",
    "type": "{}._type",
    "stride": "T.backend.lib.strides({}._array)",
    "storage_offset": "T.backend.lib.storage_offset({}._array)",
}

METADATA = {
    "shape": Metadata("shape", "Size({})"),
    "ndim": Metadata("shape", "len({})"),
    "dim": Metadata("shape", "len({})", method=True),
    "numel": Metadata("shape", "Size({}).numel()", method=True),
    "dtype": Metadata("type", "{}.scalar_type"),
    "device": Metadata("type", "{}.backend.device"),
    "is_complex": Metadata("type", "{}.scalar_type.is_complex", method=True),
    "is_floating_point": Metadata("type", "{}.scalar_type.is_floating_point", method=True),
    "stride": Metadata("stride", "{}", method=True),
    "storage_offset": Metadata("storage_offset", "{}", method=True),
}
