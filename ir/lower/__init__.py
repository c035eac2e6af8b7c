"""Lower: expressions of scalars to loops, and loops to LLVM IR as text. Nothing here needs LLVM or NumPy."""
