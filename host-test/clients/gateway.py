"""Real Envoy with the plugin before the provider, started by `floodmark-host envoy`."""

import json
import os
import pathlib
import subprocess
import time
import urllib.request

from provider import PATIENCE_S


class Gateway:
    """One Envoy on a shipped config, with some keys of the plugin's configuration set."""

    def __init__(self, config, upstream, settings=None):
        command = [os.environ["FLOODMARK_HOST"], "envoy", config, "--upstream", upstream, "--wasm", os.environ["FLOODMARK_WASM"]]
        if settings is not None:
            command += ["--set", json.dumps(settings)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        if not line:
            self.stop()
            raise AssertionError("Envoy did not start; its reasons stand above")
        where = json.loads(line)
        self.url = "http://" + where["address"]
        self._admin = "http://" + where["admin"]
        self._access_log = pathlib.Path(where["access_log"])

    def stop(self):
        # Leaving closes its input, at which it ends, and waits for it.
        with self._process:
            pass

    def counters(self):
        """All counters of the plugin that were ever used, by name."""
        with urllib.request.urlopen(self._admin + "/stats?usedonly&filter=wasmcustom.floodmark", timeout=PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
        pairs = (line.removeprefix("wasmcustom.floodmark_").split(": ") for line in lines)
        return {name: int(value) for name, value in pairs}

    def access_line(self, event_id):
        """The access log's line of one request; Envoy writes it when the request has ended."""
        began = time.monotonic()
        while time.monotonic() - began < PATIENCE_S:
            # The last line may be half written.
            for line in self._access_log.read_text().splitlines(keepends=True):
                if line.endswith("\n") and (fields := json.loads(line))["request_id"] == event_id:
                    return fields
            time.sleep(0.01)
        raise AssertionError(f"no access log line for {event_id}")
