"""Functions as graphs of operators: ``tengen.jit.trace``, and these as files."""

from tengen.jit.graph import Constant as Constant
from tengen.jit.graph import Graph as Graph
from tengen.jit.graph import Node as Node
from tengen.jit.graph import Source as Source
from tengen.jit.graph import Value as Value
from tengen.jit.serialization import LoadError as LoadError
from tengen.jit.serialization import load as load
from tengen.jit.serialization import save as save
from tengen.jit.trace import TracedFunction as TracedFunction
from tengen.jit.trace import TracingCheckError as TracingCheckError
from tengen.jit.trace import trace as trace
from tengen.jit.tracer import TracerWarning as TracerWarning
