"""Parse: of strings schemas and formulas."""
