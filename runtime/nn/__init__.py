"""Neural networks: ``tengen.nn.functional``, and ``tengen.nn.utils`` for their gradients."""

from . import functional as functional
from . import utils as utils
