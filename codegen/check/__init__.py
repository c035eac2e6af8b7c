"""Check: of entries Operators and Derivatives whose every name means something."""
