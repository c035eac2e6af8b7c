"""Forward mode: tangents, and how operators carry them."""
