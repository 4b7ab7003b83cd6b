package onnx_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/onnx"
	"pipe/onnx/internal/conform"
	"pipe/onnx/internal/onnxtest"
	"pipe/onnx/rewrite"
)

const checker = `
import sys, onnx
for path in sys.argv[1:]:
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as e:
        print(path, ":", e)
`

// The checker of the ONNX project, with shape inference, accepts the output of the builder, the differentiator and
// Merge, under old and new operator sets. Models of one operator set have a file of weights beside them; writing two
// files that survive a crash takes most of the time.
func TestOfficialCheckerAgrees(t *testing.T) {
	py, dir := judge.Python(t, "onnx"), t.TempDir()
	args := []string{"-c", checker}
	write := func(name string, external bool, m *onnx.Model, err error) {
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, strings.NewReplacer("/", "_", " ", "_").Replace(name)+".onnx")
		var whole []byte
		if external {
			err = m.WriteExternal(path, 64)
		} else if whole, err = m.Marshal(); err == nil {
			err = os.WriteFile(path, whole, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	write("affine", true, onnxtest.Affine(t), nil)
	m, err := rewrite.Merge(onnxtest.Affine(t), onnxtest.Head(t, onnx.Sym("rows"), 18), map[string]string{"y": "x"}, rewrite.MergeOptions{Name: "merged", FirstPrefix: "first/", SecondPrefix: "second/"})
	write("merged", true, m, err)
	for _, opset := range []int64{16, 17, 18, 21} {
		write(fmt.Sprintf("forest.%d", opset), true, forest(t, onnx.BuildOptions{Opset: opset, IRVersion: 8 + 2*(opset/21)}), nil)
	}
	for _, c := range conform.Cases() {
		for _, opset := range []int64{16, 17, 18, 21} {
			if opset < c.Since {
				continue
			}
			ms, err := c.Models(onnx.BuildOptions{Opset: opset, IRVersion: 8 + 2*(opset/21)})
			for i, m := range ms {
				write(fmt.Sprintf("%s.%d.%d", c.Name, opset, i), opset == 21, m, err)
			}
		}
	}
	out, err := exec.Command(py, args...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
