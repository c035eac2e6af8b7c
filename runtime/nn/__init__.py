"""Neural networks: ``tengen.nn.functional``, and ``tengen.nn.utils`` for their gradients."""

from . import functional as functional
from . import parallel as parallel
from . import utils as utils

__all__ = [
    "functional",
    "parallel",
    "utils",
]


def __dir__() -> list[str]:
    return sorted(__all__)
