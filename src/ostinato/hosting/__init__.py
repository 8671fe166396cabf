"""What the command line and the server share: loading a user's agents, and the services behind."""
