"""Kernels that the declarations around the bad ones name. Never imported."""


def twice(self): ...
