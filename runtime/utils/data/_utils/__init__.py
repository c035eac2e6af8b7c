"""How loaders make batches, where PyTorch has it."""

from . import collate as collate
