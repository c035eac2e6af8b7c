"""Specialise: the code of each operator for each backend and scalar type."""
