"""LLVM IR to machine code, by llvmlite, which is not needed before this module is imported."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from .numpy_api import keep_forever

#: The name and the type of the function in a kernel's IR: a strided loop of NumPy's ArrayMethods.
ENTRY, ENTRY_TYPE = "kernel", "i32 (ptr, ptr, ptr, ptr, ptr)"


#: A function that calls the kernel, and then takes back the floating-point errors that it told the processor.
_QUIET = "kernel_without_errors"
_QUIET_TEXT = f"""
declare {ENTRY_TYPE.replace("(", f"@{ENTRY}(")}
define i32 @{_QUIET}(ptr %context, ptr %args, ptr %dims, ptr %steps, ptr %data) {{
  %word = alloca i32
  %status = call i32 @{ENTRY}(ptr %context, ptr %args, ptr %dims, ptr %steps, ptr %data)
"""
#: The rest of it, by architecture: the bits of the errors are cleared in a register.
_X86_64 = """
  call void @llvm.x86.sse.stmxcsr(ptr %word)
  %all = load i32, ptr %word
  %rest = and i32 %all, -64
  store i32 %rest, ptr %word
  call void @llvm.x86.sse.ldmxcsr(ptr %word)
  ret i32 %status
}
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)
"""
_AARCH64 = """
  %all = call i64 @llvm.aarch64.get.fpsr()
  %rest = and i64 %all, -160
  call void @llvm.aarch64.set.fpsr(i64 %rest)
  ret i32 %status
}
declare i64 @llvm.aarch64.get.fpsr()
declare void @llvm.aarch64.set.fpsr(i64)
"""
_CLEARING = {"x86_64": _X86_64, "aarch64": _AARCH64, "arm64": _AARCH64}


#: Conversions of float16 by the processor, which take the place of weak functions of the lowering.
_HALF = """
define float @float16_to_float32(i16 %x) alwaysinline {
  %half = bitcast i16 %x to half
  %wide = fpext half %half to float
  ret float %wide
}
define i16 @float32_to_float16(float %x) alwaysinline {
  %half = fptrunc float %x to half
  %bits = bitcast half %half to i16
  ret i16 %bits
}
"""


#: The first version whose LLVM reads the lowering's IR.
OLDEST = (0, 50)
_TRIAL = f"define i32 @{ENTRY}(ptr %a, ptr %b, ptr %c, ptr %d, ptr %e) {{ ret i32 42 }}"


class InvalidIR(Exception):
    """IR that is not handed on to the code generator, and why."""


def version() -> str:
    """The versions of llvmlite and of LLVM."""
    return f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}"


def machine_here() -> Any:
    """The target machine of the processor at hand."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(**processor_here(), opt=3, reloc="pic")


def processor_here() -> dict[str, str]:
    """The processor's name and features."""
    return {"cpu": llvm.get_host_cpu_name(), "features": llvm.get_host_cpu_features().flatten()}


