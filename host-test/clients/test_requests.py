"""Requests of the model APIs' official clients, sync and async: those that pass, are blocked, redacted, or only watched."""

import pytest

from apis import APPROVAL, ASK_CODE, CODE, KEYS, QUESTION, SEARCHES, Chat, Messages, Responses, client, following, items, result
from shapes import MODELS

pytestmark = pytest.mark.anyio


def messages_of(demo, name):
    return demo[name]["body"]["messages"]


async def test_a_plain_call(api, ask, enforce, provider, demo):
    exchange = provider.expect()
    messages = messages_of(demo, api.benign)
    assert api.of_whole(await ask(enforce, exchange, messages)) == exchange.answer
    assert exchange.only().json()[api.conversation] == messages


async def test_a_call_with_tools(api, ask, enforce, provider):
    exchange = provider.expect(SEARCHES)
    assert api.of_whole(await ask(enforce, exchange, QUESTION, tools=api.tools)) == SEARCHES
    assert exchange.only().json()["tools"] == api.tools


@pytest.mark.parametrize("mode", ["enforce", "monitor"])
async def test_a_stream_with_tool_calls(api, ask, start, mode, provider):
    exchange = provider.expect(SEARCHES)
    assert api.of_stream(await items(await ask(start(mode), exchange, QUESTION, tools=api.tools, stream=True))) == SEARCHES
    assert exchange.only().json()["stream"] is True


@pytest.mark.parametrize("mode", ["enforce", "monitor"])
async def test_text_of_a_stream_comes_before_its_end(api, ask, start, mode, provider):
    exchange = provider.expect(SEARCHES, pause_before=SEARCHES.text[-3:])
    stream = await ask(start(mode), exchange, QUESTION, stream=True)
    first = []
    while not api.text_of(first):
        first.append(await following(stream))
    # Only now does the provider write on: what came so far was not held for the end.
    exchange.go_on.set()
    assert api.of_stream(first + await items(stream)) == SEARCHES


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_blocked_call_raises_the_clients_own_error(api, ask, enforce, provider, demo, stream):
    exchange = provider.expect()
    with pytest.raises(api.refused) as raised:
        await ask(enforce, exchange, messages_of(demo, api.hostile), stream=stream)
    error = raised.value
    assert error.status_code == 403 and api.code(error) == api.code_wanted
    rule, at = api.decisive
    event_id = error.response.headers["x-floodmark-event-id"]
    assert f"rule {rule} at {api.conversation}[{at}]" in str(error) and event_id in str(error)
    assert error.response.headers["x-floodmark-verdict"] == "block"
    line = enforce.access_line(event_id)
    assert (line["verdict"], line["action"], float(line["score"])) == ("block", "reject", demo[api.hostile]["expect"]["score"])
    exchange.assert_no_byte()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_what_waits_for_an_approval_raises_the_clients_own_error(api, ask, start, provider, demo, stream):
    exchange = provider.expect()
    rule, at = api.decisive
    asking = start("enforce", {"policy": {"rules": {rule: "ask"}}}, KEYS)
    with pytest.raises(api.refused) as raised:
        await ask(asking, exchange, messages_of(demo, api.hostile), stream=stream)
    error = raised.value
    wanted = tuple(ASK_CODE if part == CODE else part for part in api.code_wanted)
    assert error.status_code == 403 and api.code(error) == wanted
    approval = error.response.headers["x-floodmark-approval-id"]
    assert APPROVAL.fullmatch(approval) and error.response.headers["x-floodmark-verdict"] == "ask"
    assert f"rule {rule} at {api.conversation}[{at}]" in str(error) and approval in str(error)
    exchange.assert_no_byte()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_refusal_can_look_like_the_models_own(api, ask, start, provider, demo, stream):
    exchange = provider.expect()
    reply = await ask(start("enforce", {"reply": {"style": "refusal"}}), exchange, messages_of(demo, api.hostile), stream=stream)
    text = api.refusal_of_stream(await items(reply)) if stream else api.refusal_of_whole(reply)
    rule, at = api.decisive
    assert f"rule {rule} at {api.conversation}[{at}]" in text
    exchange.assert_no_byte()


async def test_a_redacted_call_arrives_with_the_notice(api, ask, start, provider, demo):
    exchange = provider.expect()
    messages = messages_of(demo, api.hostile)
    assert api.of_whole(await ask(start("enforce", {"action": "redact"}), exchange, messages)) == exchange.answer
    assert exchange.only().json()[api.conversation] == api.redacted(messages)


async def test_monitor_mode_changes_nothing(api, ask, monitor, provider, demo):
    exchange = provider.expect()
    messages = messages_of(demo, api.hostile)
    before = monitor.counters()
    assert api.of_whole(await ask(monitor, exchange, messages)) == exchange.answer
    assert exchange.only().json()[api.conversation] == messages
    assert monitor.counters()["would_block"] == before.get("would_block", 0) + 1


async def test_after_a_refusal_the_conversation_goes_on(kind, enforce, provider, demo):
    blocked, allowed = provider.expect(), provider.expect()
    messages = messages_of(demo, Chat.hostile)
    connection = client(Chat, kind, enforce, blocked)
    with pytest.raises(Chat.refused) as raised:
        await result(Chat.ask(connection, messages))
    assert "Leave out messages[3] to go on" in raised.value.message
    kept = messages[:3] + messages[4:]
    reply = await result(Chat.ask(connection, kept, extra_headers=allowed.headers))
    await result(connection.close())
    assert Chat.of_whole(reply) == allowed.answer and allowed.only().json()["messages"] == kept


async def test_anthropics_stream_helper_joins_calls(kind, enforce, provider):
    exchange = provider.expect(SEARCHES)
    connection = client(Messages, kind, enforce, exchange)
    helper = connection.messages.stream(model=MODELS["messages"], max_tokens=512, messages=QUESTION, tools=Messages.tools)
    if kind == "async":
        async with helper as stream:
            message = await stream.get_final_message()
    else:
        with helper as stream:
            message = stream.get_final_message()
    await result(connection.close())
    assert Messages.of_whole(message) == SEARCHES and message.stop_reason == "tool_use"


def test_openais_stream_helpers_join_calls(enforce, provider):
    exchange = provider.expect(SEARCHES)
    with client(Chat, "sync", enforce, exchange) as connection:
        with connection.chat.completions.stream(model=MODELS["chat"], messages=QUESTION, tools=Chat.tools) as stream:
            whole = [event.parsed_arguments for event in stream if event.type == "tool_calls.function.arguments.done"]
            assert Chat.of_whole(stream.get_final_completion()) == SEARCHES
        assert whole == [call.arguments for call in SEARCHES.calls]
        with connection.responses.stream(model=MODELS["responses"], input=QUESTION, tools=Responses.tools) as stream:
            assert Responses.of_whole(stream.until_done().get_final_response()) == SEARCHES
    assert len(exchange.received) == 2
