"""Helpers that the formulas around the bad ones name. Never imported."""


def sum_backward(grad, shape, dim, keepdim): ...


def sort_backward(grad, indices, shape, dim): ...
