"""What a person holds, what is asked of it, and exact randomness."""
