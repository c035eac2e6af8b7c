"""Derive: what follows from the declarations without being written."""
