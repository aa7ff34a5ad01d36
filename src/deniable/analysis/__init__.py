"""What analysts do with a release: tests of independence, trees, synthetic records."""
