"""What figures belong to: the machine in words, versions, BLAS."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("tengen", "numpy", "torch", "autograd", "jax")
_FEATURES = {"avx512f": "AVX-512", "avx2": "AVX2", "asimd": "NEON", "sve": "SVE"}


def today() -> str:
    """The date, in UTC."""
    return datetime.now(UTC).date().isoformat()


def versions() -> dict[str, str]:
    """Python's version and those of the packages that are installed."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            if package == "tengen":  # used from its sources
                import tengen

                found[package] = tengen.__version__
    return found


def machine() -> str:
    """The processor, what it can do, how many of its cores are used, and the memory; no names of hosts."""
    from libraries import available

    info = _read("/proc/cpuinfo")
    model = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", info, re.M)
    words = [model[1].strip() if model else platform.processor() or platform.machine()]
    family, number = (re.search(rf"^{key}\s*:\s*(\d+)$", info, re.M) for key in ("cpu family", "model"))
    if family and number:
        words[0] += f" (family {family[1]}, model {number[1]})"
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", info, re.M)
    has = set(flags[1].split()) if flags else set()
    features = [word for flag, word in _FEATURES.items() if flag in has]
    words += [f"with {', '.join(features)}"] if features else []
    virtual = "virtual " * ("hypervisor" in has)
    count = available()
    words.append(f"{count} {virtual}core{'s' * (count != 1)}")
    total = re.search(r"^MemTotal:\s*(\d+) kB$", _read("/proc/meminfo"), re.M)
    if total:
        words.append(f"{int(total[1]) / 2**20:.0f} GB")
    return ", ".join([f"{platform.system()} {platform.machine()}", *words])


def blas() -> str:
    """NumPy's BLAS, its version and the kernels that it runs, and what the environment says of these."""
    import numpy as np
    from threadpoolctl import threadpool_info

    folder = str(Path(np.__file__).parent)
    found: list[dict[str, Any]] = [i for i in threadpool_info() if i["user_api"] == "blas"]
    own = next((i for i in found if i["filepath"].startswith(folder)), found[0] if found else None)
    if own is None:
        return "unknown"
    words = f"{own['internal_api']} {own['version']}, kernels {own.get('architecture', 'unknown')}"
    asked = os.environ.get("OPENBLAS_CORETYPE")
    return words + (f" (OPENBLAS_CORETYPE={asked} in the environment)" if asked else "")


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
