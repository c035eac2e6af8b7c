"""Backends of other array libraries: a module for each, imported when its device is first used."""
