"""Neural networks: ``tengen.nn.functional``."""

from tengen.nn import functional as functional
