"""Every operator of the library, by what its declaration says: values, dtypes, derivatives, errors ..."""

from pathlib import Path

from tengen.testing.library import library_tests

test_operators = library_tests("splines", Path(__file__).parent)
