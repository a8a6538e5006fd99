"""A provider on 127.0.0.1 that answers as a test says and keeps what it received: three model APIs and two MCP servers."""

import asyncio
import contextlib
import dataclasses
import json
import socket
import threading
import uuid

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Mount, Route

from shapes import ENDPOINTS, Answer

ID_HEADER = "x-test-id"
# Longest wait for anything that should come soon.
PATIENCE_S = 30


@dataclasses.dataclass
class Received:
    """One request as it came; `whole` once its body has ended."""

    method: str
    path: str
    headers: dict
    body: bytes = b""
    whole: bool = False

    def json(self):
        return json.loads(self.body)


@dataclasses.dataclass
class Exchange:
    """What one test asks for and what came of it. A stream stops before an event with the text `pause_before` until `go_on` is set.

    Each event comes in two halves, `apart_s` seconds apart.
    """

    answer: Answer
    pause_before: str | None = None
    apart_s: float = 0
    id: str = dataclasses.field(default_factory=lambda: uuid.uuid4().hex)
    go_on: threading.Event = dataclasses.field(default_factory=threading.Event)
    received: list = dataclasses.field(default_factory=list)

    @property
    def headers(self):
        return {ID_HEADER: self.id}

    def only(self):
        """The one request of this exchange, which must have come whole."""
        assert len(self.received) == 1, f"{len(self.received)} requests instead of one"
        assert self.received[0].whole, "the body broke off"
        return self.received[0]

    def assert_no_byte(self):
        """At most the headers of one request came: a refused one is not tried again either."""
        assert len(self.received) <= 1, f"{len(self.received)} requests instead of at most one"
        for received in self.received:
            assert received.body == b"" and not received.whole, f"{len(received.body)} bytes of a blocked body arrived"


class Provider:
    """Runs in a thread of its own; ends with `stop`."""

    def __init__(self):
        self._exchanges = {}
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:{}".format(self._socket.getsockname()[1])
        self._servers = {"/json": mcp_server(), "/sse": mcp_server()}
        apps = {path: server.streamable_http_app(json_response=path == "/json") for path, server in self._servers.items()}
        routes = [Route(path, self._endpoint(whole, stream), methods=["POST"]) for path, whole, stream in ENDPOINTS]
        routes += [Mount(path, app) for path, app in apps.items()]
        app = Starlette(routes=routes, lifespan=self._lifespan)
        config = uvicorn.Config(self._recording(app), log_level="warning", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()

    def stop(self):
        self._server.should_exit = True
        self._thread.join(PATIENCE_S)

    def expect(self, answer=Answer(), **settings):
        """Answers requests that bring the exchange's headers with `answer`."""
        exchange = Exchange(answer, **settings)
        self._exchanges[exchange.id] = exchange
        return exchange

    @contextlib.asynccontextmanager
    async def _lifespan(self, _app):
        async with contextlib.AsyncExitStack() as stack:
            for server in self._servers.values():
                await stack.enter_async_context(server.session_manager.run())
            yield

    def _recording(self, app):
        async def recorded(scope, receive, send):
            exchange = self._of(scope)
            if exchange is None:
                return await app(scope, receive, send)
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            received = Received(scope["method"], scope["path"], headers)
            exchange.received.append(received)

            async def watched():
                message = await receive()
                if message["type"] == "http.request":
                    received.body += message.get("body", b"")
                    received.whole = not message.get("more_body", False)
                return message

            return await app(scope, watched, send)

        return recorded

    def _of(self, scope):
        ids = [value.decode() for name, value in scope.get("headers", ()) if name.decode() == ID_HEADER]
        return self._exchanges.get(ids[0]) if ids else None

    def _endpoint(self, whole, stream):
        async def endpoint(request):
            try:
                asked = json.loads(await request.body())
            except ClientDisconnect:
                return JSONResponse({}, 499)  # Nobody reads this.
            exchange = self._of(request.scope)
            if not asked.get("stream"):
                return JSONResponse(whole(exchange.answer))
            return StreamingResponse(paced(exchange, stream(exchange.answer)), media_type="text/event-stream")

        return endpoint


async def paced(exchange, events):
    """The bytes of a stream, at the pace that the exchange asks for."""
    for event in events:
        if exchange.pause_before and exchange.pause_before.encode() in event:
            went_on = await asyncio.to_thread(exchange.go_on.wait, PATIENCE_S)
            assert went_on, "the test never let the stream go on"
        half = len(event) // 2
        yield event[:half]
        await asyncio.sleep(exchange.apart_s)
        yield event[half:]


def mcp_server():
    """A server of the official SDK with tools that say what they were given."""
    server = MCPServer("clients-test", log_level="WARNING")

    @server.tool()
    def echo(text: str) -> str:
        """Gives the text back."""
        return text

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @server.tool()
    def spell(codes: list[int]) -> str:
        """Gives the text that has these character codes."""
        return "".join(map(chr, codes))

    return server
