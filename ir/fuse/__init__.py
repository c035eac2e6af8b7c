"""Programs of tensors: from nodes over loops to the text of LLVM's functions."""
