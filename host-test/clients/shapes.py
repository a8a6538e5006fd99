"""Answers of the three providers in their own shapes, whole and as streams; the clients check them against their own types."""

import dataclasses
import json

MODELS = {"chat": "gpt-4.1-mini", "responses": "gpt-4.1-mini", "messages": "claude-any"}
# Arguments and texts arrive in pieces of so many characters.
DELTA = 7


@dataclasses.dataclass(frozen=True)
class Call:
    """One tool call of a model."""

    name: str
    arguments: dict

    def id(self, index):
        return f"call_{index}"

    @property
    def text(self):
        return json.dumps(self.arguments)


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the model says and which tools it calls, whatever the format."""

    text: str = "It is a fine day."
    calls: tuple[Call, ...] = ()


def pieces(text):
    return [text[at : at + DELTA] for at in range(0, len(text), DELTA)]


def sse(data, event=None):
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


# OpenAI Chat Completions


def chat(answer):
    calls = [
        {"id": call.id(index), "type": "function", "function": {"name": call.name, "arguments": call.text}}
        for index, call in enumerate(answer.calls)
    ]
    message = {"role": "assistant", "content": answer.text, "refusal": None, "annotations": []}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_790_000_000, "model": MODELS["chat"],
        "choices": [{"index": 0, "message": message | ({"tool_calls": calls} if calls else {}), "logprobs": None,
                     "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    }


def chat_stream(answer):
    def chunk(delta, finish=None):
        return sse({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_790_000_000, "model": MODELS["chat"],
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
        })

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for piece in pieces(answer.text):
        yield chunk({"content": piece})
    for index, call in enumerate(answer.calls):
        first = {"index": index, "id": call.id(index), "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [first]})
        for piece in pieces(call.text):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if answer.calls else "stop")
    yield b"data: [DONE]\n\n"


# OpenAI Responses


def _message_item(text, status="completed"):
    return {"id": "msg_0", "type": "message", "status": status, "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}] if text else []}


def _call_item(index, call, arguments, status="completed"):
    return {"id": f"fc_{index}", "type": "function_call", "status": status, "call_id": call.id(index), "name": call.name,
            "arguments": arguments}


def responses(answer, status="completed", output=None):
    items = [_message_item(answer.text)] + [_call_item(index, call, call.text) for index, call in enumerate(answer.calls)]
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}, "output_tokens": 5,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 14}
    return {
        "id": "resp_1", "object": "response", "created_at": 1_790_000_000, "status": status, "error": None,
        "incomplete_details": None, "instructions": None, "metadata": {}, "model": MODELS["responses"],
        "output": items if output is None else output, "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto",
        "tools": [], "top_p": 1.0, "usage": usage if status == "completed" else None,
    }


def responses_stream(answer):
    number = 0

    def event(kind, **fields):
        nonlocal number
        number += 1
        return sse({"type": kind, "sequence_number": number - 1, **fields}, kind)

    yield event("response.created", response=responses(answer, "in_progress", []))
    yield event("response.in_progress", response=responses(answer, "in_progress", []))
    at = {"item_id": "msg_0", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "annotations": [], "logprobs": []}
    yield event("response.output_item.added", output_index=0, item=_message_item("", "in_progress"))
    yield event("response.content_part.added", **at, part=part | {"text": ""})
    for piece in pieces(answer.text):
        yield event("response.output_text.delta", **at, delta=piece, logprobs=[])
    yield event("response.output_text.done", **at, text=answer.text, logprobs=[])
    yield event("response.content_part.done", **at, part=part | {"text": answer.text})
    yield event("response.output_item.done", output_index=0, item=_message_item(answer.text))
    for index, call in enumerate(answer.calls):
        place = {"output_index": index + 1}
        yield event("response.output_item.added", **place, item=_call_item(index, call, "", "in_progress"))
        for piece in pieces(call.text):
            yield event("response.function_call_arguments.delta", **place, item_id=f"fc_{index}", delta=piece)
        yield event("response.function_call_arguments.done", **place, item_id=f"fc_{index}", name=call.name, arguments=call.text)
        yield event("response.output_item.done", **place, item=_call_item(index, call, call.text))
    yield event("response.completed", response=responses(answer))


# Anthropic Messages


def messages(answer, content=None):
    blocks = [{"type": "text", "text": answer.text, "citations": None}]
    for index, call in enumerate(answer.calls):
        blocks.append({"type": "tool_use", "id": call.id(index), "name": call.name, "input": call.arguments})
    done = content is None
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODELS["messages"], "content": blocks if done else content,
        "stop_reason": ("tool_use" if answer.calls else "end_turn") if done else None, "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 5},
    }


def messages_stream(answer):
    def event(kind, **fields):
        return sse({"type": kind, **fields}, kind)

    yield event("message_start", message=messages(answer, []))
    yield event("content_block_start", index=0, content_block={"type": "text", "text": "", "citations": None})
    yield event("ping")
    for piece in pieces(answer.text):
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    yield event("content_block_stop", index=0)
    for index, call in enumerate(answer.calls):
        block = {"type": "tool_use", "id": call.id(index), "name": call.name, "input": {}}
        yield event("content_block_start", index=index + 1, content_block=block)
        for piece in pieces(call.text):
            yield event("content_block_delta", index=index + 1, delta={"type": "input_json_delta", "partial_json": piece})
        yield event("content_block_stop", index=index + 1)
    delta = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=delta, usage={"output_tokens": 5})
    yield event("message_stop")


# Path, whole answer, stream.
ENDPOINTS = [
    ("/v1/chat/completions", chat, chat_stream),
    ("/v1/responses", responses, responses_stream),
    ("/v1/messages", messages, messages_stream),
]
