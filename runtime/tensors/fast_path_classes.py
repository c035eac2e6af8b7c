"""The classes and objects that the C machine knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import fast_paths
from ..autograd.accumulate_grad import AccumulateGrad
from ..autograd.autograd_meta import AutogradMeta
from ..autograd.edge import gradient_edge
from ..autograd.grad_mode import grad_mode
from ..autograd.node import Node, sequence_numbers
from ..autograd.variable_type_utils import written
from ..autograd.view import ViewList, as_view
from ..core.costs import LARGE
from ..core.function_dispatch import plain
from ..core.interception import active
from ..core.numbers import Numbers
from ..core.storage import Storage, storage_of
from ..core.tensor_base import TensorBase
from ..dispatch.binding_support import MISSING
from ..dispatch.type import Type
from .tensor import Tensor


def _classes() -> dict[str, Any]:
    """By the names that the extension has for them."""
    return {
        "AccumulateGrad": AccumulateGrad,
        "AutogradMeta": AutogradMeta,
        "LARGE": LARGE,
        "MISSING": MISSING,
        "Node": Node,
        "Numbers": Numbers,
        "Storage": Storage,
        "Tensor": Tensor,
        "TensorBase": TensorBase,
        "Type": Type,
        "ViewList": ViewList,
        "active": active,
        "as_view": as_view,
        "grad_mode": grad_mode,
        "gradient_edge": gradient_edge,
        "plain": plain,
        "sequence": sequence_numbers,
        "storage_of": storage_of,
        "ufuncs": (np.add, np.subtract, np.multiply, np.divide, np.negative),
        "written": written,
    }


fast_paths.describe(_classes)
