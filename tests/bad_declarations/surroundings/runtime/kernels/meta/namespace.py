"""NumPy's functions, for arrays without data."""
