"""A survey as frozen data: templates, slots, checks, its format and id."""
