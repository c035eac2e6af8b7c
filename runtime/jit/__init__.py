"""Functions as graphs of operators: ``tengen.jit.trace``, and these as files."""

from .graph import Constant as Constant, Graph as Graph, Node as Node, Source as Source, Value as Value
from .serialization import LoadError as LoadError, load as load, save as save
from .trace import TracedFunction as TracedFunction, TracingCheckError as TracingCheckError, trace as trace
from .tracer import TracerWarning as TracerWarning

__all__ = [
    "TracedFunction",
    "TracerWarning",
    "TracingCheckError",
    "load",
    "save",
    "trace",
]


def __dir__() -> list[str]:
    return sorted(__all__)
