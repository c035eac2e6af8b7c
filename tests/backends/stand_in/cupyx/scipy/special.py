"""No function: all are computed by SciPy."""
