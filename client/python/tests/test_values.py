"""What goes in and what comes out, by type."""

import collections
import copy
import dataclasses
import pickle

import numpy as np
import pytest
from pullback import ArgumentError, Program


def echo(client, type_):
    program = Program(f"fn echo(x: {type_}) -> {type_} {{ return x }}", client=client)
    return lambda x: program.value("echo", x=x)


@pytest.mark.parametrize("type_, value, python_type", [
    ("f64", 0.1, float), ("f64", -0.0, float), ("i64", -(2**63), int), ("i64", 2**63 - 1, int),
    ("bool", True, bool), ("f32", np.float32(0.1), np.float32)])
def test_scalars(client, type_, value, python_type):
    result = echo(client, type_)(value)
    assert type(result) is python_type
    assert str(result) == str(value)


def test_nan_and_infinities(client):
    assert np.isnan(echo(client, "f64")(float("nan")))
    assert echo(client, "f32")(float("-inf")) == -np.inf


@pytest.mark.parametrize("type_, dtype", [
    ("f64", np.float64), ("f32", np.float32), ("i64", np.int64), ("bool", np.bool_)])
def test_arrays_keep_dtype_shape_and_elements(client, type_, dtype):
    x = np.array([[0, 1, 2], [3, 0, 5]]).astype(dtype)
    result = echo(client, f"[n, m]{type_}")(x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, x)


def test_results_may_be_written(client):
    result = echo(client, "[n]f64")([1.0])
    result[0] = 2.0


def test_layout_does_not_matter(client):
    f = echo(client, "[n, m]f64")
    x = np.arange(12.0).reshape(3, 4)
    for y in (x.T, x[::-1, ::2], np.asfortranarray(x), x.astype(">f8")):
        np.testing.assert_array_equal(f(y), y)


def test_inputs_become_what_the_signature_says(client):
    assert echo(client, "f64")(3) == 3.0
    assert echo(client, "[n]f64")(np.array([1, 2], np.uint8)).dtype == np.float64
    assert echo(client, "[n]f32")([0.1]).dtype == np.float32
    assert echo(client, "[n]i64")(np.array([1], np.int32)).dtype == np.int64
    assert echo(client, "[n]i64")([]).shape == (0,)
    assert echo(client, "f64")(np.array(2.0)) == 2.0


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0), (2, 0, 3)])
def test_empty_arrays_keep_their_shape(client, shape):
    dims = ", ".join("nmk"[:len(shape)])
    assert echo(client, f"[{dims}]f64")(np.zeros(shape)).shape == shape


def test_tuples(client):
    result = echo(client, "(f64, (i64, [n]bool))")((1.5, [2, [True, False]]))
    assert result[:1] == (1.5,)
    assert result[1][0] == 2
    assert result[1][1].tolist() == [True, False]


def test_derivatives_of_tuples_have_none_where_there_are_no_floats(client):
    program = Program("fn f(p: (f64, i64)) -> (i64, f64) { return (p.1, 3.0 * p.0) }", client=client)
    value, derivatives = program.vjp("f", (None, 2.0), p=(1.0, 2))
    assert value == (2, 3.0)
    assert derivatives == {"p": (6.0, None)}
    assert program.jvp("f", {"p": (1.0, None)}, p=(1.0, 2)) == ((2, 3.0), (None, 3.0))
    with pytest.raises(ArgumentError, match="cotangent.0: i64 has no derivative"):
        program.vjp("f", (1, 2.0), p=(1.0, 2))


CAMERA = """
struct Lens { f: f64, glass: i64 }
struct Camera { r: [3]f64, lens: Lens, lambda: f64 }
fn same(c: Camera) -> Camera { return c }
fn power(c: Camera) -> f64 { return sum(c.r * c.r) / c.lens.f + c.lambda * f64(c.lens.glass) }
"""


@pytest.mark.parametrize("lens", [
    {"glass": 3, "f": 2.0}, (2.0, 3), collections.namedtuple("Lens", "glass f")(3, 2.0)])
def test_structs_go_in_with_names_or_in_order(client, lens):
    program = Program(CAMERA, client=client)
    for camera in ({"lens": lens, "r": [1, 2, 3], "lambda": 0.5}, [np.arange(1.0, 4.0), lens, 0.5]):
        value, gradients = program.value_and_grad("power", c=camera)
        assert value == 8.5
        assert gradients["c"].r.tolist() == [1.0, 2.0, 3.0]
        assert gradients["c"].lens == (-3.5, None)
        assert gradients["c"]["lambda"] == 3.0


