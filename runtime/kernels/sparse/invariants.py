"""Whether what costs more than a look at bounds is checked of new sparse tensors."""

from __future__ import annotations

from typing import Final


class Checking:
    """Whether it is; ``tengen.sparse.check_sparse_tensor_invariants`` sets it."""

    __slots__ = ("enabled",)

    def __init__(self) -> None:
        self.enabled = False


checking: Final = Checking()
