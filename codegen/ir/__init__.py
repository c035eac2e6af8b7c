"""The IR of expressions, and the two ends at which it is text."""
