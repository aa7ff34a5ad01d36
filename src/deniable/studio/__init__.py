"""The studio: a local page on which a survey is written, designed, tried, collected and read."""
