"""Sessions as google-adk stores them."""
