"""Backends of other array libraries: what all have, and a module for each, imported when it is first used."""

from .library import ArrayLibrary as ArrayLibrary, Namespace as Namespace
