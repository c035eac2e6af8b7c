"""What the programs share: parameters from NumPy, which begin alike everywhere, and a report of numbers."""

import json

import numpy as np
import torch

torch.set_default_dtype(torch.float64)


def initialise(module, seed=0):
    """Give the parameters values that do not depend on whose generator torch has."""
    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            scale = 1 / np.sqrt(max(parameter.shape[-1], 1)) if parameter.dim() > 1 else 0.02
            parameter.copy_(torch.as_tensor(generator.standard_normal(tuple(parameter.shape)) * scale))
    return module


def report(**numbers):
    """Print numbers as JSON, which a test compares."""
    print(json.dumps({name: torch.as_tensor(value).tolist() for name, value in numbers.items()}))
