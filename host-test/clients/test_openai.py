"""The official OpenAI client, sync and async, over Chat Completions and Responses."""

import json

import openai
import pytest

from both import CODE, NOTICE, OPTIONS, connecting, following, items, result
from shapes import MODELS, Answer, Call

pytestmark = pytest.mark.anyio

QUESTION = [{"role": "user", "content": "What is the weather?"}]
WEATHER = Answer("Let me look.", (Call("get_weather", {"city": "Graz", "days": 3}), Call("get_weather", {"city": "Linz", "days": 1})))
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city", "days"],
              "additionalProperties": False}


class Chat:
    """Chat Completions, as the client has it."""

    tools = [{"type": "function", "function": {"name": "get_weather", "strict": True, "parameters": PARAMETERS}}]
    conversation = "messages"

    @staticmethod
    def ask(client, messages, **options):
        return client.chat.completions.create(model=MODELS["chat"], messages=messages, **options)

    @staticmethod
    def of_whole(reply):
        message = reply.choices[0].message
        calls = [Call(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
        return Answer(message.content, tuple(calls))

    @staticmethod
    def of_stream(chunks):
        text, names, arguments = "", {}, {}
        for chunk in chunks:
            delta = chunk.choices[0].delta
            text += delta.content or ""
            for part in delta.tool_calls or ():
                names.setdefault(part.index, part.function.name)
                arguments[part.index] = arguments.get(part.index, "") + (part.function.arguments or "")
        return Answer(text, tuple(Call(name, json.loads(arguments[index])) for index, name in names.items()))


class Responses:
    """The Responses API, as the client has it."""

    tools = [{"type": "function", "name": "get_weather", "strict": True, "parameters": PARAMETERS}]
    conversation = "input"

    @staticmethod
    def ask(client, messages, **options):
        return client.responses.create(model=MODELS["responses"], input=messages, **options)

    @staticmethod
    def of_whole(reply):
        calls = [Call(item.name, json.loads(item.arguments)) for item in reply.output if item.type == "function_call"]
        return Answer(reply.output_text, tuple(calls))

    @staticmethod
    def of_stream(events):
        text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        deltas = {}
        for event in events:
            if event.type == "response.function_call_arguments.delta":
                deltas[event.item_id] = deltas.get(event.item_id, "") + event.delta
        items = [event.item for event in events if event.type == "response.output_item.done" and event.item.type == "function_call"]
        assert [json.loads(deltas[item.id]) for item in items] == [json.loads(item.arguments) for item in items]
        assert events[-1].type == "response.completed"
        answer = Answer(text, tuple(Call(item.name, json.loads(item.arguments)) for item in items))
        assert Responses.of_whole(events[-1].response) == answer
        return answer


@pytest.fixture(params=[Chat, Responses], ids=["chat", "responses"])
def api(request):
    return request.param


@pytest.fixture(params=[openai.OpenAI, openai.AsyncOpenAI], ids=["sync", "async"])
async def connect(request):
    async for client in connecting(request.param, "/v1"):
        yield client


def messages_of(demo, name):
    return demo[name]["body"]["messages"]


async def test_a_plain_call(api, connect, enforce, provider, demo):
    exchange = provider.expect()
    messages = messages_of(demo, "long_benign_chat")
    reply = await result(api.ask(connect(enforce, exchange), messages))
    assert api.of_whole(reply) == exchange.answer
    assert exchange.only().json()[api.conversation] == messages


async def test_a_call_with_tools(api, connect, enforce, provider, demo):
    exchange = provider.expect(WEATHER)
    reply = await result(api.ask(connect(enforce, exchange), messages_of(demo, "one_weak_hit"), tools=api.tools))
    assert api.of_whole(reply) == WEATHER


@pytest.mark.parametrize("mode", ["enforce", "monitor"])
async def test_a_stream_with_tool_calls(api, connect, start, mode, provider, demo):
    exchange = provider.expect(WEATHER)
    messages = messages_of(demo, "long_benign_chat")
    stream = await result(api.ask(connect(start(mode), exchange), messages, tools=api.tools, stream=True))
    assert api.of_stream(await items(stream)) == WEATHER
    assert exchange.only().json()["stream"] is True


@pytest.mark.parametrize("mode", ["enforce", "monitor"])
async def test_text_of_a_stream_comes_before_its_end(api, connect, start, mode, provider, demo):
    exchange = provider.expect(WEATHER, pause_after=7)
    stream = await result(api.ask(connect(start(mode), exchange), messages_of(demo, "long_benign_chat"), stream=True))
    first = [await following(stream) for _ in range(7 if api is Responses else 6)]
    # Only now does the provider write on: what came so far was not held for the end.
    exchange.go_on.set()
    assert api.of_stream(first + await items(stream)) == WEATHER


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_blocked_call_raises_the_clients_own_error(api, connect, enforce, provider, demo, stream):
    exchange = provider.expect()
    with pytest.raises(openai.PermissionDeniedError) as raised:
        await result(api.ask(connect(enforce, exchange), messages_of(demo, "slow_burn"), stream=stream))
    error = raised.value
    assert (error.status_code, error.code, error.type, error.param) == (403, CODE, "invalid_request_error", None)
    assert "escalation_probing.what_if_no_filter at messages[3]" in error.message
    event_id = error.response.headers["x-floodmark-event-id"]
    assert event_id in error.message and error.response.headers["x-floodmark-verdict"] == "block"
    line = enforce.access_line(event_id)
    assert (line["verdict"], line["action"], float(line["score"])) == ("block", "reject", demo["slow_burn"]["expect"]["score"])
    exchange.assert_no_byte()


async def test_a_redacted_call_arrives_with_the_notice(api, connect, redact, provider, demo):
    exchange = provider.expect()
    messages = messages_of(demo, "slow_burn")
    reply = await result(api.ask(connect(redact, exchange), messages))
    assert api.of_whole(reply) == exchange.answer
    # Three turns hit; without the first of them the conversation stays below tau: 0.3 + 2/4 x 0.45 + 0.15.
    wanted = [message | ({"content": NOTICE} if at == 3 else {}) for at, message in enumerate(messages)]
    assert exchange.only().json()[api.conversation] == wanted


async def test_monitor_mode_changes_nothing(api, connect, monitor, provider, demo):
    exchange = provider.expect()
    before = monitor.counters()
    reply = await result(api.ask(connect(monitor, exchange), messages_of(demo, "slow_burn")))
    assert api.of_whole(reply) == exchange.answer
    assert exchange.only().json()[api.conversation] == messages_of(demo, "slow_burn")
    assert monitor.counters()["would_block"] == before.get("would_block", 0) + 1


def test_the_chat_stream_helper_parses_calls(enforce, provider):
    exchange = provider.expect(WEATHER)
    with openai.OpenAI(base_url=enforce.url + "/v1", default_headers=exchange.headers, **OPTIONS) as client:
        with client.chat.completions.stream(model=MODELS["chat"], messages=QUESTION, tools=Chat.tools) as stream:
            whole = [event.parsed_arguments for event in stream if event.type == "tool_calls.function.arguments.done"]
            assert Chat.of_whole(stream.get_final_completion()) == WEATHER
    assert whole == [call.arguments for call in WEATHER.calls]


def test_the_responses_stream_helper_parses_calls(enforce, provider):
    exchange = provider.expect(WEATHER)
    with openai.OpenAI(base_url=enforce.url + "/v1", default_headers=exchange.headers, **OPTIONS) as client:
        with client.responses.stream(model=MODELS["responses"], input=QUESTION, tools=Responses.tools) as stream:
            stream.until_done()
            assert Responses.of_whole(stream.get_final_response()) == WEATHER


async def test_a_refusal_leaves_the_connection_usable(connect, enforce, provider, demo):
    blocked, allowed = provider.expect(), provider.expect()
    client = connect(enforce, blocked)
    with pytest.raises(openai.PermissionDeniedError):
        await result(Chat.ask(client, messages_of(demo, "slow_burn")))
    # The refusal names what to leave out.
    kept = [message for at, message in enumerate(messages_of(demo, "slow_burn")) if at != 3]
    reply = await result(Chat.ask(client, kept, extra_headers=allowed.headers))
    assert Chat.of_whole(reply) == allowed.answer
    assert allowed.only().json()["messages"] == kept
