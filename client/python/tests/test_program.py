"""Values and derivatives through a server."""

import concurrent.futures

import numpy as np
import pytest
from conftest import ROOT
from pullback import Client, Program, PullbackError, SparseTensor

POW = (ROOT / "docs/examples/pow.pull").read_text()
SCALE = "fn scale(x: [n]f64, s: f64) -> [n]f64 { return gen i < n { s * x[i] } }"
LOSS = """
fn loss(w: [d]f64, x: [n, d]f64, y: [n]f64) -> f64 {
  let r = x @ w - y
  return sum i < n { r[i] * r[i] }
}
"""


def test_value_and_gradient(client):
    program = Program(POW, client=client)
    assert program.value("pow", x=2.0, n=3) == 8.0
    value, gradients = program.value_and_grad("pow", wrt=["x"], x=2.0, n=3)
    assert (value, gradients) == (8.0, {"x": 12.0})
    assert type(value) is float
    assert type(gradients["x"]) is float


def test_wrt_is_a_name_or_names_or_all_that_hold_floats(client):
    program = Program(LOSS, client=client)
    args = {"w": np.ones(2), "x": np.arange(6.0).reshape(3, 2), "y": np.zeros(3)}
    assert list(program.value_and_grad("loss", **args)[1]) == ["w", "x", "y"]
    assert list(program.value_and_grad("loss", wrt="y", **args)[1]) == ["y"]
    assert list(program.value_and_grad("loss", wrt=["y", "w"], **args)[1]) == ["y", "w"]


def test_gradients_are_right(client):
    rng = np.random.default_rng(1)
    w, x, y = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)
    value, gradients = Program(LOSS, client=client).value_and_grad("loss", w=w, x=x, y=y)
    r = x @ w - y
    assert value == pytest.approx(r @ r)
    np.testing.assert_allclose(gradients["w"], 2 * x.T @ r)
    np.testing.assert_allclose(gradients["x"], 2 * np.outer(r, w))
    np.testing.assert_allclose(gradients["y"], -2 * r)


def test_vjp_and_jvp(client):
    program = Program(SCALE, client=client)
    value, derivatives = program.vjp("scale", [10.0, 100.0], x=[1.0, 2.0], s=3.0)
    assert value.tolist() == [3.0, 6.0]
    assert derivatives["x"].tolist() == [30.0, 300.0]
    assert derivatives["s"] == 210.0
    value, tangent = program.jvp("scale", {"s": 1.0}, x=[1.0, 2.0], s=3.0)
    assert tangent.tolist() == [1.0, 2.0]
    value, tangent = program.jvp("scale", {"s": 1.0, "x": [1.0, 0.0]}, x=[1.0, 2.0], s=3.0)
    assert value.tolist() == [3.0, 6.0]
    assert tangent.tolist() == [4.0, 2.0]


def test_jacobian(client):
    program = Program(SCALE, client=client)
    value, jacobian = program.jacobian("scale", x=[1.0, 2.0], s=3.0)
    assert value.tolist() == [3.0, 6.0]
    assert list(jacobian) == ["x", "s"]
    assert jacobian["x"].tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert jacobian["s"].tolist() == [1.0, 2.0]
    assert list(program.jacobian("scale", wrt="s", x=[1.0, 2.0], s=3.0)[1]) == ["s"]


def test_sparse_jacobian_and_hessian(client):
    text = """
fn pairs(x: [n]f64, s: f64) -> ([n - 1]f64, i64) { return (gen i < n - 1 { s * x[i] * x[i + 1] }, n) }
fn chain(x: [n]f64, s: f64) -> f64 { return sum i < n - 1 { s * x[i] * x[i + 1] } }
"""
    program = Program(text, client=client)
    x = np.array([1.0, 2.0, 3.0, 5.0])
    _, jacobian = program.sparse_jacobian("pairs", x=x, s=2.0)
    block, nothing = jacobian["x"]
    assert nothing is None
    assert isinstance(block, SparseTensor)
    assert (block.seeds, block.shape) == (2, (3, 4))
    assert [c.tolist() for c in block.coordinates] == [[0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 3]]
    assert block.todense().tolist() == program.jacobian("pairs", x=x, s=2.0)[1]["x"][0].tolist()
    _, hessian = program.sparse_hessian("chain", x=x, s=2.0)
    dense = program.hessian("chain", x=x, s=2.0)[1]
    for row in "xs":
        for column in "xs":
            np.testing.assert_allclose(hessian[row][column].todense(), dense[row][column])
    with pytest.raises(PullbackError) as caught:
        program.compile("chain", "vjp", sparse=True)
    assert caught.value.reason == "INVALID_OPTION"


