"""What goes wrong around machine code leaves operators with NumPy's forms, and tells why."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from in_threads import in_threads
from machine_tables import ir, run, start

from tengen.machine_code import Kernels, cache as caching, compiler, just_in_time, lowering
from tengen.machine_code.status import status
from tengen.machine_code.tables import Kernel, Table

Fresh = Callable[[], Kernels]
TABLES = "machine_tables_of_a_test"
pytest.importorskip("llvmlite", reason="NOT TESTED: llvmlite is not installed")

X = np.arange(4, dtype="float32")


def right(u: Any) -> bool:
    return u is not None and np.array_equal(u(X, np.float32(1)), X * 2 + 1)


# -- IR ----------------------------------------------------------------------------------------------

HEAD = "define i32 @kernel(ptr %a, ptr %b, ptr %c, ptr %d, ptr %e) {\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("define i32 @kernel(", "IR parsing error"),
        (HEAD + "%x = add i32 %y, 1\n%y = add i32 %x, 1\nret i32 %x }", "does not dominate"),
        ("define i32 @other() { ret i32 0 }", "kernel"),
        ("declare i32 @kernel(ptr, ptr, ptr, ptr, ptr)", "is not a function"),
        ("define void @kernel() { ret void }", "is not a function"),
        (f"declare i32 @nobody_has_it()\n{HEAD}%x = call i32 @nobody_has_it()\nret i32 %x }}", "symbols"),
    ],
    ids=["syntax", "verification", "no function", "no body", "another signature", "unknown callee"],
)
def test_bad_ir_does_not_run(
    fresh: Fresh, cache: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    def bad(table: Table, kernel: Kernel, scalar: str) -> str:
        return text if kernel.name == "total" and scalar == "float64" else ir(table, kernel, scalar)

    monkeypatch.setattr(lowering, "ir", bad)
    kernels = fresh()
    assert kernels.total is None and right(kernels.double_and_add)
    failures = status(TABLES).failures
    assert list(failures) == ["total"] and told in failures["total"] and "\n" not in failures["total"]


def test_a_lowering_that_fails_leaves_numpys_form(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(table: Table, kernel: Kernel, scalar: str) -> str:
        raise KeyError("a function without a program")

    monkeypatch.setattr(lowering, "ir", refuses)
    assert fresh().total is None
    assert status(TABLES).failures == {"total": "KeyError: 'a function without a program'"}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("llvmlite.__version__", "0.43.0", "it is 0.43.0, older than 0.50"),
        (
            "_TRIAL",
            "define i32 @kernel(ptr %a, ptr %b, ptr %c, ptr %d, ptr %e) { ret i32 1 }",
            "wrong result",
        ),
        ("llvm.create_lljit_compiler", lambda *given, **more: 1 / 0, "division by zero"),
    ],
)
def test_an_llvmlite_that_does_not_work_is_not_used(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch, name: str, value: object, told: str
) -> None:
    monkeypatch.setattr(f"tengen.machine_code.compiler.{name}", value)
    assert fresh().total is None
    found = status(TABLES)
    assert found.used == "numpy" and not found.failures
    assert "llvmlite does not work here" in found.reason and told in found.reason


# -- the cache -----------------------------------------------------------------------------------------


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first symbol of each object that is compiled."""
    found: list[str] = []

    def object_code(texts: Mapping[str, str], machine: Any, quiet: bool) -> bytes:
        found.append(next(iter(texts)))
        return compiler.object_code(texts, machine, quiet=quiet)

    monkeypatch.setattr(just_in_time, "object_code", object_code)
    return found


def test_what_was_compiled_is_not_compiled_again(fresh: Fresh, cache: Path, compiled: list[str]) -> None:
    assert right(fresh().double_and_add) and right(fresh().double_and_add)
    assert len(compiled) == 1 and len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("damage", ["cut short", "a bit", "empty", "of another key"])
