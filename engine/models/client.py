"""The one streaming chat client (engine.md 7.10, 8)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `finish`: stop, max-tokens, aborted, error, or the provider's word; only stop is a whole answer.

    `detail` says why it is not one; it never holds text of the conversation or of the answer.
    """

    text: str
    finish: str
    detail: str
    effort: str
    input_tokens: int
    output_tokens: int
    reasoning_tokens: int


class ModelError(Exception):
    """The route gave no answer: `permanent` = asking it again is useless, `auth` = the key is missing or refused.

    `retry_after` in seconds, at most 300; `status` is the HTTP status, None where there was none.
    """

    def __init__(
        self,
        message: str,
        *,
        permanent: bool = False,
        retry_after: float | None = None,
        auth: bool = False,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.retry_after = retry_after
        self.auth = auth
        self.status = status


class CallLog(Protocol):
    """Where model calls are recorded before they are sent (the ledger's)."""

    async def begin(self, purpose: str, provider: str, model: str, effort: str) -> int:
        """A pending row; its number, 0 when it could not be stored."""

    async def settle(
        self,
        seq: int,
        outcome: str,
        *,
        ms: int,
        input_tokens: int,
        output_tokens: int,
        reasoning_tokens: int,
        detail: str,
    ) -> None:
        """The row's outcome: ok, incomplete or error."""


class KeySource(Protocol):
    """Where keys come from."""

    async def get(self, provider: str) -> str:
        """The key of a provider, empty when there is none."""


type Warn = Callable[[str, str], None]
"""`warn(key, sentence)`: called once per key."""
