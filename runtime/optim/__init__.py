"""``tengen.optim``: optimisers and schedules of their learning rates, with names as in ``torch.optim``."""

from __future__ import annotations

from . import lr_scheduler as lr_scheduler, swa_utils as swa_utils
from .adadelta import Adadelta
from .adafactor import Adafactor
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .muon import Muon
from .nadam import NAdam
from .optimizer import (
    Optimizer,
    register_optimizer_step_post_hook as register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook as register_optimizer_step_pre_hook,
)
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam
from .swapping import swap_in_optimizer_params_and_state

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]


def __dir__() -> list[str]:
    return sorted(__all__)
