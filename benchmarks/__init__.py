"""How fast deniable is, beside bare numpy and beside other libraries: ``make bench``."""
