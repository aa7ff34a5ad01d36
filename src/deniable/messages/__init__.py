"""What travels, defined once for both sides: reports, batches, tickets, problems."""