def test_hessian_and_hvp(client):
    rng = np.random.default_rng(3)
    w, x, y = rng.normal(size=2), rng.normal(size=(4, 2)), rng.normal(size=4)
    program = Program(LOSS, client=client)
    args = {"w": w, "x": x, "y": y}
    value, hessian = program.hessian("loss", wrt=["w", "y"], **args)
    assert value == pytest.approx((x @ w - y) @ (x @ w - y))
    assert list(hessian) == ["w", "y"] and list(hessian["w"]) == ["w", "y"]
    np.testing.assert_allclose(hessian["w"]["w"], 2 * x.T @ x)
    np.testing.assert_allclose(hessian["w"]["y"], -2 * x.T)
    np.testing.assert_allclose(hessian["y"]["w"], -2 * x)
    np.testing.assert_allclose(hessian["y"]["y"], 2 * np.eye(4), atol=1e-15)
    v = rng.normal(size=2)
    value, product = program.hvp("loss", {"w": v}, **args)
    assert list(product) == ["w"]
    np.testing.assert_allclose(product["w"], 2 * x.T @ x @ v)


def test_hessian_needs_a_scalar(client):
    with pytest.raises(PullbackError) as caught:
        Program(SCALE, client=client).hessian("scale", x=[1.0, 2.0], s=3.0)
    assert caught.value.reason == "NOT_SCALAR"


def test_vjp_transposes_jvp(client):
    program = Program("fn f(x: [n]f64) -> [n]f64 { return gen i < n { sin(x[i]) * x[n - 1 - i] } }",
                      client=client)
    rng = np.random.default_rng(2)
    x, dx, dy = rng.normal(size=(3, 7))
    _, tangent = program.jvp("f", {"x": dx}, x=x)
    _, derivatives = program.vjp("f", dy, x=x)
    assert tangent @ dy == pytest.approx(derivatives["x"] @ dx)


def test_parameters_may_have_any_name(client):
    program = Program("fn f(self: f64, entry: f64) -> f64 { return self * entry }", client=client)
    assert program.value("f", self=2.0, entry=3.0) == 6.0
    program = Program("fn f(wrt: f64) -> f64 { return wrt * wrt }", client=client)
    kernel = program.compile("f", "value_and_grad")
    assert kernel.evaluate({"wrt": 3.0}).derivatives == {"wrt": 6.0}


@pytest.mark.parametrize("tier", ["baseline", "llvm"])
def test_a_tier_can_be_asked_for(client, tier):
    kernel = Program(LOSS, client=client).compile("loss", "value_and_grad", wrt=["w"], tier=tier)
    result = kernel.evaluate({"w": [0.0], "x": [[1.0]], "y": [2.0]})
    assert result.tier == tier
    assert result.derivatives["w"].tolist() == [-4.0]


def test_contractions_by_a_library(client):
    program = Program("fn f(a: [n, k]f64, b: [k, m]f64) -> [n, m]f64 { return a @ b }", client=client)
    a, b = np.ones((20, 30)), np.ones((30, 25))
    result = program.compile("f", contractions="blas").evaluate({"a": a, "b": b})
    assert np.array_equal(result.value, a @ b)
    assert result.contractions == 1 and result.contracted_by.startswith("OpenBLAS ")
    exact = program.compile("f").evaluate({"a": a, "b": b})
    assert exact.contractions == 0 and exact.contracted_by == ""
    with pytest.raises(PullbackError) as caught:
        program.compile("f", contractions="fast")
    assert caught.value.reason == "INVALID_OPTION"


