"""Reports become tallies: exact, mergeable counts."""
