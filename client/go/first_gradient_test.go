package main

import (
	"bytes"
	"context"
	"os"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "pullback/client/go/gen/pullbackv1"
)

const cube = "fn cube(x: f64) -> f64 { return x * x * x }"

// A client of the server that PULLBACK_SERVER names.
func testClient(t *testing.T) (context.Context, pb.GradientServiceClient) {
	t.Helper()
	address := os.Getenv("PULLBACK_SERVER")
	if address == "" {
		t.Fatal("PULLBACK_SERVER says where the server is")
	}
	connection, err := connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx, pb.NewGradientServiceClient(connection)
}

func cubeSpec(text string) *pb.KernelSpec {
	return &pb.KernelSpec{
		Program:   textProgram(text),
		Entry:     "cube",
		Transform: pb.Transform_TRANSFORM_VALUE_AND_GRAD,
	}
}

func TestFirstGradients(t *testing.T) {
	ctx, client := testClient(t)
	text, err := os.ReadFile("../../docs/examples/pow.pull")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := firstGradients(ctx, client, string(text), &out); err != nil {
		t.Fatal(err)
	}
	if want := "pow = 8\ngradient by x = 12\ncube = 8\ngradient by x = 12\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestProgramAndArgumentsInOneCall(t *testing.T) {
	ctx, client := testClient(t)
	answer, err := client.Evaluate(ctx, &pb.EvaluateRequest{
		Kernel:    &pb.EvaluateRequest_Spec{Spec: cubeSpec(cube)},
		Arguments: []*pb.NamedValue{f64("x", 3)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := printAnswer("cube", answer, &out); err != nil {
		t.Fatal(err)
	}
	if want := "cube = 27\ngradient by x = 27\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestTextAndMessagesAreOneKernel(t *testing.T) {
	ctx, client := testClient(t)
	var ids, hashes []string
	for _, program := range []*pb.Program{textProgram(cube), tablesProgram(cubeTables())} {
		spec := cubeSpec("")
		spec.Program = program
		compiled, err := client.Compile(ctx, &pb.CompileRequest{Spec: spec})
		if err != nil {
			t.Fatal(err)
		}
		formatted, err := client.Format(ctx, &pb.FormatRequest{Program: program})
		if err != nil {
			t.Fatal(err)
		}
		if formatted.Text != cube+"\n" {
			t.Errorf("the text is %q", formatted.Text)
		}
		ids, hashes = append(ids, compiled.KernelId), append(hashes, formatted.Hash)
	}
	if ids[0] != ids[1] || hashes[0] != hashes[1] {
		t.Errorf("two kernels %v or hashes %v", ids, hashes)
	}
}

func TestMistakeIsToldWithItsPlace(t *testing.T) {
	ctx, client := testClient(t)
	_, err := client.Compile(ctx, &pb.CompileRequest{
		Spec: cubeSpec("fn cube(x: f64) -> f64 { return y }"),
	})
	if status.Code(err) != codes.InvalidArgument {
		t.Fatalf("%v, want InvalidArgument", err)
	}
	for _, detail := range status.Convert(err).Details() {
		if request, ok := detail.(*errdetails.BadRequest); ok {
			if field := request.FieldViolations[0].Field; field != "program.text:1:33" {
				t.Errorf("the place is %q", field)
			}
			return
		}
	}
	t.Errorf("no BadRequest in %v", status.Convert(err).Details())
}

func TestArgumentOfAnotherTypeIsRefused(t *testing.T) {
	ctx, client := testClient(t)
	_, err := client.Evaluate(ctx, &pb.EvaluateRequest{
		Kernel:    &pb.EvaluateRequest_Spec{Spec: cubeSpec(cube)},
		Arguments: []*pb.NamedValue{i64("x", 3)},
	})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("%v, want InvalidArgument", err)
	}
}
