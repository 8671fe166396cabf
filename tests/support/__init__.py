"""What several suites share: databases, clocks, certificates, strategies."""
