"""What analysts do with a release: dependence, differences, trees, synthetic records."""
