"""Adapters against servers that others wrote: llama.cpp's own, and aimock's of three providers."""
