"""Emit: texts and tables to files, and files to the disk."""
