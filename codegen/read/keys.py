"""The keys that an entry may have, by mechanism; declarations/README.md explains them.

A key without a meaning here is one of PyTorch's: it is accepted, so that PyTorch's own files
can be read, and has no effect.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """``kinds`` names the YAML values that the key takes: str, bool, list, map, scalar."""

    name: str
    kinds: tuple[str, ...]
    meaning: str = ""


def _table(*keys: Key) -> dict[str, Key]:
    return {key.name: key for key in keys}


_STR, _BOOL, _LIST, _MAP, _WORDS = ("str",), ("bool",), ("list",), ("map",), ("str", "list")

_DTYPES = Key("dtypes", ("str", "list", "map"), "the scalar types it computes in")
_RESULT = Key("result", _STR, "the dtype of the result")
_OUT = Key("out", _STR, "which dtypes the out arguments may have")
_OVERLAP = Key("overlap", _MAP, "what Tensor arguments may share with memory that is written")
_LAYOUT = Key("layout", _WORDS, "the layout of the results, where it is not as the kernel makes it")
_LAYOUTS = Key("layouts", _MAP, "by backend, which Tensor arguments may be of its layouts together")
# What an operator is. The order of these tables is that of the keys in formatted declarations.
_WHAT = (
    Key("variants", _WORDS, "whether it is a function, a method or both"),
    Key("python_module", _STR, "the submodule that gets the function"),
    Key("autogen", _WORDS, "the in-place and out variants to derive"),
    Key("inplace_variants", _WORDS, "whether the derived in-place one is a function, a method or both"),
    Key("tags", _WORDS, "what is true of the operator; see tags.yaml"),
    Key("dispatch", _MAP, "the kernel for each backend, or the composite"),
    Key(
        "body",
        _STR,
        "what it computes over rows, where elements come from, or what is at indices: all follows",
    ),
    Key("native", ("scalar",), "what a native kernel computes, where the kernel is a function"),
)
_TYPES = (
    Key("promote", ("str", "map"), "the kind of type promotion, and of which arguments"),
    Key("refuse", _MAP, "the categories of operands, or the bool arguments, that are an error, and its text"),
    Key("same_dtype", _WORDS, "the Tensor arguments that must have one dtype"),
    Key("opmath", ("bool", "str"), "whether float16 and bfloat16 are computed in float32"),
)
_MORE = (
    Key("operators", _MAP, "Python's special methods that call it"),
    Key("deprecated", _LIST, "orders of positional arguments that are deprecated"),
    Key("factory", _MAP, "how a creation operator finds its dtype"),
    Key("batching", ("str", "map"), "what vmap does to it"),
    Key("saves_result", _BOOL, "whether a derivative that follows from the kernel may save the result"),
    Key("symbolic", _STR, "the operator in ONNX"),
    Key("write_back", _STR, "of a view: the tensor after a write to the view"),
    Key("flops", ("scalar",), "how many operations on numbers a call counts as"),
    Key("module", ("str", "map"), "the class of tengen.nn that calls it: its name, or more of it"),
    Key("public", _STR, "the function by whose name errors tell of it, where its own is not public"),
    Key("doc", _STR, "the docstring"),
    Key("domain", _MAP, "where random sample values come from"),
    Key("samples", _LIST, "calls for the generated tests"),
    Key("errors", _LIST, "bad calls and the class of the error"),
    Key("reference", ("scalar",), "an independent computation over NumPy arrays"),
    Key("determined", _LIST, "what tests look at where the results are not unique"),
    Key("expected", _MAP, "results and gradients at ties, at NaN, and where else they are a convention"),
    Key("tolerance", _MAP, "the tolerance of the generated tests, by dtype"),
    Key("warns", _STR, "what calls of it warn of: a part of the text"),
    Key("foreach", _MAP, "the forms for lists of tensors: their names, and what they take"),
    Key("differs", _MAP, "where it does not do as PyTorch does, and why"),
    Key("structured", _BOOL),
    Key("structured_delegate", _STR),
    Key("structured_inherits", _STR),
    Key("category_override", _STR),
    Key("device_check", _STR),
    Key("device_guard", _BOOL),
    Key("precomputed", ("list",)),
    Key("ufunc_inner_loop", ("map", "str")),
    Key("manual_cpp_binding", _BOOL),
    Key("manual_kernel_registration", _BOOL),
    Key("cpp_no_default_args", _LIST),
    Key("use_const_ref_for_mutable_tensors", _BOOL),
)

KEYS: dict[str, dict[str, Key]] = {
    "native": _table(
        Key("func", _STR, "the schema"),
        *_WHAT,
        _DTYPES,
        *_TYPES,
        _RESULT,
        _OUT,
        _OVERLAP,
        _LAYOUT,
        _LAYOUTS,
        *_MORE,
        Key(
            "scalar_overloads",
            _MAP,
            "the overloads that take numbers for Tensors, and what is different there",
        ),
        Key("view_copy", _WORDS, "of a view: the copying form to derive, and variants of it"),
    ),
    "cwrap": _table(
        Key("name", _STR, "the schema"),
        Key("cname", _STR, "the function to call: module:function"),
        Key("types", _WORDS, "the scalar types it computes in, as dtypes"),
        Key("backends", _WORDS, "the backends it is bound for"),
        *_WHAT,
        *_TYPES,
        _RESULT,
        _OUT,
        _OVERLAP,
        _LAYOUT,
        _LAYOUTS,
        *_MORE,
    ),
    "nn": _table(
        Key("name", _STR, "the schema of the operator that users call"),
        Key("cname", _STR, "the kernels' name, without _forward and _backward, where no dispatch says them"),
        Key("buffers", _WORDS, "further results of the forward kernel, for the backward kernel"),
        Key("gradients", _WORDS, "the inputs that have a gradient"),
        Key("unsaved", _WORDS, "optional inputs whose values the backward kernel does without"),
        *_WHAT,
        Key("backward_dispatch", _MAP, "the backward kernels, where cname does not give them"),
        Key("backward_native", ("scalar",), "what a native kernel of the backward operator computes"),
        _DTYPES,
        *_TYPES,
        Key("result", ("scalar",), "the forward-mode formula of the output"),
        _OUT,
        _OVERLAP,
        _LAYOUT,
        _LAYOUTS,
        Key("backward_layout", _WORDS, "the layout of the gradients"),
        Key("backward_derivatives", _MAP, "the derivative entry of the backward operator"),
        Key("backward_batching", ("str", "map"), "what vmap does to the backward operator"),
        Key("backward_flops", ("scalar",), "how many operations on numbers the backward operator counts as"),
        *_MORE,
    ),
}

# Keys of an entry of a library's kernels.yaml.
KERNEL_KEYS = _table(
    Key("name", _STR, "the operator of tengen that gets kernels"),
    Key("dispatch", _MAP, "the kernel for each backend that lacks one"),
    _DTYPES,
)

# Keys of an entry of modules.yaml, and of what an operator's ``module`` says.
MODULE_KEYS = _table(
    Key("name", _STR, "the class"),
    Key("function", _STR, "the function of nn.functional that it calls"),
    Key("home", _STR, "the module of nn.modules that has it"),
    Key("base", _STR, "the class it derives from; with arguments, that which does all it does"),
    Key("init", _STR, "the parameters that it is made with, where these are not the function's"),
    Key("forward", _STR, "the parameters of a call, where these are not the function's tensors"),
    Key(
        "attributes", _MAP, "what it keeps, where that is not an argument as it is; null for what it does not"
    ),
    Key("buffers", _WORDS, "the arguments that are buffers"),
    Key("given", _MAP, "what the function is given for an argument, where that is no attribute"),
    Key("check", _WORDS, "calls that raise an error for bad arguments"),
    Key("check_input", _WORDS, "calls that raise an error for bad inputs"),
    Key("repr", _WORDS, "the attributes that are printed, or the whole text with these in { }"),
    Key("doc", _STR, "the docstring"),
)

# Keys of a derivatives entry that are no names of arguments or results.
DERIVATIVE_KEYS = _table(
    Key("name", _STR, "the operator: its name, or its whole schema"),
    Key("dispatch", _MAP, "other formulas for single backends"),
    Key("output_differentiability", _LIST, "which results have a gradient"),
    Key("node", _STR, "the name that its Node shows, where it is that of another entry"),
)
