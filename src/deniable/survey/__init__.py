"""A survey: templates, slots, its format and id."""
