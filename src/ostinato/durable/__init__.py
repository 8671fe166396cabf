"""Leases, inboxes and journals: session runs stay ordered and survive a crash."""
