"""Composites that the declarations around the bad ones name. Never imported."""


def flatten(self, start_dim, end_dim): ...
