"""What symbolics call."""


def scaled(value, factor):
    return value * factor
