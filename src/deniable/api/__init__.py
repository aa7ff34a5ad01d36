"""Survey → Tally → Release → Marginal, as people hold them."""
