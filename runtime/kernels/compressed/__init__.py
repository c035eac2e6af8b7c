"""Kernels for sparse tensors in compressed formats: NumPy's and SciPy's functions over indices and values."""
