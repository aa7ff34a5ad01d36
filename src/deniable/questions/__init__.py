"""What is asked: lists of yes/no questions, ways of answering, exact ε and randomness."""
