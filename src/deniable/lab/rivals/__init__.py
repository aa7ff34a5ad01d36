"""What others would do with the same people and the same ε, to compare with: for simulation only."""
