"""Reading of agent files: their fields with positions, and the code that they name."""
