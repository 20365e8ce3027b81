// A program as messages (docs/api.md): parts stand in tables, and are named by their indices there.

/** fn cube(x: f64) -> f64 { return x * x * x } */
export function cubeTables() {
  const tables = { types: [], statements: [], expressions: [], functions: [] };
  const add = (table, part) => tables[table].push(part) - 1;
  const times = (left, right) =>
    add("expressions", { binary: { op: "BINARY_OPERATOR_MUL", left, right } });

  const f64 = add("types", { scalar: "DTYPE_F64" });
  const x = add("expressions", { name: "x" });
  const result = add("statements", { returns: { value: times(times(x, x), x) } });
  add("functions", {
    name: "cube",
    parameters: [{ name: "x", type: f64 }],
    result: f64,
    body: { statements: [result] },
  });
  return tables;
}
