"""Tests of one part each; the folders mirror `src/ostinato`."""
