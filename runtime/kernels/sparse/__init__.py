"""Kernels for sparse tensors in coordinate format: NumPy's and SciPy's functions over indices and values."""
