"""The official Anthropic client, sync and async, over Messages."""

import anthropic
import pytest

from both import CODE, NOTICE, connecting, following, items, result
from shapes import MODELS, Answer, Call

pytestmark = pytest.mark.anyio

SEARCH = Answer("Let me look.", (Call("search", {"query": "larger room", "limit": 3}), Call("search", {"query": "data export", "limit": 1})))
TOOLS = [{"name": "search", "description": "Searches the mail.", "input_schema": {
    "type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["query", "limit"]}}]


@pytest.fixture(params=[anthropic.Anthropic, anthropic.AsyncAnthropic], ids=["sync", "async"])
async def connect(request):
    async for client in connecting(request.param):
        yield client


def ask(client, body, **options):
    return client.messages.create(**body, **options)


def hostile(demo):
    """The demo's conversation, with a model that the client does not know: it warns of those that are about to go."""
    return demo["anthropic_tool_results"]["body"] | {"model": MODELS["messages"]}


def benign(text="What came in this morning?"):
    return {"model": MODELS["messages"], "max_tokens": 512, "messages": [{"role": "user", "content": text}]}


def of_message(message):
    text = "".join(block.text for block in message.content if block.type == "text")
    return Answer(text, tuple(Call(block.name, block.input) for block in message.content if block.type == "tool_use"))


def of_events(events):
    return "".join(event.delta.text for event in events if event.type == "content_block_delta" and event.delta.type == "text_delta")


async def test_a_plain_call(connect, enforce, provider):
    exchange = provider.expect(SEARCH)
    message = await result(ask(connect(enforce, exchange), benign(), tools=TOOLS))
    assert of_message(message) == SEARCH and message.stop_reason == "tool_use"
    assert exchange.only().json() == benign() | {"tools": TOOLS}


@pytest.mark.parametrize("mode", ["enforce", "monitor"])
async def test_a_stream_with_tool_calls(connect, start, mode, provider):
    exchange = provider.expect(SEARCH)
    stream = await result(ask(connect(start(mode), exchange), benign(), tools=TOOLS, stream=True))
    events = await items(stream)
    assert of_events(events) == SEARCH.text and events[-1].type == "message_stop"
    arguments = [event.delta.partial_json for event in events if event.type == "content_block_delta" and event.delta.type == "input_json_delta"]
    assert "".join(arguments) == "".join(call.text for call in SEARCH.calls)


@pytest.mark.parametrize("mode", ["enforce", "monitor"])
async def test_the_stream_helper_joins_calls(connect, start, mode, provider):
    exchange = provider.expect(SEARCH)
    manager = connect(start(mode), exchange).messages.stream(**benign(), tools=TOOLS)
    if hasattr(manager, "__aenter__"):
        async with manager as stream:
            message = await stream.get_final_message()
    else:
        with manager as stream:
            message = stream.get_final_message()
    assert of_message(message) == SEARCH and message.stop_reason == "tool_use"


@pytest.mark.parametrize("mode", ["enforce", "monitor"])
async def test_text_of_a_stream_comes_before_its_end(connect, start, mode, provider):
    exchange = provider.expect(SEARCH, pause_after=5)
    stream = await result(ask(connect(start(mode), exchange), benign(), stream=True))
    # The client swallows pings: of five events four come.
    first = [await following(stream) for _ in range(4)]
    assert of_events(first) == SEARCH.text[: len(of_events(first))] != ""
    # Only now does the provider write on: what came so far was not held for the end.
    exchange.go_on.set()
    assert of_events(first + await items(stream)) == SEARCH.text


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_blocked_call_raises_the_clients_own_error(connect, enforce, provider, demo, stream):
    exchange = provider.expect()
    with pytest.raises(anthropic.PermissionDeniedError) as raised:
        await result(ask(connect(enforce, exchange), hostile(demo), stream=stream))
    error = raised.value
    assert (error.status_code, error.type, error.error_code) == (403, "permission_error", CODE)
    event_id = error.response.headers["x-floodmark-event-id"]
    assert error.body["request_id"] == event_id and event_id in error.api_message
    line = enforce.access_line(event_id)
    assert (line["verdict"], line["action"], float(line["score"])) == ("block", "reject", demo["anthropic_tool_results"]["expect"]["score"])
    assert f"{line['rule']} at messages[" in error.api_message
    exchange.assert_no_byte()


async def test_a_redacted_call_arrives_with_the_notice(connect, redact, provider, demo):
    body = hostile(demo)
    exchange = provider.expect()
    message = await result(ask(connect(redact, exchange), body))
    assert of_message(message) == exchange.answer
    received = exchange.only().json()
    # Two results hit, and either alone is below tau: the first gives way, the rest stays as it was.
    assert received["messages"][2]["content"][0]["content"][0]["text"] == NOTICE
    received["messages"][2]["content"][0]["content"][0]["text"] = body["messages"][2]["content"][0]["content"][0]["text"]
    assert received == body


async def test_monitor_mode_changes_nothing(connect, monitor, provider, demo):
    body = hostile(demo)
    exchange = provider.expect()
    before = monitor.counters()
    message = await result(ask(connect(monitor, exchange), body))
    assert of_message(message) == exchange.answer
    assert exchange.only().json() == body
    assert monitor.counters()["would_block"] == before.get("would_block", 0) + 1
