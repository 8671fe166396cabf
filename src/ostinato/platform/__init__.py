"""Where runs take their times, ids and threads from, so that a test can steer them."""
