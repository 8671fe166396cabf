"""Credentials: the records that travel, how they are asked for, and where they are kept."""
