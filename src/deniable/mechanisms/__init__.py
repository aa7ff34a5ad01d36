"""Mechanisms: ways to design a survey. One short file each."""
