"""Whether this process was started to generate code."""

from __future__ import annotations

import sys


def generating() -> bool:
    """Whether the command is ``python -m tengen.codegen...`` or ``tengen``.

    The generator lives below this package. It must run when what it generated does not load,
    and not wait for it when it does.
    """
    command = sys.orig_argv
    module = command[command.index("-m") + 1] if "-m" in command[:-1] else ""
    script = sys.argv[0].replace("\\", "/").rpartition("/")[2].removesuffix(".exe")
    return module.startswith("tengen.codegen") or script == "tengen"
