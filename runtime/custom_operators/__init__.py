"""Operators that are defined while a program runs: what ``tengen.library`` has of PyTorch's
``torch.library``.

Such an operator is an ``Operator`` like the declared ones, and is called, intercepted, recorded and batched
as these are; where a declared one runs a method of a Type, it runs a function that was registered for the
backend.
"""
