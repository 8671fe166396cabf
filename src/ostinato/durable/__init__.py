"""Behaviour over the stores that keeps a session's runs in order and able to go on."""
