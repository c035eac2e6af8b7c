"""A module that takes generated classes. Never imported."""

from tengen.generated.activation_modules import *  # noqa: F403
from tengen.generated.activation_modules import __all__ as _generated, _ThresholdNd as _ThresholdNd

__all__ = [*_generated]


class PReLU: ...
