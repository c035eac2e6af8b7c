"""Special functions, as ``torch.special`` has them."""
# ruff: noqa: F403

from tengen.generated.special_functions import *
