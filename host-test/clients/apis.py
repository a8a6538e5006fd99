"""The three model APIs as their official clients have them, brought to one form, so that one test asks all of them."""

import inspect
import json
import re

import anthropic
import openai

from provider import PATIENCE_S
from shapes import MODELS, Answer, Call

# What the plugin puts in the place of a turn, and the code of its refusals.
NOTICE = "[removed by the gateway's policy]"
CODE = "floodmark_blocked"
# The same of requests that pass once an operator approves them, and how an approval's id is spelled.
ASK_CODE = "floodmark_ask"
APPROVAL = re.compile("[0-9a-f]{32}-[0-9a-f]{8}")
# A gateway's secret: without one it could keep no approvals.
KEYS = [{"id": "k1", "secret": "0123456789abcdef" * 4}]
# Settings with which one message is enough: a rule that blocks alone.
RULE = "instruction_seeding.ignore_earlier"
BLOCKING = {"policy": {"rules": {RULE: "block"}}}

PARAMETERS = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["query", "limit"],
              "additionalProperties": False}
# Two calls of such a tool, and a question that leads to them.
SEARCHES = Answer("Let me look.", tuple(Call("search", {"query": query, "limit": 3}) for query in ("larger room", "data export")))
QUESTION = [{"role": "user", "content": "What came in this morning?"}]


