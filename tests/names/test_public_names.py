"""That ``dir`` shows PyTorch's names and no others, save those that are declared with a reason."""

from __future__ import annotations

import importlib.util
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import names_page
import pytest
from public_names import PLACES, at, public, recorded

import tengen

RECORDED = recorded()
ADDED = names_page.added()


#: The modules of distributions that have the class or classes which ``distributions`` has.
OF_ONE_CLASS = {
    cls.__module__.rpartition(".")[2]
    for cls in vars(tengen.distributions).values()
    if isinstance(cls, type) and f"{cls.__module__}" not in (f"tengen.{place}" for place in PLACES)
} - {"compositions"}
#: Modules that PyTorch replaces by objects, or that have names of what they are made of, or no public ones.
LOOKED_AT_ELSEWHERE = {
    *("ops", "version", "types", "multiprocessing"),
    *("backends.cudnn", "backends.mkldnn", "backends.opt_einsum", "backends.quantized"),
    *("utils.cpp_extension", "utils.deterministic", "utils.tensorboard"),
    *("nn.utils.spectral_norm", "nn.utils.weight_norm"),
    *(f"distributions.{name}" for name in OF_ONE_CLASS),
    *(
        "nn.common_types",
        "nn.parallel.data_parallel",
        "nn.parallel.distributed",
        "nn.parallel.scatter_gather",
    ),
    "storage",
    # tests/data/test_torch_pipes.py
    *("utils.data.graph", "utils.data.graph_settings", "utils.data.datapipes"),
    *(f"utils.data.datapipes.{name}" for name in ("datapipe", "iter", "map", "utils", "utils.decoder")),
    *(
        f"utils.data.datapipes.iter.{name}"
        for name in ("callable", "combinatorics", "combining", "grouping", "selecting", "sharding", "utils")
    ),
}


def renamed(name: str) -> str:
    """A name of function overrides as PyTorch has it."""
    return name.replace("tengen", "torch").replace("Tengen", "Torch")


def shown(place: str) -> set[str]:
    return public(dir(at(tengen, place)))


def full(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


@pytest.mark.parametrize("place", PLACES)
def test_no_other_names_are_shown(place: str) -> None:
    others = {full(place, name) for name in shown(place) if renamed(name) not in RECORDED[place]}
    assert others - ADDED.keys() == set()


@pytest.mark.parametrize("place", PLACES)
def test_what_is_shown_is_there(place: str) -> None:
    assert shown(place)
    assert [name for name in shown(place) if not hasattr(at(tengen, place), name)] == []


def home(value: Any) -> str:
    """The package that something is of; a constant is of ours."""
    name: str = (
        getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", None) or "tengen"
    )
    return name.partition(".")[0]


@pytest.mark.parametrize("place", [p for p in PLACES if p not in ("", "Tensor")])
def test_what_a_module_imports_is_not_shown(place: str) -> None:
    """A module shows what it lists as public; one that lists nothing, what comes from tengen."""
    module = at(tengen, place)
    listed = getattr(module, "__all__", None)
    if listed is not None:
        assert set(listed) <= set(dir(module))
        assert {n for n in dir(module) if not isinstance(getattr(module, n), ModuleType)} <= set(listed)
    assert {name for name in shown(place) if home(getattr(module, name)) != "tengen"} == set()


@pytest.mark.parametrize("name", ADDED)
def test_no_added_name_is_stale(name: str) -> None:
    place, _, last = name.rpartition(".")
    assert last in shown(place)
    assert last not in RECORDED[place], "PyTorch has it"


def test_operators_that_only_formulas_call_are_hidden() -> None:
    """They are where generated code finds them, as PyTorch's are in torch.ops."""
    from tengen.generated import functions

    for name in ("max_pool1d_backward", "convolution_backward", "unique_dim", "alias"):
        assert hasattr(functions, name)
        assert not hasattr(tengen, name)


def test_in_place_functions_are_pytorchs() -> None:
    for name in ("relu_", "exp_", "zero_"):
        assert hasattr(tengen, name)
    for name in ("add_", "scatter_", "lerp_"):
        assert not hasattr(tengen, name)
        assert hasattr(tengen.Tensor, name)


def test_a_star_imports_what_is_shown() -> None:
    program = (
        "from tengen import *; import tengen; print(set(tengen.__all__) <= set(globals()), len(globals()))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    fits, count = said.split()
    assert fits == "True"
    assert int(count) > 400
    assert set(tengen.__all__) <= set(dir(tengen))


@pytest.mark.oracle
def test_the_record_is_of_torch(torch: Any) -> None:
    """In a process of its own: what torch shows depends on which of its modules are imported."""
    program = "import json, public_names as p; print(json.dumps({k: [*v] for k, v in p.of_torch().items()}))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    found = {place: set(names) for place, names in json.loads(done.stdout).items()}
    assert found == RECORDED, "python tests/names/public_names.py records it anew"


def there(name: str) -> bool:
    """Whether there is a module, without an import of it."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
    except ValueError:  # one that is made when it is asked for, as torch.ops
        return True


@pytest.mark.oracle
def test_every_module_of_pytorch_is_looked_at(torch: Any) -> None:
    """Each module of tengen that has the name of one of PyTorch's, save those of LOOKED_AT_ELSEWHERE."""
    found = [m.name.partition(".")[2] for m in pkgutil.walk_packages(tengen.__path__, "tengen.")]
    public_modules = [name for name in found if not any(part.startswith("_") for part in name.split("."))]
    shared = {name for name in public_modules if there(f"torch.{name}")}
    assert shared - set(PLACES) == LOOKED_AT_ELSEWHERE
