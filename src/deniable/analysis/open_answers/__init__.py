"""Private answers explained by open columns: likelihoods, scores, and fits of single reports."""
