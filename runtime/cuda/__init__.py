"""GPUs by CuPy, under PyTorch's names (``pip install tengen[cuda]``). Not run on a GPU yet.

Without CuPy, a driver or a GPU all answers are those of PyTorch's build without CUDA: nothing is available,
and what needs a device raises AssertionError.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.device import device as Device
from ..core.scalar_type import CLASS_NAMES, STORAGE_NAMES
from ..core.tensor_base import TensorBase
from ..random import default_generator

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = [
    "CUDAGraph",
    "Event",
    "OutOfMemoryError",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]
__all__ += sorted(CLASS_NAMES | STORAGE_NAMES)


def __dir__() -> list[str]:
    return sorted(__all__)


@cache
def _cupy() -> Any:
    """CuPy, where it is installed and finds a device; else None."""
    try:
        found = import_module("cupy")
    except ImportError:
        return None
    return found if found.cuda.is_available() else None


def _needed() -> Any:
    found = _cupy()
    if found is None:
        raise AssertionError("Torch not compiled with CUDA enabled")
    return found


def _index(device: Any) -> int:
    """The number of a device; the current one's for None, and for a device without a number."""
    if isinstance(device, str):
        device = Device(device)
    if isinstance(device, Device):
        device = device.index
    return current_device() if device is None else int(device)


class OutOfMemoryError(RuntimeError):
    """A device has no more memory. CuPy raises an error of its own, `cupy.cuda.memory.OutOfMemoryError`."""


def __getattr__(name: str) -> Any:
    """The classes of tensors of one dtype, ``tengen.cuda.FloatTensor``; and ``tengen.cuda.amp``."""
    if name == "amp":
        return import_module(f"{__name__}.amp")
    if name in CLASS_NAMES:
        return import_module("tengen.tensors.typed_classes").typed_class(name, "cuda")
    if name in STORAGE_NAMES:
        return import_module("tengen.tensors.storage_classes").storage_class(name, "cuda")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# -- devices


def is_available() -> bool:
    """Whether CuPy is installed and finds a GPU with its driver."""
    return _cupy() is not None


def is_initialized() -> bool:
    """Whether there is a GPU to use: CuPy initialises it when it is first used."""
    return is_available()


def init() -> None:
    """Use the current device. AssertionError where there is none."""
    _needed().cuda.Device().use()


def device_count() -> int:
    """How many GPUs there are; 0 where CuPy finds none."""
    found = _cupy()
    return 0 if found is None else int(found.cuda.runtime.getDeviceCount())


def current_device() -> int:
    """The number of this thread's device. AssertionError where there is none."""
    return int(_needed().cuda.Device().id)


def set_device(device: Any) -> None:
    """Make a device the current one of this thread; a negative number changes nothing.

    ``device`` is a number, "cuda:1" or a ``tengen.device``. AssertionError where there is none.
    """
    number = _index(device)
    if number >= 0:
        _needed().cuda.Device(number).use()


def synchronize(device: Any = None) -> None:
    """Wait until a device, by default the current one, has done all. AssertionError where there is none."""
    found = _needed()
    found.cuda.Device(_index(device)).synchronize()


def get_device_properties(device: Any = None) -> dict[str, Any]:
    """What CUDA's runtime says of a device, as a dict. AssertionError where there is none."""
    found = _needed()
    properties: dict[str, Any] = found.cuda.runtime.getDeviceProperties(_index(device))
    return properties


