"""Toolsets of Google's APIs, made of their discovery documents."""
