"""A pullbackd for the tests, from $PULLBACK_BIN_DIR or build/bin."""

import contextlib
import os
import pathlib
import re
import subprocess
import time

import pytest
from pullback import Client

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Server:
    def __init__(self, folder, *flags, port=0):
        binary = pathlib.Path(os.environ.get("PULLBACK_BIN_DIR", ROOT / "build/bin")) / "pullbackd"
        self._log = folder / f"pullbackd-{time.monotonic_ns()}.log"
        with open(self._log, "w") as log:
            self._process = subprocess.Popen(
                [binary, "--grpc-port", str(port), *flags], stdout=log, stderr=log)
        self.address = self._wait_until_listening()

    def _wait_until_listening(self):
        for _ in range(3000):
            match = re.search(r" listening address=(\S+)\s", self._log.read_text())
            if match:
                return match[1]
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError(f"pullbackd does not listen: {self._log.read_text()}")

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    def stop(self):
        self._process.terminate()
        self._process.wait(timeout=60)


@pytest.fixture(scope="session")
def start_server(tmp_path_factory):
    """start_server(*flags, port=0): a Server, stopped at the end of the tests."""
    folder = tmp_path_factory.mktemp("servers")
    with contextlib.ExitStack() as stack:

        def start(*flags, port=0):
            server = Server(folder, *flags, port=port)
            stack.callback(server.stop)
            return server

        yield start


@pytest.fixture(scope="session")
def server(start_server):
    return start_server()


@pytest.fixture
def client(server):
    with Client(server.address, timeout=60) as client:
        yield client
