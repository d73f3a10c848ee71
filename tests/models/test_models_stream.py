"""Reading one answer out of bytes: cut anywhere, with everything servers put around it."""

import json
import math
import random

import pytest

from engine.models.stream import MAX_BYTES, Answer, Malformed, count, error_message, without_thinking


def event(content: str | None = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": {} if content is None else {"content": content}, **more}
    return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"


def read(data: bytes) -> Answer:
    answer = Answer()
    answer.feed(data)
    answer.end()
    return answer


STREAM = b"".join(
    [
        b": keep-alive\r\n\r\n",
        b"event: message\r\nid: 7\r\n",
        event("", role="assistant").replace(b"\n\n", b"\r\n\r\n"),
        b'data: {"choices":[{"delta":{"content":null,"reasoning_content":"Let me think"}}]}\n\n',
        b'data: {"choices":[{"delta":{"content":"","reasoning":"still"}}]}\n\n',
        event("Grüße, 书架"),
        event(" \u2028 \x85 and 🙂"),
        b'data:{"choices":[{"delta":{"content":"!"}}]}\n\n',
        event(finish_reason="stop"),
        b'data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":9,'
        b'"completion_tokens_details":{"reasoning_tokens":4}}}\n\n',
        b"data: [DONE]\n\n",
        event("after the end"),
    ]
)


def test_a_stream_is_read_the_same_however_it_is_cut() -> None:
    dice = random.Random(3)
    for _ in range(60):
        answer, rest = Answer(), STREAM
        while rest:
            size = dice.choice((1, 2, 3, 7, 64, len(rest)))
            answer.feed(rest[:size])
            rest = rest[size:]
        answer.end()
        assert answer.text == "Grüße, 书架 \u2028 \x85 and 🙂!"
        assert (answer.finish, answer.done) == ("stop", True)
        assert (answer.input_tokens, answer.output_tokens, answer.reasoning_tokens) == (12, 9, 4)


def test_the_last_line_may_lack_its_end() -> None:
    assert read(event("a") + event(finish_reason="stop").rstrip()).finish == "stop"
    assert read(event("a") + b"data: [DONE]").done


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 3}, (5, 3, 0)),
        ({"input_tokens": 5, "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 2}}, (5, 3, 2)),
        ({"prompt_tokens": 5, "completion_tokens": 3, "reasoning_tokens": 1}, (5, 3, 1)),
        ({"prompt_tokens": 5, "completion_tokens": 3, "completion_tokens_details": None}, (5, 3, 0)),
        ({"prompt_tokens": -5, "completion_tokens": "3"}, (0, 0, 0)),
        (None, (0, 0, 0)),
        ([1], (0, 0, 0)),
    ],
)
def test_both_spellings_of_usage_on_the_finish_event(usage: object, counts: tuple[int, int, int]) -> None:
    body = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}
    answer = read(b"data: " + json.dumps(body).encode() + b"\n\n")
    assert (answer.input_tokens, answer.output_tokens, answer.reasoning_tokens) == counts


def test_a_later_usage_replaces_an_earlier_one_and_an_empty_one_does_not() -> None:
    rows = [{"prompt_tokens": 5, "completion_tokens": n} for n in (1, 2)] + [{"prompt_tokens": 0}]
    answer = read(b"".join(b"data: " + json.dumps({"usage": row}).encode() + b"\n" for row in rows))
    assert (answer.input_tokens, answer.output_tokens) == (5, 2)


@pytest.mark.parametrize("value", [-1, 0, math.nan, math.inf, None, "5", True, 1.5, [3], {}], ids=repr)
def test_mod_17_what_is_no_token_count_is_zero(value: object) -> None:
    assert count(value) == 0
    assert count(7) == count(7.0) == 7


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("stop", "stop"),
        ("end_turn", "stop"),
        ("length", "max-tokens"),
        ("max_tokens", "max-tokens"),
        ("MAX_TOKENS", "max-tokens"),
        ("tool_calls", "tool-calls"),
        ("content_filter", "content-filter"),
        ("insufficient_system_resource", "insufficient-system-resource"),
        ("said the person", "other"),
        ("x" * 41, "other"),
    ],
)
def test_finish_words(word: str, finish: str) -> None:
    assert read(event("a", finish_reason=word)).finish == finish


@pytest.mark.parametrize(
    "data",
    [b"data: <html>\n\n", b"data: [1]\n\n", b'data: "text"\n\n', b"data: {\n\n", b"data: \xff\xfe\n\n"],
    ids=["html", "list", "text", "cut", "not text"],
)
def test_what_is_no_chat_completion_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        read(data)


def test_a_server_that_never_stops_is_cut_off() -> None:
    answer = Answer()
    piece = event("x" * 100_000)
    with pytest.raises(Malformed, match="8 MiB"):
        for _ in range(MAX_BYTES // len(piece) + 1):
            answer.feed(piece)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "overloaded", "code": 503}},
        {"error": "overloaded"},
        {"message": "overloaded"},
        {"detail": "overloaded"},
        {"error": {"code": "overloaded"}},
    ],
    ids=repr,
)
def test_error_objects_in_every_form(body: dict[str, object]) -> None:
    assert error_message(body) == "overloaded"


@pytest.mark.parametrize("body", [None, [], "text", {"error": {"code": 5}}, {"error": None}], ids=repr)
def test_an_error_object_that_says_nothing(body: object) -> None:
    assert error_message(body) == ""


def test_an_error_inside_a_stream_is_kept() -> None:
    assert read(event("half") + b'data: {"error":{"message":"overloaded"}}\n\n').error == "overloaded"
    assert read(b'data: {"error":{"code":5}}\n\n').error == "the server reported an error"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<think>hm</think>\n\nThe answer", "The answer"),
        ("\n<thinking>hm\n</thinking>The answer", "The answer"),
        ("hm, I should\n</think>\nThe answer", "The answer"),
        ("<think>never finished", ""),
        ("<THINK>hm</THINK>{}", "{}"),
        ('{"summary": "the tag </think> was left in"}', '{"summary": "the tag </think> was left in"}'),
        ('```json\n{"summary": "</think>"}\n```', '```json\n{"summary": "</think>"}\n```'),
        ("About <think> tags", "About <think> tags"),
        ("", ""),
    ],
)
def test_thinking_at_the_beginning_is_no_part_of_the_text(text: str, left: str) -> None:
    assert without_thinking(text) == left


def test_content_in_parts_keeps_only_text() -> None:
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}, {"type": "text"}, "x"]
    body = {"choices": [{"delta": {"content": parts}}]}
    assert read(b"data: " + json.dumps(body).encode() + b"\n\n").text == "yes"


def test_an_answer_that_is_not_streamed() -> None:
    answer = Answer()
    answer.take_whole(b'{"choices":[{"message":{"content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}')
    assert (answer.text, answer.finish, answer.input_tokens) == ("yes", "stop", 3)
