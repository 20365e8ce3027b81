package main

import (
	"encoding/binary"
	"fmt"
	"math"

	pb "pullback/client/go/gen/pullbackv1"
)

// f64 and i64 are arguments: scalars, which are tensors without axes.
func f64(name string, x float64) *pb.NamedValue {
	return scalar(name, pb.DType_DTYPE_F64, math.Float64bits(x))
}

func i64(name string, n int64) *pb.NamedValue {
	return scalar(name, pb.DType_DTYPE_I64, uint64(n))
}

func scalar(name string, dtype pb.DType, bits uint64) *pb.NamedValue {
	data := binary.LittleEndian.AppendUint64(nil, bits)
	tensor := &pb.Tensor{Dtype: dtype, Data: data}
	return &pb.NamedValue{Name: name, Value: &pb.Value{Kind: &pb.Value_Tensor{Tensor: tensor}}}
}

// number is what a value holds, which must be a scalar f64.
func number(value *pb.Value) (float64, error) {
	tensor := value.GetTensor()
	if tensor.GetDtype() != pb.DType_DTYPE_F64 || len(tensor.GetShape()) > 0 || len(tensor.GetData()) != 8 {
		return 0, fmt.Errorf("not a scalar f64: %v", value)
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(tensor.GetData())), nil
}
