"""Child processes that end together with everything they started."""
