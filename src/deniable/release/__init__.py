"""Tallies become tables with error bars."""
