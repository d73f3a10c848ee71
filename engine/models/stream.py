"""Reads one answer out of a server-sent event stream, of chat completions or of Anthropic's messages."""

import json
import math
import re
from typing import Any

from engine.policy.text import tokens

MAX_BYTES = 8 * 2**20
"""A server that ignores the output cap is cut off here."""

NO_CONNECTION = "no connection"
"""How the detail of a call begins that was given up before the server took it."""

_FINISH = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "length": "max-tokens",
    "max_tokens": "max-tokens",
}
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class Malformed(Exception):
    """What arrived is no chat completion."""


class Aborted(Exception):
    """The answer did not arrive whole: too late, or the connection broke off."""


class Answer:
    """What has arrived so far of a chat completion. Thinking is counted, never kept.

    `accepted`: the server took the question, so that its tokens count; `sent`: it has the question and did not refuse
    it, so that they may. Input tokens include the cached ones.
    """

    def __init__(self) -> None:
        self.accepted = self.sent = False
        self.finish = ""
        self.error = ""
        self.done = False
        self.events = 0
        self.input_tokens = 0
        self.cached_tokens = 0
        self.output_tokens = 0
        self.reasoning_tokens = 0
        self._parts: list[str] = []
        self._thought = 0
        self._rest = b""
        self._size = 0

    @property
    def text(self) -> str:
        """The answer without any thinking."""
        return without_thinking("".join(self._parts))

    async def trace(self, event: str, _: object) -> None:
        """What the connection tells while it works."""
        if event.endswith(".send_request_body.complete"):
            self.sent = True

    def assume(self, input_tokens: int) -> None:
        """Fill in what a question took where the server did not count; one without any answer may be paid for too."""
        if self.accepted or self.sent:
            self.input_tokens = self.input_tokens or input_tokens
            self.output_tokens = self.output_tokens or tokens("".join(self._parts)) + (self._thought + 3) // 4

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream, cut anywhere; Malformed when they are no events."""
        self._count(data)
        # Only \n and \r\n end a line: U+2028 and its kind may stand unescaped inside a JSON string.
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(line)

    def end(self) -> None:
        """The stream is over; a last line may lack its line end."""
        if self._rest and not self.done:
            self._line(self._rest)

    def take_whole(self, data: bytes) -> None:
        """Take the answer of a server that does not stream: one JSON object."""
        self._count(data)
        self._event(data)
        self.done = True

    def _count(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MAX_BYTES:
            raise Malformed("the answer is longer than 8 MiB")

    def _line(self, line: bytes) -> None:
        if self.done or not line.startswith(b"data:"):  # comments, event names, ids, blank lines
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.done = True
        elif data:
            self._event(data)

    def _event(self, data: bytes) -> None:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise Malformed("the answer is not in the form of a chat completion") from error
        if not isinstance(event, dict):
            raise Malformed("the answer is not in the form of a chat completion")
        self.events += 1
        if event.get("error"):
            self.error = error_message(event) or "the server reported an error"
        self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        self._usage(event.get("usage"))
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._parts.append(_text(delta.get("content")))
            self._thought += len(_text(delta.get("reasoning_content") or delta.get("reasoning")))
        self._finish(choice.get("finish_reason"))
        self._usage(choice.get("usage"))

    def _finish(self, reason: object) -> None:
        if isinstance(reason, str) and reason:
            word = reason.lower()
            self.finish = _FINISH.get(word) or (word.replace("_", "-") if _WORD.fullmatch(word) else "other")

    def _usage(self, usage: object) -> None:
        if not isinstance(usage, dict):
            return
        details = usage.get("completion_tokens_details") or usage.get("output_tokens_details")
        reasoning = details.get("reasoning_tokens") if isinstance(details, dict) else usage.get("reasoning_tokens")
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("prompt_cache_hit_tokens")
        question = count(usage.get("prompt_tokens", usage.get("input_tokens")))
        answer = count(usage.get("completion_tokens", usage.get("output_tokens")))
        # Some leave thinking out of the completion, and bill it.
        answer = max(answer, count(usage.get("total_tokens")) - question)
        self.input_tokens = question or self.input_tokens
        self.output_tokens = answer or self.output_tokens
        self.reasoning_tokens = count(reasoning) or self.reasoning_tokens
        self.cached_tokens = count(cached) or self.cached_tokens


class Message(Answer):
    """What has arrived so far of one of Anthropic's messages."""

    def _take(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                message = event.get("message")
                self._usage(message.get("usage") if isinstance(message, dict) else None)
            case "content_block_start":
                self._block(event.get("content_block"))
            case "content_block_delta":
                self._block(event.get("delta"))
            case "message_delta":
                delta = event.get("delta")
                self._finish(delta.get("stop_reason") if isinstance(delta, dict) else None)
                self._usage(event.get("usage"))
            case "message_stop":
                self.done = True
            case "message":
                blocks = event.get("content")
                for block in blocks if isinstance(blocks, list) else ():
                    self._block(block)
                self._finish(event.get("stop_reason"))
                self._usage(event.get("usage"))

    def _block(self, block: object) -> None:
        if isinstance(block, dict):
            self._parts.append(text if isinstance(text := block.get("text"), str) else "")
            self._thought += len(thought) if isinstance(thought := block.get("thinking"), str) else 0

    def _usage(self, usage: object) -> None:
        if isinstance(usage, dict):
            cached = count(usage.get("cache_read_input_tokens"))
            written = count(usage.get("cache_creation_input_tokens"))
            # Counts grow from event to event; a later one may leave some of them out.
            self.input_tokens = max(self.input_tokens, count(usage.get("input_tokens")) + cached + written)
            self.cached_tokens = max(self.cached_tokens, cached)
            self.output_tokens = max(self.output_tokens, count(usage.get("output_tokens")))


def count(value: object) -> int:
    """A token count as it may be stored: a positive whole number, else 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return int(value) if value > 0 and value == int(value) else 0


def error_message(body: object) -> str:
    """What an error object says, in the forms that providers use; empty when it says nothing."""
    error = body.get("error", body) if isinstance(body, dict) else None
    if isinstance(error, str):
        return error
    if isinstance(error, dict):
        message = error.get("message") or error.get("detail") or error.get("code")
        return message if isinstance(message, str) else ""
    return ""


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (part for part in content if isinstance(part, dict) and part.get("type") == "text")
    return "".join(text for part in parts if isinstance(text := part.get("text"), str))


_OPEN = re.compile(r"\s*<(think|thinking|thought)>", re.IGNORECASE)
_CLOSE = re.compile(r"</(think|thinking|thought)>\s*", re.IGNORECASE)


def without_thinking(text: str) -> str:
    """Text without the block of thinking that some servers leave at its beginning.

    The opening tag may be missing (it stands in the model's template), the closing one too (cut off while thinking).
    """
    opened = _OPEN.match(text)
    closed = _CLOSE.search(text)
    if opened:
        return text[closed.end() :] if closed else ""
    if closed and not text.lstrip().startswith(("{", "[", "```")):
        return text[closed.end() :]
    return text
