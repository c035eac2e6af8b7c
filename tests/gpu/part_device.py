"""What is there: the GPU, the driver, the versions, and how tengen is built."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from worker import Item

#: Beside CuPy, whose package is named after the CUDA that it is for.
PACKAGES = ("numpy", "scipy", "torch")
#: The version that the stand-in for CuPy says.
STAND_IN = "stand-in"


def items(options: Mapping[str, Any]) -> dict[str, Item]:
    return {"versions": partial(versions, options.get("tree")), "gpu": gpu}


def versions(tree: str | None) -> dict[str, Any]:
    """Of Python and of the packages, and whether tengen has its optional parts.

    ImportError where it is another than that of a folder.
    """
    import tengen
    from tengen import fast_paths

    if tree is not None and not Path(str(tengen.__file__)).is_relative_to(Path(tree).resolve()):
        raise ImportError("tengen is another than that of the folder")

    found = {"python": platform.python_version(), "tengen": tengen.__version__}
    found["cupy"] = import_module("cupy").__version__
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    system = f"{platform.system()} {platform.machine()}, {len(os.sched_getaffinity(0))} cores"
    return {
        "versions": found,
        "system": system,
        "c_machine": fast_paths.status().used,
        "stand_in": found["cupy"] == STAND_IN,
    }


def gpu() -> dict[str, Any]:
    """The current device, by ``tengen.cuda``. AssertionError where there is none."""
    import tengen

    cuda = tengen.cuda
    name, properties = cuda.get_device_name(), cuda.get_device_properties()
    major, minor = cuda.get_device_capability()
    runtime = import_module("cupy").cuda.runtime
    return {
        "name": name,
        "capability": f"{major}.{minor}",
        "gigabytes": round(properties["totalGlobalMem"] / 2**30, 1),
        "runtime": runtime.runtimeGetVersion(),
        "driver": runtime.driverGetVersion(),
        "devices": cuda.device_count(),
    }
