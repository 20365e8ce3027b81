// A first gradient: x^n and its derivative by x, at 2 and 3, of a program as text; then x * x * x at 2, of
// one as messages.
//
//	go run . [HOST:PORT]     default PULLBACK_SERVER, or 127.0.0.1:8001
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "pullback/client/go/gen/pullbackv1"
)

func connect(address string) (*grpc.ClientConn, error) {
	return grpc.Dial(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

func textProgram(text string) *pb.Program {
	return &pb.Program{Form: &pb.Program_Text{Text: text}}
}

func tablesProgram(tables *pb.ProgramTables) *pb.Program {
	return &pb.Program{Form: &pb.Program_Tables{Tables: tables}}
}

// printGradient compiles once; the id then stands for the program.
func printGradient(ctx context.Context, client pb.GradientServiceClient, program *pb.Program, entry string,
	arguments []*pb.NamedValue, out io.Writer) error {
	compiled, err := client.Compile(ctx, &pb.CompileRequest{Spec: &pb.KernelSpec{
		Program:   program,
		Entry:     entry,
		Transform: pb.Transform_TRANSFORM_VALUE_AND_GRAD,
		Wrt:       []string{"x"},
	}})
	if err != nil {
		return err
	}
	answer, err := client.Evaluate(ctx, &pb.EvaluateRequest{
		Kernel:    &pb.EvaluateRequest_KernelId{KernelId: compiled.KernelId},
		Arguments: arguments,
	})
	if err != nil {
		return err
	}
	return printAnswer(entry, answer, out)
}

// firstGradients sends one program as text and one as messages.
func firstGradients(ctx context.Context, client pb.GradientServiceClient, text string, out io.Writer) error {
	pow := []*pb.NamedValue{f64("x", 2), i64("n", 3)}
	if err := printGradient(ctx, client, textProgram(text), "pow", pow, out); err != nil {
		return err
	}
	cube := []*pb.NamedValue{f64("x", 2)}
	return printGradient(ctx, client, tablesProgram(cubeTables()), "cube", cube, out)
}

func printAnswer(name string, answer *pb.EvaluateResponse, out io.Writer) error {
	value, err := number(answer.Value)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s = %v\n", name, value)
	for _, derivative := range answer.Derivatives {
		gradient, err := number(derivative.Value)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "gradient by %s = %v\n", derivative.Name, gradient)
	}
	return nil
}

func run(address string) error {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "examples", "pow.pull"))
	if err != nil {
		return err
	}
	connection, err := connect(address)
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return firstGradients(ctx, pb.NewGradientServiceClient(connection), string(text), os.Stdout)
}

func main() {
	address := os.Getenv("PULLBACK_SERVER")
	if address == "" {
		address = "127.0.0.1:8001"
	}
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	if err := run(address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