def machine_of(triple: str, cpu: str) -> Any:
    """The target machine of any processor that this llvmlite has code for. RuntimeError for another."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")


def object_code(texts: Mapping[str, str], machine: Any, *, quiet: bool = False) -> bytes:
    """One object of several modules' texts, in which each has its function by the name that it stands under.

    ``quiet`` ones leave no floating-point errors behind. InvalidIR where a text is no valid module, or has no
    such function.
    """
    context = llvm.create_context()
    has_half = any(["@float16_to" in t or "_to_float16" in t for t in texts.values()]) and converts_half(
        machine
    )
    clearing = _CLEARING.get(machine.triple.partition("-")[0])
    whole = None
    for symbol, text in texts.items():
        module = _module(symbol, text, context, clearing if quiet else None, has_half)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        if whole is None:
            whole = module
        else:
            whole.link_in(module)
    if whole is None:
        raise InvalidIR("there is no module")
    _optimise(whole, machine)
    code: bytes = machine.emit_object(whole)
    return code


@functools.cache
def converts_half(machine: Any) -> bool:
    """Whether a processor has instructions for conversions of float16: LLVM calls functions otherwise."""
    module = llvm.parse_assembly(_HALF, llvm.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return "hfsf2" not in machine.emit_assembly(module)


def _module(symbol: str, text: str, context: Any, clearing: str | None, has_half: bool) -> Any:
    """A valid module with one function that others see, ``symbol``."""
    try:
        module = llvm.parse_assembly(text, context)
        module.verify()
        entry = module.get_function(ENTRY)
    except (NameError, RuntimeError) as error:
        raise InvalidIR(f"{symbol}: {str(error).strip()}") from error
    if entry.is_declaration or str(entry.global_value_type) != ENTRY_TYPE:
        raise InvalidIR(f"{symbol}: {ENTRY} is not a function {ENTRY_TYPE}")
    if has_half:
        module.link_in(llvm.parse_assembly(_HALF, context))
    if clearing is not None:
        entry.add_function_attribute("noinline")  # so that nothing of it is done later
        module.link_in(llvm.parse_assembly(_QUIET_TEXT + clearing, context))
        module.verify()
    for value in (*module.functions, *module.global_variables):
        if not (value.is_declaration or _is_hidden(value)):
            value.linkage = "internal"
    if clearing is not None:
        entry = module.get_function(_QUIET)
    entry.linkage, entry.name = "external", symbol
    return module


def code_of(text: str, machine: Any, *, unrolls: bool) -> bytes:
    """One object of a module's text, whose functions others see. InvalidIR where it is no valid module.

    Passes that take much time, and bring a program nothing, are left out; ``unrolls`` says whether there are
    short loops in others, which unrolling brings much.
    """
    context = llvm.create_context()
    try:
        module = llvm.parse_assembly(text, context)
        module.verify()
    except RuntimeError as error:
        raise InvalidIR(str(error).strip()) from error
    if "@float16_to_float32(" in text and converts_half(machine):
        module.link_in(llvm.parse_assembly(_HALF, context))
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    _optimise(module, machine, level=2, slp=False, unrolling=unrolls)
    code: bytes = machine.emit_object(module)
    return code


def _optimise(module: Any, machine: Any, *, level: int = 3, slp: bool = True, unrolling: bool = True) -> None:
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization, options.slp_vectorization, options.loop_unrolling = True, slp, unrolling
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    for function in filter(_is_hidden, module.functions):
        function.linkage = "internal"
    unused = llvm.create_new_module_pass_manager()
    unused.add_global_dead_code_eliminate_pass()
    unused.run(module, builder)


def _is_hidden(value: Any) -> bool:
    """Whether it is a function that must stay until loops are vectorised, which then may call it."""
    return bool(value.visibility.name == "hidden")


class Linker:
    """Puts objects into this process's memory, for as long as it runs.

    RuntimeError where llvmlite is too old, or what it makes does not run in this process.
    """

    def __init__(self) -> None:
        if tuple(map(int, llvmlite.__version__.split(".")[:2])) < OLDEST:
            raise RuntimeError(f"it is {llvmlite.__version__}, older than {'.'.join(map(str, OLDEST))}")
        self.machine = machine_here()
        self._engine = llvm.create_lljit_compiler(self.machine, suppress_errors=True)
        self._linked = 0
        keep_forever(self._engine)
        address = self.link(object_code({"trial": _TRIAL}, self.machine), ["trial"])["trial"]
        if ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 5)(address)(*[None] * 5) != 42:
            raise RuntimeError("a function that was compiled to try it gives a wrong result")

    def link(
        self, code: bytes, symbols: Sequence[str], imports: Mapping[str, int] | None = None
    ) -> dict[str, int]:
        """The addresses of an object's functions. RuntimeError where one is missing, or what it calls.

        ``imports`` has the addresses of functions that are none of this process's own names.
        """
        self._linked += 1  # a name is used once
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol in symbols:
            library.export_symbol(symbol)
        for name, address in (imports or {}).items():
            library.import_symbol(name, address)
        tracker = library.link(self._engine, f"kernels{self._linked}")
        keep_forever(tracker)
        return {symbol: tracker[symbol] for symbol in symbols}
