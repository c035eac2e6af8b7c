"""What ``tengen.compile`` is made of: traces as programs of nodes, guards, and calls of machine code."""