def get_device_name(device: Any = None) -> str:
    """The name of a device. AssertionError where there is none."""
    name = get_device_properties(device)["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The (major, minor) compute capability of a device. AssertionError where there is none."""
    properties = get_device_properties(device)
    return int(properties["major"]), int(properties["minor"])


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether a device reads another's memory. AssertionError where there is none."""
    return bool(_needed().cuda.runtime.deviceCanAccessPeer(_index(device), _index(peer_device)))


def get_arch_list() -> list[str]:
    """The architectures for which kernels are compiled in advance: none, for CuPy compiles them when used."""
    return []


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether tensors there are bfloat16: no, for arrays of CuPy are not."""
    return False


class device:
    """Within ``with`` a device is the current one: ``with tengen.cuda.device(1)``.

    A negative number changes nothing. AssertionError on entry where there is none.
    """

    def __init__(self, device: Any) -> None:
        self._given = device
        self._entered: list[Any] = []

    def __enter__(self) -> None:
        number = _index(self._given)
        chosen = _needed().cuda.Device(number) if number >= 0 else nullcontext()
        chosen.__enter__()
        self._entered.append(chosen)

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)


class device_of(device):
    """Within ``with`` the device of a tensor is the current one.

    Nothing changes for a tensor that is not on a GPU.
    """

    def __init__(self, device: Any) -> None:
        super().__init__(device.get_device() if device.is_cuda else -1)


# -- random numbers, which the one generator of the process gives to all devices


def manual_seed(seed: int) -> None:
    """``tengen.manual_seed``, for all devices have one generator; nothing where there is no GPU."""
    if is_available():
        default_generator.manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """``manual_seed``: the devices have one generator."""
    manual_seed(seed)


def seed() -> None:
    """Seed the generator with a number that the system gives; nothing where there is no GPU."""
    if is_available():
        default_generator.seed()


def seed_all() -> None:
    """``seed``: the devices have one generator."""
    seed()


def initial_seed() -> int:
    """The seed of the generator. AssertionError where there is no GPU."""
    _needed()
    return default_generator.initial_seed()


def get_rng_state(device: int | str | Device = "cuda") -> Tensor:
    """The state of the generator, the same for each device. AssertionError where there is no GPU.

    A tensor of uint8 on the CPU, of one dimension.
    """
    _needed()
    return default_generator.get_state()


def get_rng_state_all() -> list[Tensor]:
    """The states by devices, each of dtype uint8; an empty list where there is no GPU."""
    return [get_rng_state(number) for number in range(device_count())]


def set_rng_state(new_state: TensorBase, device: int | str | Device = "cuda") -> None:
    """Put the generator into a state that ``get_rng_state`` gave; nothing where there is no GPU."""
    if is_available():
        default_generator.set_state(new_state)


def set_rng_state_all(new_states: Iterable[TensorBase]) -> None:
    """Put the generator into the states that ``get_rng_state_all`` gave, one and the same."""
    for number, state in enumerate(new_states):
        set_rng_state(state, number)


# -- memory, of CuPy's pool


def _pool(method: str) -> int:
    found = _cupy()
    return 0 if found is None else int(getattr(found.get_default_memory_pool(), method)())


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors have of the current device's pool; 0 where there is none."""
    return _pool("used_bytes")


def memory_reserved(device: Any = None) -> int:
    """The bytes that the current device's pool has; 0 where there is none."""
    return _pool("total_bytes")


def max_memory_allocated(device: Any = None) -> int:
    """What ``memory_reserved`` says: CuPy's pool does not keep the most that was used, which is no more."""
    return _pool("total_bytes")


def max_memory_reserved(device: Any = None) -> int:
    """What ``memory_reserved`` says: the pool does not keep the most."""
    return _pool("total_bytes")


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """The bytes that are allocated and reserved, under PyTorch's keys; empty where there is no device."""
    if not is_available():
        return OrderedDict()
    allocated, reserved = memory_allocated(device), memory_reserved(device)
    return OrderedDict({"allocated_bytes.all.current": allocated, "reserved_bytes.all.current": reserved})


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """The free and all bytes of a device's memory. AssertionError where there is none."""
    found = _needed()
    with found.cuda.Device(_index(device)):
        free, total = found.cuda.runtime.memGetInfo()
    return int(free), int(total)


def empty_cache() -> None:
    """Give back what the pool has and no tensor uses."""
    found = _cupy()
    if found is not None:
        found.get_default_memory_pool().free_all_blocks()


def memory_cached(device: Any = None) -> int:
    """``memory_reserved``, by its old name."""
    return memory_reserved(device)


def max_memory_cached(device: Any = None) -> int:
    """``max_memory_reserved``, by its old name."""
    return max_memory_reserved(device)


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """The bytes that are allocated and reserved, as text; empty where there is no device."""
    return "\n".join([f"{name}: {count}" for name, count in memory_stats(device).items()])


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing: the pool does not keep the most."""


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Nothing: the pool adds nothing up."""


def reset_max_memory_allocated(device: Any = None) -> None:
    """Nothing: the pool does not keep the most."""


def reset_max_memory_cached(device: Any = None) -> None:
    """Nothing: the pool does not keep the most."""


def ipc_collect() -> None:
    """Nothing: memory is not shared with other processes."""


# -- streams and events


class Stream:
    """A queue of work on a device. RuntimeError where there is none."""

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        if not is_available():
            raise RuntimeError("torch.cuda.Stream requires CUDA support")
        with _needed().cuda.Device(_index(device)):
            #: CuPy's stream.
            self.stream: Any = _needed().cuda.Stream(non_blocking=True)

    @property
    def cuda_stream(self) -> int:
        """The handle that CUDA gave the stream."""
        return int(self.stream.ptr)

    def query(self) -> bool:
        """Whether all work is done."""
        return bool(self.stream.done)

    def synchronize(self) -> None:
        """Wait until all work is done."""
        self.stream.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, behind the work so far."""
        made = Event() if event is None else event
        made.record(self)
        return made

    def wait_event(self, event: Event) -> None:
        """Let later work wait for an event."""
        self.stream.wait_event(event.event)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work wait for the work so far of another stream."""
        self.wait_event(stream.record_event())


class Event:
    """A mark in the work of a stream. RuntimeError where there is no device."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class Event")
        #: CuPy's event.
        self.event: Any = _needed().cuda.Event(block=blocking, disable_timing=not enable_timing)

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark behind the work so far of a stream, by default the current one."""
        self.event.record(None if stream is None else stream.stream)

    def query(self) -> bool:
        """Whether the work before the mark is done."""
        return bool(self.event.done)

    def synchronize(self) -> None:
        """Wait for the work before the mark."""
        self.event.synchronize()

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a stream, by default the current one, wait for the mark."""
        (current_stream() if stream is None else stream).wait_event(self)

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this mark to another; both were made with ``enable_timing``."""
        return float(_needed().cuda.get_elapsed_time(self.event, end_event.event))


def _stream_of(found: Any) -> Stream:
    made = object.__new__(Stream)
    made.stream = found
    return made


def current_stream(device: Any = None) -> Stream:
    """The stream that work goes to. AssertionError where there is no device."""
    return _stream_of(_needed().cuda.get_current_stream())


def default_stream(device: Any = None) -> Stream:
    """The stream that work goes to unless one is chosen. AssertionError where there is no device."""
    return _stream_of(_needed().cuda.Stream.null)


def set_stream(stream: Stream | None) -> None:
    """Send this thread's work to a stream; nothing for None."""
    if stream is not None:
        stream.stream.use()


class StreamContext:
    """Within ``with`` work goes to a stream; to that of before for None."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.stream.__enter__()

    def __exit__(self, *error: Any) -> None:
        if self.stream is not None:
            self.stream.stream.__exit__(*error)


def stream(stream: Stream | None) -> StreamContext:
    """The context in which work goes to a stream."""
    return StreamContext(stream)


def is_current_stream_capturing() -> bool:
    """Whether CuPy's current stream records a graph; False where there is no GPU."""
    found = _cupy()
    return found is not None and bool(found.cuda.get_current_stream().is_capturing())


class CUDAGraph:
    """Work of a GPU that was recorded. RuntimeError: nothing records it; the class is for annotations."""

    def __init__(self, keep_graph: bool = False) -> None:
        raise RuntimeError(
            "torch.cuda.CUDAGraph: graphs of CUDA's are not recorded here: work runs as it comes"
        )


class graph:
    """Within ``with`` the work is recorded. RuntimeError: nothing records it."""

    def __init__(self, cuda_graph: Any, pool: Any = None, stream: Any = None, **options: Any) -> None:
        raise RuntimeError("torch.cuda.graph: graphs of CUDA's are not recorded here: work runs as it comes")
