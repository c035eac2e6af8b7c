"""The library of arrays: what the runtime asks of it, and the namespace of kernels."""

import array_api_strict

from tengen.array_libraries import ArrayLibrary

library = ArrayLibrary(array_api_strict)
