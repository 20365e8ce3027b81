// A first gradient: x^n and its derivative by x, at 2 and 3, of a program as text; then x * x * x at 2, of one
// as messages.
//
//   node first_gradient.mjs [HOST:PORT]     default PULLBACK_SERVER, or 127.0.0.1:8001
import { readFileSync } from "node:fs";

import { cubeTables } from "./cube.mjs";
import { connect, f64, i64, number } from "./pullback.mjs";

const address = process.argv[2] ?? process.env.PULLBACK_SERVER ?? "127.0.0.1:8001";
const text = readFileSync(new URL("../../docs/examples/pow.pull", import.meta.url), "utf8");

const client = connect(address);

async function printGradient(program, entry, values) {
  // Compiled once; the id then stands for the program.
  const { kernel_id } = await client.compile({
    spec: { program, entry, transform: "TRANSFORM_VALUE_AND_GRAD", wrt: ["x"] },
  });
  const { value, derivatives } = await client.evaluate({ kernel_id, arguments: values });
  console.log(`${entry} = ${number(value)}`);
  for (const d of derivatives) console.log(`gradient by ${d.name} = ${number(d.value)}`);
}

try {
  await printGradient({ text }, "pow", [f64("x", 2), i64("n", 3)]);
  await printGradient({ tables: cubeTables() }, "cube", [f64("x", 2)]);
} finally {
  client.close();
}
