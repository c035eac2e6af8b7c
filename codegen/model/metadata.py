"""What a formula may ask of a tensor without its data, and what a Node keeps for it.

``self.shape`` needs the sizes, not the elements: the Node keeps the shape in a slot ``_self_shape``.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.expressions import Expr, replaced
from ...ir.reader import read_expression
from ...ir.types import BOOL, DTYPE, INT, PLAIN, SIZE, ValueType


@dataclass(frozen=True, slots=True)
class Metadata:
    """One thing to ask of a tensor: an attribute, or a method without arguments."""

    slot: str  # which of SLOTS it is made of
    made: str  # the expression of it, of what is ``kept``
    type: ValueType
    method: bool = False

    def of(self, kept: Expr) -> Expr:
        """The expression of it, of what is kept."""
        return replaced(read_expression(self.made), {"kept": kept})


#: What a Node may keep of a tensor in place of its data: the expression of it, of the tensor ``x``.
SLOTS = {
    "shape": "x._array.shape",
    "type": "x._type",
    "layout": "x.layout",
    "blocksize": "x._blocksize",
    "stride": "T.backend.lib.strides(x._array)",
    "storage_offset": "T.backend.lib.storage_offset(x._array)",
}

METADATA = {
    "shape": Metadata("shape", "Size(kept)", SIZE),
    "ndim": Metadata("shape", "len(kept)", INT),
    "dim": Metadata("shape", "len(kept)", INT, method=True),
    "numel": Metadata("shape", "Size(kept).numel()", INT, method=True),
    "dtype": Metadata("type", "kept.scalar_type", DTYPE),
    "device": Metadata("type", "kept.backend.device", PLAIN),
    "layout": Metadata("layout", "kept", PLAIN),
    "_blocksize": Metadata("blocksize", "kept", PLAIN),
    "is_complex": Metadata("type", "kept.scalar_type.is_complex", BOOL, method=True),
    "is_floating_point": Metadata("type", "kept.scalar_type.is_floating_point", BOOL, method=True),
    "stride": Metadata("stride", "kept", SIZE, method=True),
    "storage_offset": Metadata("storage_offset", "kept", INT, method=True),
}
