"""Probability distributions, as ``torch.distributions`` has them: samples, densities, moments, divergences."""
