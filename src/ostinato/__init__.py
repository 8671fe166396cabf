"""Ostinato: an agent runtime whose loop keeps going."""
