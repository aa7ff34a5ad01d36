"""What travels, defined once for both sides.

`report` (a report, a batch of them) · `ticket` and `token` (who may report, and to which slot) · `modes`
(how a survey is collected) · `problems` (what a collector answers instead) · `schemas` (all of these as
JSON Schema).
"""
