"""The design problem: the tables that matter, and mixtures of templates for them."""
