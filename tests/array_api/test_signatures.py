"""That the namespace has the standard's names and signatures: the table is made from it (standard.py)."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import tengen
from tengen import array_api
from tengen.array_api import data_types
from tengen.core.array_namespace import VERSIONS

TABLE: dict[str, dict[str, str]] = json.loads((Path(__file__).parent / "signatures.json").read_text("utf-8"))
HOMES: dict[str, Any] = {
    "": array_api,
    "fft": array_api.fft,
    "info": array_api.__array_namespace_info__(),
    "linalg": array_api.linalg,
    "Tensor": tengen.Tensor,
}
FUNCTIONS = [
    (place, name, signature)
    for place, names in TABLE.items()
    for name, signature in names.items()
    if signature and place in ("", "fft", "linalg")
]


def written(signature: inspect.Signature) -> str:
    """A signature without annotations."""
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(bare))


def test_the_table_is_whole() -> None:
    assert TABLE.keys() == HOMES.keys()
    assert {place: len(names) > 4 for place, names in TABLE.items()} == dict.fromkeys(TABLE, True)


@pytest.mark.parametrize(("place", "name", "signature"), FUNCTIONS, ids=lambda v: v.lstrip("("))
def test_signature(place: str, name: str, signature: str) -> None:
    function = getattr(HOMES[place], name)
    assert written(inspect.signature(function)) == signature
    assert function.__doc__


@pytest.mark.parametrize("place", TABLE)
def test_nothing_is_missing(place: str) -> None:
    assert [name for name in TABLE[place] if not hasattr(HOMES[place], name)] == []


def test_nothing_else_is_public() -> None:
    submodules = {name for name, value in vars(array_api).items() if inspect.ismodule(value)}
    public = {name for name in vars(array_api) if not name.startswith("_")} - submodules
    assert public <= TABLE[""].keys() | {"annotations"}


def test_dtypes_are_those_of_the_standard() -> None:
    info = array_api.__array_namespace_info__()
    dtypes = info.dtypes()
    assert dtypes == {n: getattr(array_api, n) for n in TABLE[""] if hasattr(data_types, n)}
    assert all(getattr(tengen, name) is d for name, d in dtypes.items())
    assert info.dtypes(kind=("bool", "complex floating")).keys() == {"bool", "complex64", "complex128"}


def test_tensors_tell_the_namespace() -> None:
    x = tengen.ones(2)
    assert x.__array_namespace__() is array_api
    assert array_api.__array_api_version__ == VERSIONS[-1]
    assert all(x.__array_namespace__(api_version=v) is array_api for v in VERSIONS)
    with pytest.raises(ValueError, match=r"api_version must be one of 2021\.12, .*, not '2020.01'"):
        x.__array_namespace__(api_version="2020.01")


def test_to_device() -> None:
    x = tengen.ones(2)
    assert x.to_device("cpu") is x
    assert x.to_device("meta").device == tengen.device("meta")
    with pytest.raises(ValueError, match="stream must be None, not int"):
        x.to_device("cpu", stream=1)
