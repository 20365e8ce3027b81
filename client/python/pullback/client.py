"""The connection to a server."""

from __future__ import annotations

import hashlib
import os
import random
import threading
import time

import grpc

from . import errors
from .v1 import program_pb2, program_tables_pb2, service_pb2, service_pb2_grpc

_BACKOFF = 0.1  # seconds before the second try; doubled each time
_LOCAL = ("127.", "localhost", "[::1]", "unix:")


def default_server():
    return os.environ.get("PULLBACK_SERVER") or "127.0.0.1:8001"


def _channel_options(target):
    options = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        # A server that restarts is found again soon.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2000),
    ]
    if target.startswith(_LOCAL):
        options.append(("grpc.enable_http_proxy", 0))
    return options


def _read(path):
    if not path:
        return None
    with open(path, "rb") as file:
        return file.read()


def _credentials(tls, ca, cert, key):
    """None: no TLS."""
    ca, cert, key = (value if value is not None else os.environ.get(name)
                     for value, name in ((ca, "PULLBACK_TLS_CA"), (cert, "PULLBACK_TLS_CERT"),
                                         (key, "PULLBACK_TLS_KEY")))
    if tls is None:
        tls = os.environ.get("PULLBACK_TLS", "").lower() in ("1", "true", "on", "yes")
    if bool(cert) != bool(key):
        raise errors.argument_error("SECURITY_FILE", "a client's certificate and its key go together")
    if not (tls or ca or cert):
        return None
    return grpc.ssl_channel_credentials(_read(ca), _read(key), _read(cert))


def _token(token, token_file):
    token = token or os.environ.get("PULLBACK_TOKEN")
    token_file = token_file or os.environ.get("PULLBACK_TOKEN_FILE")
    if token or not token_file:
        return token
    with open(token_file, encoding="ascii") as file:
        for line in map(str.strip, file):
            if line and not line.startswith("#"):
                return line
    raise errors.argument_error("SECURITY_FILE", f"no token in {token_file}")


class Client:
    """A server at "host:port". Safe to share between threads; closes as a context manager.

    timeout: seconds for one call, its retries included; None: the server's default.
    retries: how often a call is tried again that found the server unavailable.
    tls: speak TLS; implied by tls_ca (authorities to trust; default: gRPC's) and by tls_cert with tls_key
    (for a server that wants its clients' certificates). PEM files.
    token, or the first in token_file: sent with every call; without TLS whoever is in between can read it.
    What is not given is read of PULLBACK_TLS, PULLBACK_TLS_CA, PULLBACK_TLS_CERT, PULLBACK_TLS_KEY,
    PULLBACK_TOKEN, PULLBACK_TOKEN_FILE.
    """

    def __init__(self, target=None, *, timeout=None, retries=5, tls=None, tls_ca=None, tls_cert=None,
                 tls_key=None, token=None, token_file=None):
        self.target = target or default_server()
        self.timeout = timeout
        self.retries = retries
        token = _token(token, token_file)
        self._metadata = [("authorization", f"Bearer {token}")] if token else []
        credentials = _credentials(tls, tls_ca, tls_cert, tls_key)
        options = _channel_options(self.target)
        if credentials is None:
            self._channel = grpc.insecure_channel(self.target, options=options)
        else:
            self._channel = grpc.secure_channel(self.target, credentials, options=options)
        self._stub = service_pb2_grpc.GradientServiceStub(self._channel)

    def close(self):
        self._channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"Client({self.target!r})"

    def info(self):
        """Version, limits and load of the server, as nested dicts."""
        return _as_dict(self.call("GetServerInfo", service_pb2.GetServerInfoRequest()))

    def format(self, program):
        """A program, text or message, in both forms: .text, .tables, .canonical_text, .hash."""
        return self.call("Format", service_pb2.FormatRequest(program=program_message(program)))

    def call(self, method, request, program_hash=None):
        """One RPC by protobuf messages; raises PullbackError."""
        metadata = list(self._metadata)
        if program_hash:
            metadata.append(("x-pullback-program-hash", program_hash))
        deadline = None if self.timeout is None else time.monotonic() + self.timeout
        for attempt in range(self.retries + 1):
            left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            try:
                return getattr(self._stub, method)(request, timeout=left, metadata=metadata)
            except grpc.RpcError as error:
                pause = _BACKOFF * 2**attempt * random.uniform(0.8, 1.2)
                in_time = deadline is None or time.monotonic() + pause < deadline
                retry = error.code() == grpc.StatusCode.UNAVAILABLE and in_time
                if not retry or attempt == self.retries:
                    raise errors.from_grpc(error) from None
            time.sleep(pause)
        raise AssertionError("unreachable")


def _as_dict(message):
    return {field.name: _as_dict(getattr(message, field.name)) if field.message_type
            else getattr(message, field.name) for field in message.DESCRIPTOR.fields}


def program_message(program):
    """The Program message of a text, a ProgramTables or a Program."""
    if isinstance(program, str):
        return program_pb2.Program(text=program)
    if isinstance(program, program_tables_pb2.ProgramTables):
        return program_pb2.Program(tables=program)
    if isinstance(program, program_pb2.Program):
        return program
    raise TypeError(f"a program is a str, a ProgramTables or a Program, not {type(program).__name__}")


def hash_of(text):
    """What a balancer keeps a program to one server by."""
    return hashlib.sha256(text.encode()).hexdigest()


_shared_lock = threading.Lock()
_shared = {}


def shared_client():
    """The client of programs that were given none: one per server and process."""
    with _shared_lock:
        target = default_server()
        if target not in _shared:
            _shared[target] = Client(target)
        return _shared[target]
