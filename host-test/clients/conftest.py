"""What all tests share: one provider, one Envoy for each configuration that a test asks for, and the demo's conversations."""

import json
import pathlib

import pytest

from apis import APIS, client, result
from gateway import Gateway
from provider import Provider

DEMO = pathlib.Path(__file__).parents[2] / "testdata/demo.jsonl"


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="session")
def provider():
    provider = Provider()
    yield provider
    provider.stop()


@pytest.fixture(scope="session")
def start(provider):
    """Gives the Envoy for a configuration, started when it is first asked for."""
    running = {}

    def started(config, defaults=None, keys=None):
        settings = {name: value for name, value in (("defaults", defaults), ("keys", keys)) if value}
        key = config + json.dumps(settings, sort_keys=True)
        if key not in running:
            running[key] = Gateway(config, provider.address, settings or None)
        return running[key]

    yield started
    for gateway in running.values():
        gateway.stop()


@pytest.fixture(scope="session")
def enforce(start):
    return start("enforce")


@pytest.fixture(scope="session")
def monitor(start):
    return start("monitor")


@pytest.fixture(scope="session")
def demo():
    """The conversations of testdata/demo.jsonl, by id."""
    return {case["id"]: case for case in map(json.loads, DEMO.read_text(encoding="utf-8").splitlines())}


@pytest.fixture(params=APIS.values(), ids=APIS.keys())
def api(request):
    return request.param


@pytest.fixture(params=["sync", "async"])
def kind(request):
    return request.param


@pytest.fixture(params=["none", "calls", "all"])
def hold(request):
    """What of a stream is kept back until it is judged."""
    return request.param


@pytest.fixture
async def ask(api, kind):
    """Sends one conversation to a gateway with a client of its own, which is closed in the end."""
    clients = []

    async def asked(gateway, exchange, messages, **options):
        clients.append(client(api, kind, gateway, exchange))
        return await result(api.ask(clients[-1], messages, **options))

    yield asked
    for made in clients:
        await result(made.close())
