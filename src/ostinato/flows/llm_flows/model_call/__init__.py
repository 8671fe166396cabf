"""The call of the model and the checks of its response."""
