"""deploy/haproxy/haproxy.cfg between this client and two servers, over TLS."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

import pytest
from pullback import Client, Program, PullbackError
from conftest import ROOT

# Debian's lies in /usr/sbin, which not every PATH has.
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")

pytestmark = pytest.mark.skipif(HAPROXY is None, reason="haproxy is not installed")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("haproxy")
    subprocess.run([ROOT / "tests/support/certificates.sh", folder, "a"], check=True,
                   stderr=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="module")
def servers(start_server):
    ports = [free_port(), free_port()]
    return [(start_server("--http-port", str(port)), port) for port in ports]


@pytest.fixture(scope="module")
def proxy(folder, servers):
    address = f"127.0.0.1:{free_port()}"
    environment = {"PULLBACK_BIND": address, "PULLBACK_PEM": str(folder / "a.pem")}
    for i, (server, http) in enumerate(servers, 1):
        environment |= {f"PULLBACK_SERVER_{i}": server.address, f"PULLBACK_HTTP_PORT_{i}": str(http)}
    process = subprocess.Popen([HAPROXY, "-db", "-q", "-f", ROOT / "deploy/haproxy/haproxy.cfg"],
                               env=os.environ | environment, stdout=subprocess.DEVNULL)
    try:
        # It asks the servers whether they are ready only after it has begun to listen.
        with connect(address, folder) as client:
            for _ in range(100):
                try:
                    client.info()
                    break
                except PullbackError:
                    assert process.poll() is None
                    time.sleep(0.1)
        yield address
    finally:
        process.kill()
        process.wait()


def connect(address, folder, **options):
    return Client(address, timeout=30, tls_ca=pathlib.Path(folder) / "a-ca.crt", **options)


def test_gradients(proxy, folder):
    with connect(proxy, folder) as client:
        for number in range(8):  # programs whose texts differ, and so their servers
            program = Program(f"fn f(x: f64) -> f64 {{ return x * x * {number}.0 }}", client=client)
            assert program.value_and_grad("f", x=3.0)[1]["x"] == 6.0 * number


def test_a_program_stays_at_its_server(proxy, folder, servers):
    def kernels():
        counts = []
        for server, _ in servers:
            with Client(server.address) as direct:
                counts.append(direct.info()["load"]["kernels"])
        return counts

    with connect(proxy, folder) as client:
        before = kernels()
        for _ in range(4):
            Program("fn g(x: f64) -> f64 { return x + 17.25 }", client=client).value("g", x=1.0)
        grown = [after - count for after, count in zip(kernels(), before)]
        assert sorted(grown) == [0, 1]


def test_errors_and_traps_pass(proxy, folder):
    with connect(proxy, folder) as client:
        with pytest.raises(PullbackError) as caught:
            Program("fn f(x: [n]f64) -> f64 { return x[7] }", client=client).value("f", x=[1.0])
        assert caught.value.reason == "INDEX_OUT_OF_RANGE"
        with pytest.raises(PullbackError) as caught:
            Program("fn f(", client=client).value("f")
        assert caught.value.reason == "SYNTAX_ERROR"


def test_who_does_not_trust_its_certificate_gets_nothing(proxy):
    with Client(proxy, tls=True, retries=0, timeout=5) as client, pytest.raises(PullbackError):
        client.info()
    with Client(proxy, retries=0, timeout=5) as client, pytest.raises(PullbackError):
        client.info()
