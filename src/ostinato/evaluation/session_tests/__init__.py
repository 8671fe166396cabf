"""Recorded sessions as tests, in google-adk's formats."""
