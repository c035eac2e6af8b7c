"""Functions as graphs of operators: ``tengen.jit.trace``, and these as files."""

from .graph import Constant as Constant, Graph as Graph, Node as Node, Source as Source, Value as Value
from .script import (
    Attribute as Attribute,
    Final as Final,
    Future as Future,
    RecursiveScriptModule as RecursiveScriptModule,
    ScriptFunction as ScriptFunction,
    ScriptModule as ScriptModule,
    _overload as _overload,
    _overload_method as _overload_method,
    _script_if_tracing as _script_if_tracing,
    annotate as annotate,
    enable_onednn_fusion as enable_onednn_fusion,
    export as export,
    fork as fork,
    freeze as freeze,
    fuser as fuser,
    ignore as ignore,
    interface as interface,
    is_scripting as is_scripting,
    is_tracing as is_tracing,
    isinstance as isinstance,
    onednn_fusion_enabled as onednn_fusion_enabled,
    optimize_for_inference as optimize_for_inference,
    optimized_execution as optimized_execution,
    script as script,
    script_if_tracing as script_if_tracing,
    script_method as script_method,
    set_fusion_strategy as set_fusion_strategy,
    unused as unused,
    wait as wait,
)
from .serialization import LoadError as LoadError, load as load, save as save
from .trace import TracedFunction as TracedFunction, TracingCheckError as TracingCheckError, trace as trace
from .tracer import TracerWarning as TracerWarning

__all__ = [
    "Attribute",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TracedFunction",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "trace",
    "unused",
    "wait",
]


def __dir__() -> list[str]:
    return sorted(__all__)
