package train

import (
	"os"
	"path/filepath"
	"testing"

	"pipe/internal/storage"
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
	for _, name := range append(keep, ReportFile) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o666); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, b := range map[string][]byte{ReportFile: text, "old.onnx": nil} {
			if err := os.WriteFile(filepath.Join(folder, name), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		err := dropPolicies(t.Context(), storage.File(folder), nil)
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
