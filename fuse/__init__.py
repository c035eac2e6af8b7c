"""Programs of tensors, from nodes over to the text of LLVM's functions: what ``tengen.compile`` makes of a trace."""
