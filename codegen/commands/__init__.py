"""The commands of ``tengen`` beside ``gen``: one module each, with ``add_arguments`` and ``run``."""
