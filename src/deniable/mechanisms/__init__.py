"""Mechanisms: distributions over questions, and decoders. One short file each."""
