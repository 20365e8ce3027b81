#!/usr/bin/env bash
# Generates the stubs from proto/ into gen/, with the generators that go.mod names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
go build -o "$tools/" google.golang.org/protobuf/cmd/protoc-gen-go \
  google.golang.org/grpc/cmd/protoc-gen-go-grpc

# The .proto files say nothing about Go: where each one's package is, is said here.
package=pullback/client/go/gen/pullbackv1
options=(--go_opt=module=pullback/client/go --go-grpc_opt=module=pullback/client/go)
files=()
for file in ../../proto/pullback/v1/*.proto; do
  file=pullback/v1/${file##*/}
  files+=("$file")
  options+=("--go_opt=M$file=$package" "--go-grpc_opt=M$file=$package")
done
# From google.golang.org/genproto, as every Go program has it.
status=google/rpc/status.proto
options+=("--go_opt=M$status=google.golang.org/genproto/googleapis/rpc/status"
  "--go-grpc_opt=M$status=google.golang.org/genproto/googleapis/rpc/status")

rm -rf gen
PATH=$tools:$PATH protoc -I ../../proto --go_out=. --go-grpc_out=. "${options[@]}" "${files[@]}"
