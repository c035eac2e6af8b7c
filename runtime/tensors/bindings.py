"""Ties the knot: the generated methods of Tensor need what is made of them.

``import tengen`` imports this before anything calls an operator.
"""

from __future__ import annotations

from tengen.generated import tensor_methods

from ..autograd import view
from ..core import function_dispatch
from ..dispatch.operator import call, call_operator, make
from . import metaclass as tensor_meta
from .tensor import Tensor

tensor_methods.bind(Tensor, call, call_operator, make)
function_dispatch.bind(Tensor)
tensor_meta.bind(Tensor)
view.bind(Tensor)
