"""The device ``cuda`` where no GPU is, and over a stand-in for CuPy. Nothing here runs on a GPU."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tengen

PROGRAM = Path(__file__).resolve().with_name("cuda_program.py")
#: Names and arguments of functions, as they answer where there is no GPU.
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    *[
        (name, ())
        for name in ("is_available", "is_initialized", "device_count", "memory_stats", "empty_cache")
    ],
    *[(f"{most}memory_{kind}", ()) for most in ("", "max_") for kind in ("allocated", "reserved")],
    *[(name, ()) for name in ("init", "current_device", "synchronize", "current_stream", "default_stream")],
    *[(f"get_device_{what}", ()) for what in ("name", "capability", "properties")],
    *[(name, ()) for name in ("mem_get_info", "get_arch_list", "is_bf16_supported", "Stream", "Event")],
    *[(name, ()) for name in ("seed", "seed_all", "initial_seed", "get_rng_state", "get_rng_state_all")],
    *[(name, (1,)) for name in ("manual_seed", "manual_seed_all")],
    ("set_rng_state_all", ([],)),
    ("can_device_access_peer", (0, 1)),
    ("set_stream", (None,)),
]


def answer(m: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    """What a function returns or raises."""
    try:
        return getattr(m.cuda, name)(*arguments)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.skipif(tengen.cuda.is_available(), reason="there is a GPU")
@pytest.mark.oracle
def test_without_a_gpu_it_answers_as_pytorch_does(torch: Any) -> None:
    if torch.cuda.is_available():
        pytest.skip("torch has a GPU")
    for name, arguments in CALLS:
        assert answer(tengen, name, arguments) == answer(torch, name, arguments), name
    for m in (tengen, torch):
        state = m.get_rng_state()
        m.cuda.set_rng_state(m.zeros_like(state))
        m.cuda.manual_seed(1)
        assert m.equal(m.get_rng_state(), state)
        with m.cuda.device_of(m.ones(2)):
            pass


@pytest.mark.skipif(tengen.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_device_is_one_and_tensors_there_are_an_error() -> None:
    assert tengen.device("cuda", 1) == tengen.device("cuda:1")
    assert not tengen.cuda.is_available() and tengen.cuda.device_count() == 0
    error, text = AssertionError, "Torch not compiled with CUDA enabled"
    if importlib.util.find_spec("cupy") is None:
        error, text = ImportError, r"needs the package cupy: pip install tengen\[cuda\]"
    for make in (lambda: tengen.ones(2, device="cuda"), lambda: tengen.ones(2).to("cuda")):
        with pytest.raises(error, match=text):
            make()


def test_the_backend_does_as_the_cpu_over_a_stand_in_for_cupy() -> None:
    done = subprocess.run([sys.executable, PROGRAM], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
