"""What files that describe agents say: their text with its places, and the code they name."""
