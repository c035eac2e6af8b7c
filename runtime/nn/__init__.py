"""Neural networks: ``tengen.nn.functional``, and ``tengen.nn.utils`` for their gradients."""

from . import functional as functional, parallel as parallel, utils as utils

__all__ = [
    "functional",
    "parallel",
    "utils",
]


def __dir__() -> list[str]:
    return sorted(__all__)
