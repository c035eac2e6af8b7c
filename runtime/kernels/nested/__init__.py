"""Kernels for tensors of which the components differ in their sizes."""
