"""Golden traces: what google-adk does, recorded as data, and held against ostinato."""
