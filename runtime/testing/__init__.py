"""Tests of operators that follow from their declarations, and what tests of tensors need."""
