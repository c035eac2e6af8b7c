"""Linear algebra, as ``torch.linalg`` has it."""
# ruff: noqa: F403

from tengen.generated.linalg_functions import *

from .kernels.linalg_checks import LinAlgError as LinAlgError
