package onnx

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"pipe/onnx/onnxpb"
)

// shallow copies the fields of src, a message of the same type, to dst. Both then share their contents.
func shallow(dst, src proto.Message) {
	src.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		dst.ProtoReflect().Set(f, v)
		return true
	})
	dst.ProtoReflect().SetUnknown(src.ProtoReflect().GetUnknown())
}

// domain gives the standard operators one name: "" and "ai.onnx" are the same operator set.
func domain(d string) string {
	if d == "" {
		return "ai.onnx"
	}
	return d
}

// nodeTitle names the i-th node of a graph, from 0, in errors.
func nodeTitle(n *onnxpb.NodeProto, i int) string {
	if n.GetName() != "" {
		return fmt.Sprintf("%q (%s)", n.GetName(), n.GetOpType())
	}
	return fmt.Sprintf("%d (%s)", i, n.GetOpType())
}
