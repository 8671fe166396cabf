"""A bakery whose agents are described in YAML."""
