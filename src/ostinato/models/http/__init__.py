"""The HTTP transport of model adapters: requests, answers, event streams and credentials."""
