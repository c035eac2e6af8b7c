"""The IR of expressions, the two ends at which it is text, and the types of what expressions give."""
