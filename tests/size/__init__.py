"""Measurements of stores of the size that a busy server has after months; run by hand."""
