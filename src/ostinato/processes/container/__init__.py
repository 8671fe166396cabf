"""Containers of docker or podman: the command line, its safe flags, and one container's life."""
