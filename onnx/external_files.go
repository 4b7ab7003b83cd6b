package onnx

import (
	"fmt"
	"maps"
	"slices"

	"pipe/onnx/onnxpb"
)

// ExternalFiles lists the files with data that Parse did not load, relative to the model's folder and sorted. A
// location outside the folder is an error.
func (m *Model) ExternalFiles() ([]string, error) {
	files := map[string]bool{}
	err := m.eachTensor(func(t *onnxpb.TensorProto) error {
		if t.GetDataLocation() != onnxpb.TensorProto_EXTERNAL {
			return nil
		}
		e, err := parseExternal(t)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.GetName(), err)
		}
		files[e.location] = true
		return nil
	})
	return slices.Sorted(maps.Keys(files)), err
}
