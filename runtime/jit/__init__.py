"""Functions as graphs of operators: ``tengen.jit.trace``, and these as files."""

from .graph import Constant as Constant
from .graph import Graph as Graph
from .graph import Node as Node
from .graph import Source as Source
from .graph import Value as Value
from .serialization import LoadError as LoadError
from .serialization import load as load
from .serialization import save as save
from .trace import TracedFunction as TracedFunction
from .trace import TracingCheckError as TracingCheckError
from .trace import trace as trace
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
