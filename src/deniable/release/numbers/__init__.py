"""What one number's randomized threshold answers tell of its distribution."""
