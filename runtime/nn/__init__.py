"""Neural networks: ``tengen.nn.functional``, and ``tengen.nn.utils`` for their gradients."""

from tengen.nn import functional as functional
from tengen.nn import utils as utils
