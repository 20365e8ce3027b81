"""Exceptions, made from gRPC's statuses and their google.rpc details."""

from __future__ import annotations

import dataclasses
import re

import grpc
from google.rpc import error_details_pb2, status_pb2

_DETAILS_KEY = "grpc-status-details-bin"
_PLACE = re.compile(r"program\.text:(\d+):(\d+)$")


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One message about a program; `excerpt` is its line with carets. Line 0: no place."""

    line: int
    column: int
    message: str
    excerpt: str = ""

    def __str__(self):
        place = f"{self.line}:{self.column}: " if self.line else ""
        return f"{place}{self.message}" + (f"\n{self.excerpt}" if self.excerpt else "")


class PullbackError(Exception):
    """code: gRPC's name ("INVALID_ARGUMENT"); reason: stable, finer ("TYPE_ERROR")."""

    def __init__(self, code, reason, message, diagnostics=()):
        self.code = code
        self.reason = reason
        self.message = message
        self.diagnostics = list(diagnostics)
        super().__init__(code, reason, message, self.diagnostics)

    def __str__(self):
        # The message of one diagnostic, or the first of many, is the call's message too.
        said = any(self.message.endswith(d.message) for d in self.diagnostics)
        head = self.reason if said else f"{self.reason}: {self.message}"
        return "\n".join([head, *map(str, self.diagnostics)])


class ProgramError(PullbackError):
    """The program is wrong, or what is asked of it."""


class ArgumentError(ProgramError):
    """Arguments do not fit the program."""


class UnimplementedError(ProgramError):
    """A construct or derivative that is not defined, or not yet."""


class RunError(PullbackError):
    """The run ended with a trap: an index out of range, a division by zero, …"""


class BudgetError(RunError):
    """The run would have needed more memory or depth than it may have."""


class DeadlineError(RunError):
    """The time was over."""


class TransportError(PullbackError):
    """The server failed, is busy, or cannot be reached."""


_BY_REASON = {
    **dict.fromkeys(("TYPE_MISMATCH", "SIZE_MISMATCH", "MISSING_ARGUMENT", "UNKNOWN_ARGUMENT",
                     "DUPLICATE_ARGUMENT", "INVALID_VALUE"), ArgumentError),
    **dict.fromkeys(("MEMORY_BUDGET", "RECURSION_LIMIT"), BudgetError),
}
_BY_CODE = {
    "INVALID_ARGUMENT": ProgramError,
    "NOT_FOUND": ProgramError,
    "UNIMPLEMENTED": UnimplementedError,
    "OUT_OF_RANGE": RunError,
    "FAILED_PRECONDITION": RunError,
    "DEADLINE_EXCEEDED": DeadlineError,
}


def make_error(code, reason, message, diagnostics=()):
    """The exception of the right class."""
    kind = _BY_CODE.get(code, TransportError)
    # A SIZE_MISMATCH is the caller's when the arguments show it, and a trap when the run meets it.
    if kind is ProgramError or code == "RESOURCE_EXHAUSTED":
        kind = _BY_REASON.get(reason, kind)
    return kind(code, reason, message, diagnostics)


def argument_error(reason, message):
    return ArgumentError("INVALID_ARGUMENT", reason, message)


def _diagnostic(violation):
    place = _PLACE.match(violation.field)
    if not place:
        return Diagnostic(0, 0, f"{violation.field}: {violation.description}")
    message, _, excerpt = violation.description.partition("\n")
    return Diagnostic(int(place[1]), int(place[2]), message, excerpt)


def _details(error):
    """google.rpc.Status of a failed call; empty where it carries none."""
    status = status_pb2.Status()
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY:
            status.ParseFromString(value)
    return status.details


def from_grpc(error: grpc.RpcError) -> PullbackError:
    code = error.code().name
    reason, diagnostics = code, []
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in _details(error):
        if detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(bad):
            diagnostics += map(_diagnostic, bad.field_violations)
    return make_error(code, reason, error.details() or "", diagnostics)