def test_structs_from_dataclasses(client):
    program = Program("struct P { a: f64, b: f64 }\nfn f(p: P) -> f64 { return p.a - p.b }",
                      client=client)
    p = dataclasses.make_dataclass("P", ["b", "a"])(b=1.0, a=5.0)
    assert program.value("f", p=p) == 4.0
    with pytest.raises(ArgumentError, match="P has no field 'c'; it has: a, b"):
        program.value("f", p=dataclasses.make_dataclass("Q", ["a", "b", "c"])(1.0, 2.0, 3.0))


def test_structs_come_out_as_named_tuples(client):
    program = Program(CAMERA, client=client)
    c = program.value("same", c=([1, 2, 3], (2.0, 3), 0.5))
    assert type(c).__name__ == "Camera"
    assert c.lens.glass == c["lens"]["glass"] == c[1][1] == 3
    assert c["lambda"] == 0.5
    assert c._replace(r=None).lens == (2.0, 3)
    with pytest.raises(KeyError):
        c["f"]
    again = pickle.loads(pickle.dumps(c))
    assert again.lens == c.lens
    assert type(again) is type(copy.copy(c)) is type(c)
    # What came out goes in.
    assert program.value("power", c=c) == 8.5


def test_structs_in_seeds(client):
    program = Program(CAMERA, client=client)
    c = ([1, 2, 3], (2.0, 3), 0.5)
    seed = {"r": [1, 1, 1], "lens": {"f": 4.0, "glass": None}, "lambda": 2.0}
    _, derivatives = program.vjp("same", seed, c=c)
    assert derivatives["c"].lens == (4.0, None)
    _, tangent = program.jvp("same", {"c": seed}, c=c)
    assert tangent.r.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ArgumentError, match="cotangent.lens.glass: i64 has no derivative"):
        program.vjp("same", {"r": [1, 1, 1], "lens": (4.0, 1), "lambda": 2.0}, c=c)


@pytest.mark.parametrize("value, said", [
    ({"r": [1, 2, 3], "lens": (1.0, 1)}, "the field 'lambda' is missing; it is f64"),
    ({"r": [1, 2, 3], "lens": (1.0, 1), "lambda": 1.0, "x": 0}, "Camera has no field 'x'"),
    ({"r": [1, 2, 3], "lens": {"f": 1.0, "glass": 1.5}, "lambda": 1.0}, "'c'.lens.glass: expected i64"),
    ({"r": [1, 2], "lens": (1.0, 1), "lambda": 1.0}, "3"),
    ((1, 2), "expected its fields Camera"), (3.0, "expected its fields Camera")])
def test_structs_that_do_not_fit(client, value, said):
    with pytest.raises(ArgumentError) as caught:
        Program(CAMERA, client=client).value("same", c=value)
    assert said in str(caught.value)


def test_arguments_are_not_changed(client):
    program = Program("fn f(x: [n]f64) -> [n]f64 { var y = x\n y[0] = 9.0\n return y }", client=client)
    x = np.zeros(2)
    assert program.value("f", x=x).tolist() == [9.0, 0.0]
    assert x.tolist() == [0.0, 0.0]


def test_large_arrays(client):
    x = np.random.default_rng(0).normal(size=3_000_000)
    np.testing.assert_array_equal(echo(client, "[n]f64")(x), x)


@pytest.mark.parametrize("type_, value, said", [
    ("f64", "a", "expected f64, got 'a'"), ("f64", None, "NoneType"), ("f64", True, "got True"),
    ("i64", 1.5, "expected i64, got 1.5"), ("i64", 2**63, "out of range"), ("i64", 2**70, "int"),
    ("bool", 1, "expected bool"), ("[n]f64", 1.0, "shape ()"), ("[n]f64", [[1.0]], "shape (1, 1)"),
    ("[n, m]f64", [[1.0], [2.0, 3.0]], "[n, m]f64"), ("[n]i64", [1.0], "float64 of shape"),
    ("(f64, i64)", (1.0,), "expected a tuple"), ("(f64, i64)", (1.0, 2.5), "'x'.1")])
def test_what_does_not_fit(client, type_, value, said):
    with pytest.raises(ArgumentError) as caught:
        echo(client, type_)(value)
    assert "argument 'x'" in str(caught.value)
    assert said in str(caught.value)
