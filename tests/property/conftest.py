"""The same examples in every run, so that a failure is one for everybody.

HYPOTHESIS_PROFILE=explore looks for new ones, many of them.
"""

import os

from hypothesis import settings

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
