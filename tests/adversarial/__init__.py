"""Input that is made to cost much: patterns and parsers have to take time in proportion to it."""
