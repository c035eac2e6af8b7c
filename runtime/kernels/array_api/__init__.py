"""Kernels of the group ArrayAPI: what array libraries share. Each gets the namespace before its arguments."""
