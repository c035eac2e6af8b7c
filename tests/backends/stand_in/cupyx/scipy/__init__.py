"""As in CuPy."""
