"""Predicted errors, lower bounds, and the choice of a mechanism."""
