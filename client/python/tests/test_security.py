"""TLS and bearer tokens."""

import pathlib
import subprocess

import grpc
import pytest
from pullback import Client, Program, PullbackError
from conftest import ROOT

TEXT = "fn f(x: f64) -> f64 { return x * x }"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("security")
    subprocess.run([ROOT / "tests/support/certificates.sh", folder, "a"], check=True,
                   stderr=subprocess.DEVNULL)
    (folder / "tokens").write_text("# mine\nfirst\n")
    return folder


@pytest.fixture(scope="module")
def secure(start_server, files):
    return start_server("--tls-cert", files / "a.crt", "--tls-key", files / "a.key",
                        "--tls-client-ca", files / "a-ca.crt", "--token-file", files / "tokens")


def gradient(client):
    return Program(TEXT, client=client).value_and_grad("f", x=3.0)[1]["x"]


def test_certificate_and_token(secure, files):
    tls = {"tls_ca": files / "a-ca.crt", "tls_cert": files / "a-client.crt",
           "tls_key": files / "a-client.key"}
    with Client(secure.address, token="first", **tls) as client:
        assert gradient(client) == 6.0
    with Client(secure.address, token_file=files / "tokens", **tls) as client:
        assert gradient(client) == 6.0
    for token, reason in ((None, "TOKEN_MISSING"), ("second", "TOKEN_UNKNOWN")):
        with Client(secure.address, token=token, **tls) as client:
            with pytest.raises(PullbackError) as caught:
                gradient(client)
            assert caught.value.reason == reason
            assert caught.value.code == grpc.StatusCode.UNAUTHENTICATED.name


def test_environment(secure, files, monkeypatch):
    monkeypatch.setenv("PULLBACK_TLS_CA", str(files / "a-ca.crt"))
    monkeypatch.setenv("PULLBACK_TLS_CERT", str(files / "a-client.crt"))
    monkeypatch.setenv("PULLBACK_TLS_KEY", str(files / "a-client.key"))
    monkeypatch.setenv("PULLBACK_TOKEN_FILE", str(files / "tokens"))
    with Client(secure.address) as client:
        assert gradient(client) == 6.0


def test_without(secure, files):
    for options in ({}, {"tls_ca": files / "a-ca.crt"}):
        with Client(secure.address, token="first", retries=0, timeout=5, **options) as client:
            with pytest.raises(PullbackError):
                gradient(client)
    with pytest.raises(PullbackError):
        Client(secure.address, tls_cert=files / "a-client.crt")
    (pathlib.Path(files) / "none").write_text("# nobody\n")
    with pytest.raises(PullbackError):
        Client(secure.address, token_file=files / "none")
