"""``tengen.optim``: optimisers and schedules of their learning rates, with names as in ``torch.optim``."""

from __future__ import annotations

from tengen.optim import lr_scheduler as lr_scheduler
from tengen.optim.adadelta import Adadelta
from tengen.optim.adagrad import Adagrad
from tengen.optim.adam import Adam
from tengen.optim.adamax import Adamax
from tengen.optim.adamw import AdamW
from tengen.optim.lbfgs import LBFGS
from tengen.optim.nadam import NAdam
from tengen.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from tengen.optim.radam import RAdam
from tengen.optim.rmsprop import RMSprop
from tengen.optim.sgd import SGD

__all__ = [
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "lr_scheduler",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]
