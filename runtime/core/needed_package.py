"""The error of what another package is needed for, whose text says how that is installed."""

from __future__ import annotations


def needed_package(what: str, package: str, install: str = "") -> ModuleNotFoundError:
    """The error that ``what`` lacks a package: pip is given ``install``, where that is not its name."""
    text = f"{what} needs the package {package}: pip install {install or package}"
    return ModuleNotFoundError(text, name=package)
