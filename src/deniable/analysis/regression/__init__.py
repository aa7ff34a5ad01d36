"""Regression from a release: least squares and logistic, from moments without bias."""
