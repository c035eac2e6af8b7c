"""Read: of files entries and functions, with their places."""
