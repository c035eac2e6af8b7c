"""Probability distributions, as ``torch.distributions`` has them: samples, densities, divergences."""
