"""Reductions and normalizations of the elements that a mask leaves, as ``torch.masked`` has them.

A mask is a bool tensor that broadcasts to the input; where it is False an element is *masked out*: it has no
part in the result, nor a gradient. A reduction of which all elements are masked out gives its identity (0 for
a sum, ``-inf`` for a largest element), and NaN where it has none (means, medians, variances).
"""

from .masks import input_mask as _input_mask  # noqa: F401
from .normalizations import cumprod as cumprod
from .normalizations import cumsum as cumsum
from .normalizations import log_softmax as log_softmax
from .normalizations import logaddexp as logaddexp
from .normalizations import normalize as normalize
from .normalizations import softmax as softmax
from .normalizations import softmin as softmin
from .reductions import amax as amax
from .reductions import amin as amin
from .reductions import argmax as argmax
from .reductions import argmin as argmin
from .reductions import logsumexp as logsumexp
from .reductions import mean as mean
from .reductions import median as median
from .reductions import norm as norm
from .reductions import output_mask as _output_mask  # noqa: F401
from .reductions import prod as prod
from .reductions import std as std
from .reductions import sum as sum
from .reductions import var as var


def __dir__() -> list[str]:
    return sorted(name for name, value in globals().items() if callable(value) and not name.startswith("_"))
