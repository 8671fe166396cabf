"""Commands that the kernel keeps from files, networks and processes of this machine."""
