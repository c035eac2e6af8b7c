"""The good declarations, beside which others are read."""

from pathlib import Path

SURROUNDINGS = Path(__file__).parents[1] / "bad_declarations" / "surroundings"
