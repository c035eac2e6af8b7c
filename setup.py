"""Wheels: for any platform, or for one if libraries of native kernels or the C machine were built for it.

All else that setuptools should know is in pyproject.toml.
"""

from __future__ import annotations

import sys
import sysconfig
import zlib
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

ROOT = Path(__file__).parent
LIBRARIES = ROOT / "generated" / "machine_code"
FAST_PATHS = Path("runtime", "fast_paths")
SOURCES = (".c", ".def", ".h")


def extensions() -> list[Extension]:
    """The C machine, which tengen does without: where there is no compiler it is left out.

    It relies on the interpreter's lock: a free-threaded Python has none.
    """
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return []
    try:
        import numpy
    except ImportError:
        return []
    sources = [path for path in sorted((ROOT / FAST_PATHS).iterdir()) if path.suffix in SOURCES]
    written = b"".join([path.read_bytes() for path in sources])  # as fast_paths/__init__.py reads them
    warnings = [] if sys.platform == "win32" else ["-Wall", "-Wextra"]
    return [
        Extension(
            "tengen.fast_paths.machine",
            [str(FAST_PATHS / path.name) for path in sources if path.suffix == ".c"],
            include_dirs=[numpy.get_include()],
            depends=[str(FAST_PATHS / path.name) for path in sources if path.suffix != ".c"],
            define_macros=[("SOURCES", f"{zlib.crc32(written)}U")],
            extra_compile_args=warnings,
            optional=True,
        )
    ]


class Wheel(bdist_wheel):
    """A wheel whose name says the platform if it carries libraries, which are for any Python.

    With the C machine it is for one Python, as an extension is that uses more than the limited API has.
    """

    def get_tag(self) -> tuple[str, str, str]:
        """The Pythons, the interface and the platform."""
        python, interface, platform = super().get_tag()
        if not self._has_fast_paths():
            python, interface, platform = "py3", "none", "any"
        if any(LIBRARIES.glob("*.contents")):
            platform = (self.plat_name or platform).replace("-", "_").replace(".", "_")
        return python, interface, platform

    def _has_fast_paths(self) -> bool:
        """Whether the extension was built, which may fail."""
        made = self.get_finalized_command("build_ext").get_outputs()
        return any(Path(path).exists() for path in made)


setup(cmdclass={"bdist_wheel": Wheel}, ext_modules=extensions())