def test_a_device_can_be_asked_for(client):
    program = Program("fn f(x: [n]f64) -> f64 { return sum i < n { x[i] * x[i] } }", client=client)
    result = program.compile("f", target="auto").evaluate({"x": [1.0, 2.0]})
    assert result.value == 5.0 and result.target in ("cpu", "cuda")
    if result.target == "cuda":
        return
    with pytest.raises(PullbackError) as caught:
        program.compile("f", target="cuda")
    assert caught.value.reason == "NO_DEVICE"


def test_a_tier_that_is_not_there(client):
    with pytest.raises(PullbackError) as caught:
        Program(LOSS, client=client).compile("loss", tier="best")
    assert caught.value.reason == "INVALID_OPTION"


def test_compile_tells_what_the_kernel_is(client):
    kernel = Program(LOSS, client=client).compile("loss", "value_and_grad", wrt=["w"])
    assert len(kernel.kernel_id) == 64
    assert str(kernel.signature) == "fn loss(w: [d]f64, x: [n, d]f64, y: [n]f64) -> f64"
    assert kernel.signature.wrt == ("w",)
    assert kernel.signature.parameters[1].type.dims == ("n", "d")
    assert "value_and_grad of fn loss" in repr(kernel)
    result = kernel.evaluate({"w": [0.0], "x": [[1.0]], "y": [2.0]})
    assert result.value == 4.0
    assert result.derivatives["w"].tolist() == [-4.0]
    assert result.timings["execute_seconds"] >= 0.0


def test_a_renamed_copy_hits_the_cache_and_keeps_its_names(client):
    first = Program("fn f(x: f64) -> f64 { return x * 91.5 }", client=client)
    assert not first.compile("f", "value_and_grad").cache_hit
    copy = Program("fn g(y: f64) -> f64 {\n  # the same\n  return (y) * 91.5\n}", client=client)
    kernel = copy.compile("g", "value_and_grad")
    assert kernel.cache_hit
    assert kernel.kernel_id == first.compile("f", "value_and_grad").kernel_id
    assert copy.value_and_grad("g", y=2.0) == (183.0, {"y": 91.5})


def test_explain(client):
    program = Program(POW, client=client)
    assert "fn @pow" in program.explain("pow", "ssa")
    assert set(program.explain("pow", ["ssa", "cost"])) == {"ssa", "cost"}
    assert "asm" in program.explain("pow", transform="value_and_grad", wrt="x")


def test_info(client):
    info = client.info()
    assert info["backend"]["name"] == "llvm"
    assert info["limits"]["threads"] >= 1


def test_the_server_of_the_environment(server, monkeypatch):
    monkeypatch.setenv("PULLBACK_SERVER", server.address)
    assert Program(POW).value("pow", x=3.0, n=2) == 9.0
    assert Program(POW).client is Program(POW).client


def test_one_program_from_many_threads(client):
    program = Program(POW, client=client)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        values = list(pool.map(lambda n: program.value("pow", x=2.0, n=n), range(40)))
    assert values == [2.0**n for n in range(40)]


def test_readme_runs(server, capsys):
    text = (ROOT / "client/python/README.md").read_text()
    snippet = text.split("```python\n")[1].split("```")[0]
    exec(compile(snippet.replace("127.0.0.1:8001", server.address), "README.md", "exec"), {})
    assert capsys.readouterr().out == "1.0 [-4. -6.]\n"


def test_the_repositorys_readme_runs(server, monkeypatch):
    text = (ROOT / "README.md").read_text()
    snippet = text.split("The same from Python")[1].split("\n\n")[1:3]
    code = "\n".join(line[4:] for line in "\n".join(snippet).splitlines())
    monkeypatch.chdir(ROOT)
    names = {}
    exec(code.replace("127.0.0.1:8001", server.address), names)
    assert names["value"] == 8.0
    assert names["gradients"] == {"x": 12.0}
    Client(server.address).close()
