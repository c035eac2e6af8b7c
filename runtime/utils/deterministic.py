"""What is done for programs that ask for deterministic operators (``use_deterministic_algorithms``)."""

#: Whether memory that is not set is filled: PyTorch's switch, which changes nothing here.
fill_uninitialized_memory = True
