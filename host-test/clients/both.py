"""What the tests of clients that come both sync and async share."""

import inspect

from provider import PATIENCE_S

# What the plugin puts in the place of a turn, and the code of its refusals.
NOTICE = "[removed by the gateway's policy]"
CODE = "floodmark_blocked"
# How a client is made here: it waits no longer than a test, and takes only what fits its types.
OPTIONS = {"api_key": "none", "timeout": PATIENCE_S, "_strict_response_validation": True}


async def result(value):
    return await value if inspect.isawaitable(value) else value


async def items(stream):
    """All that is left in a stream."""
    return [item async for item in stream] if hasattr(stream, "__aiter__") else list(stream)


async def following(stream):
    """The next item of a stream."""
    return await anext(stream) if hasattr(stream, "__anext__") else next(stream)


async def connecting(kind, path=""):
    """For a fixture: gives a function that makes a client of a gateway which sends an exchange's headers, and closes the clients at the end."""
    made = []

    def client(gateway, exchange):
        made.append(kind(base_url=gateway.url + path, default_headers=exchange.headers, **OPTIONS))
        return made[-1]

    yield client
    for client in made:
        await result(client.close())