def test_a_damaged_file_is_made_again(fresh: Fresh, cache: Path, compiled: list[str], damage: str) -> None:
    kernels = fresh()
    assert right(kernels.double_and_add)
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    if damage == "of another key":
        assert kernels.total is not None
        (other,) = set(cache.iterdir()) - {file}
        file.write_bytes(other.read_bytes())
    else:
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        file.write_bytes({"cut short": whole[:middle], "a bit": flipped, "empty": b""}[damage])
    compiled.clear()
    assert right(fresh().double_and_add)
    assert len(compiled) == 1 and file.read_bytes() == whole


@pytest.mark.parametrize("other", [{"cpu": "nocona"}, {"features": "+sse2"}])
def test_another_processors_code_is_not_used(
    fresh: Fresh, cache: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch, other: dict[str, str]
) -> None:
    here = compiler.processor_here()
    with monkeypatch.context() as there:
        there.setattr(just_in_time, "processor_here", lambda: here | other)
        assert right(fresh().double_and_add)
    assert right(fresh().double_and_add)
    assert len(compiled) == 2 and len(list(cache.iterdir())) == 2


def test_another_lowering_makes_other_code(
    fresh: Fresh, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert right(fresh().double_and_add)
    monkeypatch.setattr("tengen.machine_code.tables.lowering_digest", lambda: "another")
    assert right(fresh().double_and_add)
    assert len(compiled) == 2


def test_a_cache_that_cannot_be_written_is_none(
    fresh: Fresh, compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("TENGEN_CACHE", str(tmp_path / "file" / "below"))
    kernels = fresh()
    assert right(kernels.double_and_add) and kernels.total is not None
    assert len(compiled) == 2 and status(TABLES).cache.startswith("none: ")


def test_a_full_disk_is_no_cache(fresh: Fresh, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.os, "replace", full)
    assert right(fresh().double_and_add)
    assert not list(cache.iterdir()) and "No space left" in status(TABLES).cache


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
def test_another_users_file_is_not_run(
    fresh: Fresh, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert right(fresh().double_and_add)
    monkeypatch.setattr(caching, "_trusted", lambda found: False)
    assert right(fresh().double_and_add)
    assert len(compiled) == 2


def test_processes_fill_an_empty_cache_at_once(cache: Path) -> None:
    program = "import time; time.sleep(max(0, {at} - time.time())); print(right(kernels.double_and_add))"
    at = time.time() + 1.0
    processes = [start(program.format(at=at), TENGEN_CACHE=str(cache.parent)) for _ in range(4)]
    assert [p.communicate(timeout=120)[0].strip() for p in processes] == ["True"] * 4
    assert [p.suffix for p in cache.iterdir()] == [".o"]


def test_files_that_nobody_uses_are_removed(cache: Path) -> None:
    cache.mkdir(parents=True)
    for name, days in (("old.o", 100), ("used.o", 10), ("dead.part", 2), ("writing.part", 0)):
        (cache / name).write_bytes(b"")
        then = (cache / name).stat().st_mtime - days * 24 * 3600
        os.utime(cache / name, (then, then))
    kept = caching.Cache(cache)
    kept.write("key", b"code")
    assert {p.name for p in cache.iterdir()} == {"used.o", "writing.part", "key.o"}
    assert kept.read("key") == b"code" and kept.read("another") is None


def test_they_are_looked_for_once_a_day(cache: Path) -> None:
    kept, day = caching.Cache(cache), 24 * 3600
    kept.write("key", b"code")
    (cache / "old.o").write_bytes(b"")
    os.utime(cache / "old.o", (0, 0))
    kept.write("key", b"code")
    assert (cache / "old.o").exists()
    yesterday = time.time() - 2 * day
    os.utime(cache.with_suffix(".tidied"), (yesterday, yesterday))
    kept.write("key", b"code")
    assert not (cache / "old.o").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has its own folder")
def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TENGEN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert caching.cache_folder() == tmp_path / "tengen" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert caching.cache_folder() == tmp_path / ".cache" / "tengen" / "kernels"


# -- processes, threads, interruptions -----------------------------------------------------------------


def test_threads_that_ask_at_once_compile_once(fresh: Fresh, compiled: list[str]) -> None:
    kernels, barrier = fresh(), threading.Barrier(8)

    def work(number: int) -> None:
        barrier.wait()
        assert right(kernels.double_and_add)

    in_threads(work, range(8))
    assert len(compiled) == 1


def test_an_interrupted_compilation_leaves_all_usable(fresh: Fresh, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(table: Table, kernel: Kernel, scalar: str) -> str:
        signal.raise_signal(signal.SIGINT)
        return ir(table, kernel, scalar)

    kernels = fresh()
    # A process that was started in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as once:
            once.setattr(lowering, "ir", interrupted)
            with pytest.raises(KeyboardInterrupt):
                kernels.double_and_add  # noqa: B018
    finally:
        signal.signal(signal.SIGINT, before)
    found: list[bool] = []
    other = threading.Thread(target=lambda: found.append(right(kernels.double_and_add)))
    other.start()
    other.join(60)
    assert found == [True] and not status(TABLES).failures


def test_an_interrupted_write_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(source: str, target: Path) -> None:
        raise KeyboardInterrupt

    kept = caching.Cache(cache)
    with monkeypatch.context() as once:
        once.setattr(caching.os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kept.write("key", b"code")
    assert not list(cache.iterdir()) and not kept.problem
    kept.write("key", b"code")
    assert kept.read("key") == b"code"


FORK = """
import os, threading, warnings
warnings.simplefilter("ignore")  # of forks beside threads
assert right(kernels.double_and_add)
began = threading.Event()
def slow(table, kernel, scalar):
    began.set()
    import time; time.sleep(0.2)
    return machine_tables.ir(table, kernel, scalar)
lowering.ir = slow
compiling = threading.Thread(target=lambda: kernels.total)
compiling.start()
began.wait()
child = os.fork()  # while a thread compiles
if child == 0:
    lowering.ir = machine_tables.ir
    good = right(kernels.double_and_add) and kernels.total is not None and kernels._pick is not None
    os._exit(0 if good else 1)
compiling.join()
print(os.waitpid(child, 0)[1] == 0 and right(kernels.double_and_add) and kernels._pick is not None)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes do not fork here")
def test_a_process_forks_while_a_thread_compiles(cache: Path) -> None:
    assert run(FORK, TENGEN_CACHE=str(cache.parent)) == "True"


DAEMON = """
import threading
def work():
    large = np.zeros(1_000_000, "float32")
    while True:
        kernels.double_and_add(large, large)
assert right(kernels.double_and_add)
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
print("ends")
"""


def test_a_process_ends_while_threads_run_kernels(cache: Path) -> None:
    assert run(DAEMON, TENGEN_CACHE=str(cache.parent)) == "ends"


WITHIN = """
from tengen.machine_code import Kernels
from tengen.machine_code.status import status
assert Kernels("machine_tables").total is None
assert status("machine_tables").reason == "this is a subinterpreter"
"""
SUBINTERPRETER = f"""
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
assert right(kernels.double_and_add)
made = interpreters.create()
try:
    failed = interpreters.run_string(made, {WITHIN!r})
    told = "" if failed is None else failed.formatted
except interpreters.RunFailedError as error:
    told = str(error)
assert right(kernels.double_and_add) and kernels.total is not None
print(told.splitlines()[0] if told else "")
"""


def test_subinterpreters(cache: Path) -> None:
    """One that NumPy can be imported in has NumPy's forms; the main interpreter keeps its kernels."""
    told = run(SUBINTERPRETER, TENGEN_CACHE=str(cache.parent))
    if "ImportError" in told:
        pytest.skip(f"NumPy is for one interpreter: {told}")
    assert told == ""