class Chat:
    """OpenAI Chat Completions."""

    clients = {"sync": openai.OpenAI, "async": openai.AsyncOpenAI}
    base = "/v1"
    tools = [{"type": "function", "function": {"name": "search", "strict": True, "parameters": PARAMETERS}}]
    conversation = "messages"
    refused = openai.PermissionDeniedError
    stream_error = openai.APIError
    # A conversation that is blocked, and what of it decides.
    hostile, decisive = "slow_burn", ("escalation_probing.what_if_no_filter", 3)
    benign = "long_benign_chat"

    @staticmethod
    def ask(client, messages, **options):
        return client.chat.completions.create(model=MODELS["chat"], messages=messages, **options)

    @staticmethod
    def code(error):
        return (error.type, error.param, error.code)

    code_wanted = ("invalid_request_error", None, CODE)

    @staticmethod
    def redacted(messages):
        """Three turns hit; without the first of them the conversation stays below tau: 0.3 + 2/4 x 0.45 + 0.15."""
        return [message | ({"content": NOTICE} if at == 3 else {}) for at, message in enumerate(messages)]

    @staticmethod
    def of_whole(reply):
        message = reply.choices[0].message
        calls = [Call(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
        return Answer(message.content, tuple(calls))

    @staticmethod
    def of_stream(chunks):
        names = {part.index: part.function.name for chunk in chunks for part in chunk.choices[0].delta.tool_calls or () if part.id}
        calls = [Call(name, json.loads(Chat.arguments_of(chunks, index))) for index, name in names.items()]
        return Answer(Chat.text_of(chunks), tuple(calls))

    @staticmethod
    def text_of(chunks):
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    @staticmethod
    def arguments_of(chunks, index=0):
        parts = (part for chunk in chunks for part in chunk.choices[0].delta.tool_calls or () if part.index == index)
        return "".join(part.function.arguments or "" for part in parts)

    @staticmethod
    def ends_call(chunk):
        """Whether it says that the call is whole, so that a client may make it."""
        return chunk.choices[0].finish_reason is not None

    @staticmethod
    def refusal_of_whole(reply):
        choice = reply.choices[0]
        assert (choice.finish_reason, choice.message.content, choice.message.tool_calls) == ("content_filter", None, None)
        return choice.message.refusal

    @staticmethod
    def refusal_of_stream(chunks):
        assert chunks[-1].choices[0].finish_reason == "content_filter" and Chat.text_of(chunks) == ""
        return "".join(chunk.choices[0].delta.refusal or "" for chunk in chunks)


class Responses(Chat):
    """The OpenAI Responses API."""

    tools = [{"type": "function", "name": "search", "strict": True, "parameters": PARAMETERS}]
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
        assert events[-1].type == "response.completed"
        answer = Responses.of_whole(events[-1].response)
        # The parts say the same as the whole at the end.
        assert Responses.text_of(events) == answer.text
        for at, call in enumerate(answer.calls):
            assert json.loads(Responses.arguments_of(events, at)) == call.arguments
        return answer

    @staticmethod
    def text_of(events):
        return "".join(event.delta for event in events if event.type == "response.output_text.delta")

    @staticmethod
    def arguments_of(events, index=0):
        """The message is the first output, calls come after it."""
        deltas = (event for event in events if event.type == "response.function_call_arguments.delta")
        return "".join(event.delta for event in deltas if event.output_index == index + 1)

    @staticmethod
    def ends_call(event):
        return event.type in ("response.function_call_arguments.done", "response.completed")

    @staticmethod
    def refusal_of_whole(reply):
        (item,) = reply.output
        (part,) = item.content
        assert (reply.status, part.type) == ("completed", "refusal")
        return part.refusal

    @staticmethod
    def refusal_of_stream(events):
        deltas = "".join(event.delta for event in events if event.type == "response.refusal.delta")
        assert deltas == Responses.refusal_of_whole(events[-1].response)
        return deltas


class Messages:
    """Anthropic Messages."""

    clients = {"sync": anthropic.Anthropic, "async": anthropic.AsyncAnthropic}
    base = ""
    tools = [{"name": "search", "description": "Searches the mail.", "input_schema": PARAMETERS}]
    conversation = "messages"
    refused = anthropic.PermissionDeniedError
    stream_error = anthropic.APIStatusError
    hostile, decisive = "anthropic_tool_results", ("instruction_seeding.if_a_machine_reads_this", 2)
    # Without a system message, which has no place in this list.
    benign = "one_weak_hit"

    @staticmethod
    def ask(client, messages, **options):
        return client.messages.create(model=MODELS["messages"], max_tokens=512, messages=messages, **options)

    @staticmethod
    def code(error):
        return (error.type, error.error_code)

    code_wanted = ("permission_error", CODE)

    @staticmethod
    def redacted(messages):
        """Two results hit, and either alone is below tau: the first gives way."""
        changed = json.loads(json.dumps(messages))
        changed[2]["content"][0]["content"][0]["text"] = NOTICE
        return changed

    @staticmethod
    def of_whole(message):
        text = "".join(block.text for block in message.content if block.type == "text")
        return Answer(text, tuple(Call(block.name, block.input) for block in message.content if block.type == "tool_use"))

    @staticmethod
    def of_stream(events):
        assert events[-1].type == "message_stop"
        blocks = {event.index: event.content_block for event in events if event.type == "content_block_start"}
        tools = {at - 1: block for at, block in blocks.items() if block.type == "tool_use"}
        calls = tuple(Call(block.name, json.loads(Messages.arguments_of(events, at))) for at, block in tools.items())
        return Answer(Messages.text_of(events), calls)

    @staticmethod
    def text_of(events):
        deltas = (event.delta for event in events if event.type == "content_block_delta")
        return "".join(delta.text for delta in deltas if delta.type == "text_delta")

    @staticmethod
    def arguments_of(events, index=0):
        """The first block is the text, calls come after it."""
        deltas = (event.delta for event in events if event.type == "content_block_delta" and event.index == index + 1)
        return "".join(delta.partial_json for delta in deltas if delta.type == "input_json_delta")

    @staticmethod
    def ends_call(event):
        return event.type == "message_delta" or event.type == "content_block_stop" and event.index > 0

    @staticmethod
    def refusal_of_whole(message):
        assert message.stop_reason == "refusal"
        return Messages.of_whole(message).text

    @staticmethod
    def refusal_of_stream(events):
        assert [event.delta.stop_reason for event in events if event.type == "message_delta"] == ["refusal"]
        return Messages.of_stream(events).text


APIS = {"chat": Chat, "responses": Responses, "messages": Messages}


def client(api, kind, gateway, exchange):
    """A client that sends an exchange's headers, waits no longer than a test, and takes only what fits its types."""
    return api.clients[kind](base_url=gateway.url + api.base, api_key="none", default_headers=exchange.headers, timeout=PATIENCE_S,
                             _strict_response_validation=True)


# Sync and async clients give the same things, the latter to be awaited.


async def result(value):
    return await value if inspect.isawaitable(value) else value


async def following(stream):
    """The next item of a stream."""
    return await anext(stream) if hasattr(stream, "__anext__") else next(stream)


async def items(stream):
    """All that is left in a stream."""
    return [item async for item in stream] if hasattr(stream, "__aiter__") else list(stream)


async def until(stream, error):
    """What came of a stream before it raised `error`, and that."""
    seen = []
    try:
        while True:
            seen.append(await following(stream))
    except error as raised:
        return seen, raised
    except (StopIteration, StopAsyncIteration):
        raise AssertionError(f"the stream ended without an error after {len(seen)} items") from None
