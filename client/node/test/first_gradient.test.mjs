// Against a running server: PULLBACK_SERVER=HOST:PORT npm test
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import test, { after } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { cubeTables } from "../cube.mjs";
import { connect, f64, i64, number } from "../pullback.mjs";

const address = process.env.PULLBACK_SERVER;
assert.ok(address, "PULLBACK_SERVER says where the server is");
const client = connect(address);
after(() => client.close());

const cube = "fn cube(x: f64) -> f64 { return x * x * x }";
const spec = (text) => ({
  program: { text },
  entry: "cube",
  transform: "TRANSFORM_VALUE_AND_GRAD",
});

test("the example prints values and gradients", async () => {
  const script = fileURLToPath(new URL("../first_gradient.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, address]);
  assert.equal(stdout, "pow = 8\ngradient by x = 12\ncube = 8\ngradient by x = 12\n");
});

test("a program and its arguments in one call", async () => {
  const answer = await client.evaluate({ spec: spec(cube), arguments: [f64("x", 3)] });
  assert.equal(number(answer.value), 27);
  assert.deepEqual(answer.derivatives.map((d) => [d.name, number(d.value)]), [["x", 27]]);
  assert.match(answer.kernel_id, /^[0-9a-f]{64}$/);
});

test("text and messages are one kernel, with one hash", async () => {
  const programs = [{ text: cube }, { tables: cubeTables() }];
  const [text, tables] = await Promise.all(
    programs.map((program) => client.compile({ spec: { ...spec(cube), program } })),
  );
  assert.equal(tables.kernel_id, text.kernel_id);
  const [a, b] = await Promise.all(programs.map((program) => client.format({ program })));
  assert.equal(b.text, `${cube}\n`);
  assert.equal(b.hash, a.hash);
});

test("a mistake in the program is told with its place", async () => {
  const wrong = client.compile({ spec: spec("fn cube(x: f64) -> f64 { return y }") });
  await assert.rejects(wrong, (error) => {
    assert.equal(error.code, 3); // INVALID_ARGUMENT
    assert.match(error.details, /y/);
    return true;
  });
});

test("an argument of another type is refused", async () => {
  const wrong = client.evaluate({ spec: spec(cube), arguments: [i64("x", 3)] });
  await assert.rejects(wrong, { code: 3 });
});
