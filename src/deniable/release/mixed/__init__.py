"""Attributes of any sizes: margins, departures without their noise, classes of people."""
