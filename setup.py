"""Wheels: for any platform, or for one if libraries of native kernels were built for it.

All else that setuptools should know is in pyproject.toml.
"""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel

LIBRARIES = Path(__file__).parent / "generated" / "machine_code"


class Wheel(bdist_wheel):
    """A wheel whose name says the platform if it carries libraries; it is for any Python in both cases."""

    def get_tag(self) -> tuple[str, str, str]:
        """The Pythons, the interface and the platform."""
        python, interface, platform = super().get_tag()
        if any(LIBRARIES.glob("*.contents")):
            platform = (self.plat_name or platform).replace("-", "_").replace(".", "_")
        return python, interface, platform


setup(cmdclass={"bdist_wheel": Wheel})
