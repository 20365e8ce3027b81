"""Arrays of structs and tuples as arguments and results."""

import dataclasses

import numpy as np
import pytest
from pullback import ArgumentError, Program

POINTS = """
struct Point { x: f64, y: f64 }
struct Camera { r: [3]f64, f: f64, k: i64, at: Point }
fn total(ps: [n]Point) -> f64 { return sum i < n { ps[i].x * ps[i].x + ps[i].y } }
fn same(cs: [n]Camera) -> [n]Camera { return cs }
fn seen(cs: [n]Camera) -> f64 { return sum i < n { cs[i].f * cs[i].r[2] * cs[i].at.y } }
fn swap(ps: [n](f64, i64)) -> [n](i64, f64) { return gen i < n { (ps[i].1, ps[i].0) } }
"""


@dataclasses.dataclass
class Point:
    x: float
    y: float


@pytest.fixture
def program(client):
    return Program(POINTS, client=client)


@pytest.mark.parametrize("ps", [
    {"x": np.array([2.0, 3.0]), "y": [4, 5]},
    ([2, 3], [4, 5]),
    [{"x": 2, "y": 4}, {"x": 3, "y": 5}],
    [(2, 4), (3, 5)],
    [Point(2, 4), Point(3, 5)],
])
def test_arrays_of_structs_are_arrays_or_elements(program, ps):
    value, gradients = program.value_and_grad("total", ps=ps)
    assert value == 22.0
    assert gradients["ps"].x.tolist() == [4.0, 6.0]
    assert gradients["ps"]["y"].tolist() == [1.0, 1.0]


def test_parts_of_parts(program):
    camera = {"r": [1, 2, 3], "f": 2, "k": 7, "at": Point(1, 5)}
    out = program.value("same", cs=[camera, camera])
    assert out.r.shape == (2, 3)
    assert out.at.y.tolist() == [5.0, 5.0]
    assert out.k.dtype.kind == "i"
    again = program.value("same", cs=out)
    assert again.r.tolist() == out.r.tolist()
    tangent = {"r": [0, 0, 1], "f": 1, "k": None, "at": Point(0, 1)}
    _, d = program.jvp("seen", {"cs": [tangent]}, cs=[camera])
    assert d == 31.0


def test_arrays_of_tuples(program):
    k, x = program.value("swap", ps=[(0.5, 1), (1.5, 2)])
    assert k.tolist() == [1, 2]
    assert x.tolist() == [0.5, 1.5]
    k, x = program.value("swap", ps=(np.zeros(0), np.zeros(0, int)))
    assert k.shape == x.shape == (0,)


@pytest.mark.parametrize("ps, part", [
    ([{"x": 1.0}], "elements Point"),
    ([3], "elements Point"),
    ({"x": [1.0], "z": [2.0]}, "no field 'z'"),
    ({"x": [1.0, 2.0], "y": [2.0]}, "axis 0"),
])
def test_what_does_not_fit(program, ps, part):
    with pytest.raises(ArgumentError, match=part):
        program.value("total", ps=ps)
