"""Dependence of two attributes, from a table and its covariance: residuals, test, V, information."""
