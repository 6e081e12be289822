"""Who is taken on: as many requests and tokens as the limits allow, and as can be done in time.

Beyond it a request is refused at once, with the seconds after which it is worth trying again. A
queue that only grows would answer nobody in time. Tokens are about the bytes of the texts, divided
by what a token of this model has turned out to have. How fast it works is measured as it works;
while nothing waits, that is only the least that it can do.
"""

import math
import time

from regard.errors import RegardError
from regard.serve.options import ServeLimits
from regard.serve.refusal import HttpRefusal

BYTES = 4.0  # of a token, until the model has told
HEED = 0.1  # how much one more measurement counts
SHARE = 0.8  # of the deadline that may be spent before a request is done, as far as one can tell
MOST_WAIT = 60


class Admission:
    """The door of one model."""

    def __init__(self, limits: ServeLimits) -> None:
        self._limits = limits
        self.requests, self.tokens = 0, 0.0  # taken on and not answered
        self._bytes, self._rate = BYTES, 0.0  # of a token; tokens a second
        self._since, self._done = time.monotonic(), 0.0

    def size(self, texts: list[str]) -> float:
        """About how many tokens these have."""
        return _bytes_of(texts) / self._bytes + max(1, len(texts))

    def enter(self, tokens: float) -> None:
        """Take a request on, or refuse it."""
        limits = self._limits
        if tokens > limits.tokens:
            problem = f"about {tokens:,.0f} tokens, this server takes {limits.tokens:,} at once"
            raise HttpRefusal(413, RegardError("request", problem, advice="divide it"), "too_large")
        full = self.requests >= limits.requests or self.tokens + tokens > limits.tokens
        if full or self._too_late(tokens):
            wait = self.wait()
            problem = f"{self.requests:,} requests are waiting or under way"
            error = RegardError("busy", problem, advice=f"try again in {wait} s")
            raise HttpRefusal(429, error, "busy", retry_after=str(wait))
        if not self.requests:
            self._since, self._done = time.monotonic(), 0.0
        self.requests += 1
        self.tokens += tokens

    def _too_late(self, tokens: float) -> bool:
        left = self._limits.deadline * SHARE
        return bool(self._rate) and (self.tokens + tokens) / self._rate > left and self.requests > 0

    def wait(self) -> int:
        """Seconds until about half of what is under way is done."""
        if not self._rate:
            return 1
        return max(1, min(MOST_WAIT, math.ceil(self.tokens / self._rate / 2)))

    def leave(self, tokens: float) -> None:
        """It is answered, or nobody waits for it any more."""
        self.requests -= 1
        self.tokens = max(0.0, self.tokens - tokens) if self.requests else 0.0

    def learn(self, tokens: float, texts: list[str], counted: int, full: bool) -> None:
        """What an answer told: how many tokens the texts had; `full`: others had to wait."""
        size = _bytes_of(texts)
        if size and counted:
            self._bytes += HEED * (min(16.0, max(0.5, size / counted)) - self._bytes)
        self._done += tokens
        passed = time.monotonic() - self._since
        if passed > 0.5:
            rate = self._done / passed
            if full:
                self._rate = self._rate + HEED * (rate - self._rate) if self._rate else rate
            elif self._rate:
                self._rate = max(self._rate, rate)
            self._since, self._done = time.monotonic(), 0.0


def _bytes_of(texts: list[str]) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in texts)
