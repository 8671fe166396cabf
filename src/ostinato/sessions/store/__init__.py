"""What every session store shares: the port DurableStore, leases, caches and rows."""
