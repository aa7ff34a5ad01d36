"""The black-box audit: what a foreign client gives away, told from its reports alone."""
