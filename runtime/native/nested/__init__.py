"""Kernels for tensors of which the parts differ in their sizes."""
