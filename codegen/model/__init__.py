"""What the stages hand to each other: frozen dataclasses."""
