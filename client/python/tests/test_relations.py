"""Relations as arguments."""

import numpy as np
import pytest
from pullback import ArgumentError, Program

GRAPH = """
fn energy(r: rel[n, n], x: [n]f64) -> f64 {
  return sum i < n, j < n { [r(i, j)] * (x[i] - x[j]) ** 2 }
}
fn chosen(s: rel[n], p: (rel[n, m, m], [m]f64)) -> f64 {
  let (t, y) = p
  return sum i < n, j < m, k < m { [s(i) and t(i, j, k)] * y[j] * y[k] }
}
"""
X = np.array([1.0, 3.0, 6.0])
I, J = np.array([1, 0, 1]), np.array([2, 1, 2])  # noqa: E741


@pytest.fixture
def program(client):
    return Program(GRAPH, client=client)


def forms():
    mask = np.zeros((3, 3), bool)
    mask[I, J] = True
    yield {"shape": (3, 3), "coo": (I, J)}
    yield {"shape": [3, 3], "coo": [[1, 0], [2, 1]]}
    yield {"shape": (3, 3), "csr": ([0, 1, 2, 2], [1, 2])}
    yield ((3, 3), I, J.astype(np.uint8))
    yield mask


@pytest.mark.parametrize("relation", list(forms()))
def test_forms(program, relation):
    value, gradients = program.value_and_grad("energy", r=relation, x=X)
    assert value == 13
    assert list(gradients) == ["x"]
    np.testing.assert_array_equal(gradients["x"], [-4, -2, 6])


def test_scipy(program):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.coo_matrix((np.ones(2), (I[:2], J[:2])), shape=(3, 3))
    for form in (matrix, matrix.tocsr(), matrix.tocsc(), matrix.tolil()):
        assert program.value("energy", r=form, x=X) == 13


def test_empty(program):
    value, gradients = program.value_and_grad("energy", r=((3, 3), [], []), x=X)
    assert value == 0
    np.testing.assert_array_equal(gradients["x"], np.zeros(3))


def test_other_arities_and_parts(program):
    pair = ({"shape": (3, 2, 2), "coo": ([0, 1, 2], [0, 1, 0], [1, 1, 0])}, np.array([2.0, 5.0]))
    value, gradients = program.value_and_grad("chosen", s=((3,), [1, 0]), p=pair)
    assert value == 35
    assert gradients["p"][0] is None
    np.testing.assert_array_equal(gradients["p"][1], [5, 12])


@pytest.mark.parametrize("relation, part", [
    ([[0, 1]], "expected rel[n, n]"),
    ({"shape": (3, 3), "coo": (I,)}, "expected rel[n, n]"),
    ({"coo": (I, J)}, "expected rel[n, n]"),
    ((np.array([3, 3]), I, J + 0.5), "argument 'r'.coo[1]: expected one axis of integers"),
    (((3, 3), I, J + 1), "tuple 0, (1, 3), is outside of rel[3, 3]"),
    (((3, 3), I, J[:2]), "its indices differ in number: 3 and 2"),
    (((3, 4), I, J), "expected n = 3"),
    ({"shape": (3, 3), "csr": ([0, 2, 1, 2], [1, 2])}, "row starts never decrease"),
])
def test_faults(program, relation, part):
    with pytest.raises(ArgumentError) as error:
        program.value("energy", r=relation, x=X)
    assert part in error.value.message
