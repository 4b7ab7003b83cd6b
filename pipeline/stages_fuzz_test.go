package pipeline

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzTrainReport: for any train.json of an earlier training, only policies in its folder are removed.
func FuzzTrainReport(f *testing.F) {
	for _, text := range []string{`{"policies":[{"file":"old.onnx"}]}`, `{"policies":[{"file":"../keep.onnx"},{"file":"sub/keep.onnx"},{"file":"keep.txt"},{"file":"sub.onnx"}]}`, "null", "["} {
		f.Add([]byte(text))
	}
	above := f.TempDir()
	folder := filepath.Join(above, "policies")
	keep := []string{"../keep.onnx", "sub.onnx/keep.onnx", "keep.txt"}
	if err := os.MkdirAll(filepath.Join(folder, "sub.onnx"), 0o777); err != nil {
		f.Fatal(err)
	}
	for _, name := range append(keep, TrainReportFile) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o666); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, b := range map[string][]byte{TrainReportFile: text, "old.onnx": nil} {
			if err := os.WriteFile(filepath.Join(folder, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		err := DropPolicies(folder, nil)
		for _, name := range keep {
			if _, missing := os.Stat(filepath.Join(folder, name)); missing != nil {
				t.Fatal(missing)
			}
		}
		if err != nil {
			t.Logf("%v", err) // a folder that is named as a policy
		}
	})
}

// FuzzFeaturizeReport: the report of a stage gives an error that names its file, or can be displayed.
func FuzzFeaturizeReport(f *testing.F) {
	f.Add([]byte(`{"rows":3,"train":2,"validation":1,"positive":0.5,"groups":[{"name":"g","columns":2}]}`))
	f.Add([]byte(`{"load":{"joined":1}}`))
	file := filepath.Join(f.TempDir(), "report.json")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := readFeaturizeReport(file)
		if err != nil {
			if !strings.Contains(err.Error(), file) {
				t.Fatal(err)
			}
			return
		}
		if err := errors.Join(r.WriteText(io.Discard), r.WriteJSON(io.Discard)); err != nil {
			t.Fatal(err)
		}
	})
}
