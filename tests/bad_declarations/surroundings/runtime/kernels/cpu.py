"""What the runtime asks of the backend CPU."""
