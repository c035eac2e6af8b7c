"""From a call to a kernel: Types, the matrix of them, operators and their arguments."""
