"""The terms of a model call: what comes back, how it fails, who records it, where keys come from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `finish`: stop, max-tokens, aborted, error, or the provider's word; only stop is a whole answer.

    `detail` says why it is not one, without any text of the conversation or of the answer. `effort` is what was sent.
    Input tokens include the cached ones. Where the server counts nothing, tokens are estimated. `call` is its number
    in the call log.
    """

    text: str
    finish: str
    detail: str
    effort: str
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cached_tokens: int = 0
    call: int = field(default=0, compare=False)


type Hop = Literal[
    "", "setting", "name", "connection", "tls", "proxy", "key", "model", "quota", "limit", "stream", "server"
]
"""Where on the way a call failed; empty where that is not known."""


class ModelError(Exception):
    """The route gave no answer: `permanent` = asking it again is useless, `auth` = the key is missing or refused.

    `retry_after` in seconds, at most 300; `until` in epoch seconds: the route is left out before that, other routes may
    be asked at once. `status` is the HTTP status, None where there was none; `action` says what a person can do, empty
    when only waiting helps.
    """

    def __init__(
        self,
        message: str,
        *,
        permanent: bool = False,
        retry_after: float | None = None,
        auth: bool = False,
        status: int | None = None,
        action: str = "",
        hop: Hop = "",
        until: float | None = None,
    ) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after
        self.auth = auth
        self.status = status
        self.action = action
        self.hop = hop
        self.until = until


class CallLog(Protocol):
    """Where model calls are recorded before they are sent (the ledger's)."""

    async def begin(
        self,
        purpose: str,
        provider: str,
        model: str,
        effort: str,
        *,
        input_tokens: int,
        money: float | None,
        currency: str,
    ) -> int:
        """A pending row with what sending takes at least; its number, 0 when it could not be stored."""

    async def settle(
        self,
        seq: int,
        outcome: str,
        *,
        ms: int,
        input_tokens: int,
        output_tokens: int,
        reasoning_tokens: int,
        cached_tokens: int,
        money: float | None,
        detail: str,
    ) -> None:
        """The row's outcome: ok, incomplete or error."""


class KeySource(Protocol):
    """Where keys come from."""

    async def get(self, provider_id: str) -> str:
        """The key of a provider, empty when there is none."""


type Warn = Callable[[str, str], None]
"""`warn(key, sentence)`; a key is named once, until what it is about has worked again."""

type Judge = Callable[[str], str]
"""What is wrong with a finished text, as a fixed label without any of it; empty when it is usable."""
