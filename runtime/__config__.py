"""What tengen stands on, as text."""

from __future__ import annotations

import contextlib
import io
import sys

import numpy as np
import threadpoolctl

from .kernels.parallel import default_num_threads, get_num_threads
from .version import __version__

__all__ = ["parallel_info", "show"]


def __dir__() -> list[str]:
    return sorted(__all__)


def show() -> str:
    """The versions of tengen, Python and NumPy, and how NumPy was built."""
    with contextlib.redirect_stdout(io.StringIO()) as built:
        np.show_config()
    python = sys.version.split()[0]
    return f"tengen {__version__}, Python {python}, NumPy {np.__version__}, built with:\n{built.getvalue()}"


def parallel_info() -> str:
    """How many threads operators and the BLAS library use."""
    pools = threadpoolctl.threadpool_info()
    lines = [f"{pool['internal_api']} {pool.get('version')}: {pool['num_threads']} threads" for pool in pools]
    return "\n".join(
        [f"tengen.get_num_threads() : {get_num_threads()}", f"processors : {default_num_threads()}", *lines]
    )
