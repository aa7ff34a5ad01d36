"""Tallies to estimates with covariances; chosen by the way of answering."""
