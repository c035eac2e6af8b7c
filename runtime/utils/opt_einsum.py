"""Tensors for opt_einsum, which looks for NumPy's functions in the library of what it contracts.

    import opt_einsum
    import tengen.utils.opt_einsum

    opt_einsum.contract("ij,jk,kl->il", a, b, c)

Importing this module tells it to look here: PyTorch's functions, as ``tensordot``, have other arguments.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..array_api import permute_dims, tensordot as tensordot
from ..core.needed_package import needed_package
from ..functional import einsum as einsum
from ..tensors.tensor import Tensor

try:
    from opt_einsum.backends import dispatch
except ModuleNotFoundError as error:
    raise needed_package(__name__, "opt_einsum") from error

dispatch._aliases["tengen"] = __name__


def transpose(x: Tensor, axes: Sequence[int]) -> Tensor:
    """The axes in another order."""
    return permute_dims(x, tuple(axes))
