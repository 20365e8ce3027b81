"""Errors are exceptions with what they say; what can be tried again is."""

import pytest
from pullback import (ArgumentError, BudgetError, Client, DeadlineError, Program, ProgramError,
                      PullbackError, RunError, TransportError, UnimplementedError)

PROGRAMS = """fn at(x: [n]f64, i: i64) -> f64 {
  return x[i]
}
fn pair(x: [n]f64, y: [n]f64) -> f64 { return x @ y }
fn spin(x: f64) -> f64 {
  var k = x
  while k > 0.0 { k = k + 1.0 }
  return k
}
fn dive(x: f64) -> f64 { return x * dive(x + 1.0) }
fn big(n: i64) -> f64 {
  let z = zeros(n)
  return z[0]
}
"""


@pytest.fixture
def program(client):
    return Program(PROGRAMS, client=client)


def test_a_program_with_mistakes(client):
    text = "fn f(x: f64) -> f64 { return x + nope }\nfn g(x: f64) -> f64 { return x + true }\n"
    with pytest.raises(ProgramError) as caught:
        Program(text, client=client).value("f", x=1.0)
    error = caught.value
    assert (error.code, error.reason) == ("INVALID_ARGUMENT", "TYPE_ERROR")
    assert [(d.line, d.column) for d in error.diagnostics][0] == (1, 34)
    assert len(error.diagnostics) == 2
    assert "fn f(x: f64) -> f64 { return x + nope }\n" + 33 * " " + "^^^^" in str(error)


def test_one_message_is_said_once(client):
    with pytest.raises(ProgramError) as caught:
        Program("fn f(x: f64) -> f64 { return nope }", client=client).value("f", x=1.0)
    assert str(caught.value).count("unknown name") == 1


def test_an_unknown_function(program):
    with pytest.raises(ProgramError, match="at, pair, spin") as caught:
        program.value("nope")
    assert caught.value.reason == "ENTRY_NOT_FOUND"


def test_what_is_not_implemented(client):
    with pytest.raises(UnimplementedError):
        Program("relations r", client=client).value("f")


def test_arguments(program):
    with pytest.raises(ArgumentError, match="argument 'i' is missing; it is i64"):
        program.value("at", x=[1.0])
    with pytest.raises(ArgumentError, match="no argument 'j'; there are: x, i"):
        program.value("at", x=[1.0], i=0, j=0)
    with pytest.raises(ArgumentError, match="axis 0") as caught:
        program.value("pair", x=[1.0], y=[1.0, 2.0])
    assert caught.value.reason == "SIZE_MISMATCH"
    with pytest.raises(ProgramError, match="'z'"):
        program.value_and_grad("pair", wrt=["z"], x=[1.0], y=[1.0])
    with pytest.raises(ArgumentError, match="no transform 'grad'"):
        program.compile("pair", "grad")


def test_a_trap_shows_its_line(program):
    with pytest.raises(RunError) as caught:
        program.value("at", x=[1.0], i=1)
    assert caught.value.reason == "INDEX_OUT_OF_RANGE"
    assert caught.value.diagnostics[0].line == 2
    assert "  return x[i]\n         ^^^^" in str(caught.value)


def test_a_trap_names_this_text_not_the_one_that_made_the_kernel(client):
    text = "fn f(x: [n]f64) -> f64 { return x[55] }"
    for copy, place in ((text, (1, 33)), ("\n\n" + text.replace("f(", "g("), (3, 33))):
        program = Program(copy, client=client)
        with pytest.raises(RunError) as caught:
            program.value("f" if place[0] == 1 else "g", x=[1.0])
        assert [(d.line, d.column) for d in caught.value.diagnostics] == [place]


def test_budgets(program, client):
    with pytest.raises(BudgetError) as caught:
        program.value("dive", x=1.0)
    assert caught.value.reason == "RECURSION_LIMIT"
    with pytest.raises(BudgetError):
        Program(PROGRAMS, client=client, memory_bytes=1000).value("big", n=1000)
    assert Program(PROGRAMS, client=client, memory_bytes=100000).value("big", n=1000) == 0.0


def test_deadline(server):
    with Client(server.address, timeout=0.5) as client:
        with pytest.raises(DeadlineError):
            Program(PROGRAMS, client=client).value("spin", x=1.0)


def test_nobody_listens():
    with Client("127.0.0.1:1", retries=1) as client:
        with pytest.raises(TransportError) as caught:
            Program(PROGRAMS, client=client).value("big", n=1)
    assert caught.value.code == "UNAVAILABLE"
    assert isinstance(caught.value, PullbackError)


def test_no_retry_goes_past_the_timeout():
    with Client("127.0.0.1:1", timeout=0.3, retries=1000) as client:
        with pytest.raises((TransportError, DeadlineError)):
            client.info()


def test_a_server_that_restarts(start_server):
    """Found again by retries, and sent the program again where it lost the kernel."""
    first = start_server()
    with Client(first.address, timeout=60, retries=8) as client:
        program = Program(PROGRAMS, client=client)
        assert program.value("at", x=[1.0, 2.0], i=1) == 2.0
        first.stop()
        second = start_server(port=first.port)
        assert second.address == first.address
        assert program.value("at", x=[1.0, 2.0], i=1) == 2.0


def test_a_kernel_that_was_evicted_is_made_again(start_server):
    server = start_server("--cache-bytes", "1")
    with Client(server.address) as client:
        program = Program(PROGRAMS, client=client)
        for _ in range(2):
            assert program.value("at", x=[1.0, 2.0], i=1) == 2.0
            assert program.value("pair", x=[1.0], y=[2.0]) == 2.0
