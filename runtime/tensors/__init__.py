"""The handle that users hold: making, indexing, converting, printing, and files."""
