package main

import pb "pullback/client/go/gen/pullbackv1"

// tables is a program as messages (docs/api.md): parts stand in tables, and are named by their indices there.
type tables struct{ pb.ProgramTables }

func (t *tables) expression(e *pb.Expression) uint32 {
	t.Expressions = append(t.Expressions, e)
	return uint32(len(t.Expressions) - 1)
}

func (t *tables) times(left, right uint32) uint32 {
	return t.expression(&pb.Expression{Kind: &pb.Expression_Binary{Binary: &pb.Binary{
		Op: pb.BinaryOperator_BINARY_OPERATOR_MUL, Left: left, Right: right,
	}}})
}

// cubeTables is fn cube(x: f64) -> f64 { return x * x * x }
func cubeTables() *pb.ProgramTables {
	var t tables
	f64 := uint32(0)
	t.Types = []*pb.TypeExpression{{Kind: &pb.TypeExpression_Scalar{Scalar: pb.DType_DTYPE_F64}}}
	x := t.expression(&pb.Expression{Kind: &pb.Expression_Name{Name: "x"}})
	product := t.times(t.times(x, x), x)
	t.Statements = []*pb.Statement{{Kind: &pb.Statement_Returns{Returns: &pb.Return{Value: &product}}}}
	t.Functions = []*pb.FunctionDeclaration{{
		Name:       "cube",
		Parameters: []*pb.NamedType{{Name: "x", Type: &f64}},
		Result:     &f64,
		Body:       &pb.Block{Statements: []uint32{0}},
	}}
	return &t.ProgramTables
}
