"""Who may use the studio: whoever opened the address that the terminal shows, and nobody after them.

The token of that address is in its fragment, which no browser sends, and is good for one exchange. What
the page gets for it goes into a header, which no other site can make a browser send here.
"""

from __future__ import annotations

import secrets
from hmac import compare_digest

from deniable.studio.problems import StudioProblem

BYTES = 32


class Session:
    """One session: the token that opens it once, and the key that its page has from then on."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(BYTES)
        self.stage = secrets.token_urlsafe(BYTES)
        """The folder of the stage's address: see `deniable.studio.stage`."""
        self._key = secrets.token_urlsafe(BYTES)
        self._is_open = False

    def exchange(self, token: object) -> str:
        """Return the page's key for the token, once; a second time it is refused."""
        is_right = isinstance(token, str) and compare_digest(
            token.encode("utf-8", "replace"), self.token.encode()
        )
        if not is_right or self._is_open:
            raise StudioProblem("token-spent")
        self._is_open = True
        return self._key

    def check(self, header: str | None) -> None:
        """Refuse a request whose header does not hold the page's key."""
        scheme, _, key = (header or "").partition(" ")
        is_right = compare_digest(key.encode("utf-8", "replace"), self._key.encode())
        if scheme != "Bearer" or not is_right or not self._is_open:
            raise StudioProblem("session-unknown")
