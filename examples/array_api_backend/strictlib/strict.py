"""The library of arrays: what the runtime asks of it, and the namespace of expressions."""

import array_api_strict

from tengen.array_api import ArrayLibrary, namespace

library = ArrayLibrary(array_api_strict)
__getattr__ = namespace(array_api_strict)
