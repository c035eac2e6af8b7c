"""What expressions of modules.yaml call. Never imported."""


def check_positive(value): ...
