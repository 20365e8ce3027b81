// A first gradient: x^n and its derivative by x, at 2 and 3.
//
//   node first_gradient.mjs [HOST:PORT]     default PULLBACK_SERVER, or 127.0.0.1:8001
import { readFileSync } from "node:fs";

import { connect, f64, i64, number } from "./pullback.mjs";

const address = process.argv[2] ?? process.env.PULLBACK_SERVER ?? "127.0.0.1:8001";
const text = readFileSync(new URL("../../docs/examples/pow.pull", import.meta.url), "utf8");

const client = connect(address);
try {
  // Compiled once; the id then stands for the program.
  const { kernel_id } = await client.compile({
    spec: { program: { text }, entry: "pow", transform: "TRANSFORM_VALUE_AND_GRAD", wrt: ["x"] },
  });
  const { value, derivatives } = await client.evaluate({
    kernel_id,
    arguments: [f64("x", 2), i64("n", 3)],
  });
  console.log(`value = ${number(value)}`);
  for (const d of derivatives) console.log(`gradient by ${d.name} = ${number(d.value)}`);
} finally {
  client.close();
}
