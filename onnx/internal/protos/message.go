// Package protos has helpers on the messages of model files, shared by reading, checking and rewriting.
package protos

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"pipe/onnx/onnxpb"
)

// Shallow copies the fields of src, a message of the same type, to dst. Both then share their contents.
func Shallow(dst, src proto.Message) {
	src.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		dst.ProtoReflect().Set(f, v)
		return true
	})
	dst.ProtoReflect().SetUnknown(src.ProtoReflect().GetUnknown())
}

// Domain gives the standard operators one name: "" and "ai.onnx" are the same operator set.
func Domain(d string) string {
	if d == "" {
		return "ai.onnx"
	}
	return d
}

// NodeTitle names the i-th node of a graph, from 0, in errors.
func NodeTitle(n *onnxpb.NodeProto, i int) string {
	if n.GetName() != "" {
		return fmt.Sprintf("%q (%s)", n.GetName(), n.GetOpType())
	}
	return fmt.Sprintf("%d (%s)", i, n.GetOpType())
}
