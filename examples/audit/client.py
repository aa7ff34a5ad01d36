"""Our Python client, as `deniable audit --command` runs one: a record a line, a report a line.

deniable audit survey.json --command "python client.py {survey}"
"""

import json
import sys

from deniable import Client, Ledger, Survey

survey = Survey.load(sys.argv[1])
for line in sys.stdin:
    # Each line is another person, so each has a ledger of its own, and one that is forgotten.
    client = Client(survey, ledger=Ledger.in_memory(), limit=20, lifetime_limit=20)
    print(json.dumps(client.report(json.loads(line)).to_json()))
