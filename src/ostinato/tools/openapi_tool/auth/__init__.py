"""Face of the helpers for credentials of REST tools."""
