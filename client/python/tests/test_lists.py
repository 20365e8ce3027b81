"""Lists as arguments and results."""

import numpy as np
import pytest
from pullback import ArgumentError, Program

TREES = """
struct Tree { value: f64, kids: list Tree }
struct Part { a: [_]f64, k: i64, x: f32 }
fn total(xs: list f64) -> f64 {
  var s = 0.0
  for i < len(xs) { s += xs[i] * xs[i] }
  return s
}
fn weigh(t: Tree) -> f64 {
  var s = t.value * t.value
  for i < len(t.kids) { s += 2.0 * weigh(t.kids[i]) }
  return s
}
fn same(t: Tree) -> Tree { return t }
fn parts(p: list Part) -> list Part { return p }
fn nested(xs: list list i64) -> list list i64 { return push(xs, list(7)) }
fn mixed(xs: list (f64, i64), ys: list i64) -> f64 { return xs[0].0 * f64(xs[0].1 + ys[0]) }
fn flags(b: list bool, x: list f32) -> (list bool, list f32) { return (b, x) }
"""


@pytest.fixture
def program(client):
    return Program(TREES, client=client)


@pytest.mark.parametrize("xs", [[1.0, 2.0, 3.0], (1, 2, 3), np.arange(1.0, 4.0), np.arange(1, 4)])
def test_lists_of_numbers_are_sequences_or_arrays(program, xs):
    value, gradients = program.value_and_grad("total", xs=xs)
    assert value == 14.0
    assert gradients == {"xs": [2.0, 4.0, 6.0]}
    assert type(gradients["xs"]) is list
    assert type(gradients["xs"][0]) is float


def test_empty_lists(program):
    assert program.value_and_grad("total", xs=[]) == (0.0, {"xs": []})
    assert program.value("nested", xs=[]) == [[7]]
    assert program.value("parts", p=[]) == []


def leaf(value):
    return {"value": value, "kids": []}


TREE = {"value": 1.0, "kids": [{"value": 2.0, "kids": [leaf(3.0)]}, (4.0, [])]}


def test_trees(program):
    value, gradients = program.value_and_grad("weigh", t=TREE)
    assert value == 77.0
    gradient = gradients["t"]
    assert gradient.value == 2.0
    assert [kid.value for kid in gradient.kids] == [8.0, 16.0]
    assert gradient == (2.0, [(8.0, [(24.0, [])]), (16.0, [])])
    # What came out goes in.
    assert program.value("weigh", t=program.value("same", t=TREE)) == 77.0
    assert program.jvp("weigh", {"t": gradient}, t=TREE)[1] == pytest.approx(
        2 * 2 + 8 * 8 + 24 * 24 + 16 * 16)
    assert program.vjp("same", gradient, t=TREE)[1]["t"] == gradient


def test_elements_keep_what_they_are(program):
    p = [{"a": np.zeros(0), "k": -(2**63), "x": np.float32(0.1)}, ([1, 2], 2, 0.5)]
    first, second = program.value("parts", p=p)
    assert first.a.shape == (0,)
    assert (first.k, first.x) == (-(2**63), np.float32(0.1))
    assert type(first.x) is np.float32
    assert second.a.tolist() == [1.0, 2.0]
    second.a[0] = 9.0
    assert program.value("nested", xs=[[1], [], [2, 3]]) == [[1], [], [2, 3], [7]]
    assert program.value("flags", b=[True, False], x=[0.5]) == ([True, False], [np.float32(0.5)])


def test_none_stands_for_what_holds_no_floats(program):
    kernel = program.compile("mixed", "value_and_grad")
    assert kernel.signature.wrt == ("xs",)
    assert str(kernel.signature) == "fn mixed(xs: list (f64, i64), ys: list i64) -> f64"
    args = {"xs": [(2.0, 3), (1.0, 1)], "ys": [4]}
    assert kernel.evaluate(args).derivatives == {"xs": [(7.0, None), (0.0, None)]}
    assert program.jvp("mixed", {"xs": [(1.0, None), (1.0, None)]}, **args)[1] == 7.0
    with pytest.raises(ArgumentError, match=r"'xs'\[1\].1: i64 has no derivative"):
        program.jvp("mixed", {"xs": [(1.0, None), (1.0, 1)]}, **args)


@pytest.mark.parametrize("entry, args, said", [
    ("total", {"xs": 3.0}, "expected list f64, got 3.0"),
    ("total", {"xs": "abc"}, "expected list f64, got 'abc'"),
    ("total", {"xs": [1.0, "a"]}, "expected list f64"),
    ("total", {"xs": [[1.0]]}, "expected list f64, got an array of shape (1, 1)"),
    ("weigh", {"t": {"value": 1.0, "kids": [{"value": 2.0}]}}, "'t'.kids[0]: the field 'kids'"),
    ("weigh", {"t": {"value": 1.0, "kids": {}}}, "'t'.kids: expected list Tree, got {}"),
    ("nested", {"xs": [[1], [1.5]]}, "'xs'[1]: expected list i64")])
def test_what_does_not_fit(program, entry, args, said):
    with pytest.raises(ArgumentError) as caught:
        program.value(entry, **args)
    assert said in str(caught.value)


def test_seeds_have_the_lengths_of_what_they_belong_to(program):
    with pytest.raises(ArgumentError, match="expected a list of 2, got one of 0"):
        program.vjp("same", leaf(1.0), t=TREE)
    with pytest.raises(ArgumentError, match="expected a list of 3, got one of 1"):
        program.jvp("total", {"xs": [1.0]}, xs=[1, 2, 3])


def test_long_lists(program):
    xs = np.random.default_rng(0).normal(size=1_000_000)
    value, gradients = program.value_and_grad("total", xs=xs)
    assert value == pytest.approx(xs @ xs)
    np.testing.assert_array_equal(gradients["xs"], 2 * xs)
