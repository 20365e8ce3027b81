// The service as proto/ says it, and scalars as tensors. What a program needs of a client, in little.
import { fileURLToPath } from "node:url";

import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const protos = fileURLToPath(new URL("../../proto", import.meta.url));

const definition = loadSync("pullback/v1/service.proto", {
  includeDirs: [protos],
  keepCase: true, // kernel_id, as the .proto files and docs/api.md have it
  longs: BigInt,
  enums: String,
  oneofs: true,
  arrays: true,
});
const { pullback } = grpc.loadPackageDefinition(definition);

/** A client whose calls are promises. close() ends its connection. */
export function connect(address) {
  const stub = new pullback.v1.GradientService(address, grpc.credentials.createInsecure());
  const call = (method) => (request, seconds = 10) =>
    new Promise((resolve, reject) => {
      const deadline = new Date(Date.now() + 1000 * seconds);
      stub[method](request, { deadline }, (error, response) =>
        error ? reject(error) : resolve(response),
      );
    });
  return {
    compile: call("Compile"),
    evaluate: call("Evaluate"),
    format: call("Format"),
    info: call("GetServerInfo"),
    close: () => stub.close(),
  };
}

/** An argument: a scalar of type DTYPE_F64. */
export function f64(name, number) {
  const data = Buffer.alloc(8);
  data.writeDoubleLE(number);
  return { name, value: { tensor: { dtype: "DTYPE_F64", shape: [], data } } };
}

/** An argument: a scalar of type DTYPE_I64. */
export function i64(name, number) {
  const data = Buffer.alloc(8);
  data.writeBigInt64LE(BigInt(number));
  return { name, value: { tensor: { dtype: "DTYPE_I64", shape: [], data } } };
}

/** The number that a value holds, which must be a scalar of type DTYPE_F64. */
export function number(value) {
  const { dtype, shape, data } = value.tensor ?? {};
  if (dtype !== "DTYPE_F64" || shape.length > 0) throw new TypeError("not a scalar f64");
  return data.readDoubleLE();
}
