package tools_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/costs"
	"pipe/location"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
)

// outside builds a program of tools/outside in a separate module and returns its path.
func outside(t *testing.T, name string) string {
	t.Helper()
	return outsideModule(t, name, map[string]string{"main.go": readText(t, filepath.Join("outside", name, "main.go"))})
}

// outsideModule builds the program of some files in a separate module, which refers to this one with replace, and returns
// its path. Nothing is downloaded.
func outsideModule(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a program, without the race detector")
	}
	root, dir := filepath.Dir(working(t)), t.TempDir()
	for _, file := range []string{"go.mod", "go.sum"} { // what is required here is all that its program needs
		save(t, filepath.Join(dir, file), readText(t, filepath.Join(root, file)))
	}
	for file, text := range files {
		save(t, filepath.Join(dir, file), text)
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOWORK", "off")
	module := strings.TrimSpace(command(t, root, "go", "list", "-m"))
	command(t, dir, "go", "mod", "edit", "-module=example.org/"+name, "-require="+module+"@v0.0.0", "-replace="+module+"="+root)
	program := filepath.Join(dir, name)
	command(t, dir, "go", "build", "-o", program, ".")
	return program
}

// TestOutsideLinksNoServer: a program that imports the library to decide does not link what only pipe serve needs.
func TestOutsideLinksNoServer(t *testing.T) {
	for _, name := range strings.Fields(command(t, filepath.Dir(working(t)), "go", "list", "-deps", "./tools/outside/router")) {
		for _, heavy := range []string{"google.golang.org/grpc", "github.com/prometheus", "github.com/fsnotify", "gocloud.dev", "github.com/aws", "pipe/serve"} {
			if strings.HasPrefix(name, heavy) {
				t.Errorf("tools/outside/router links %s", name)
			}
		}
	}
}

// TestOutsideRouter: a program of another module answers over HTTP which expert to ask, and with which advice.
func TestOutsideRouter(t *testing.T) {
	orttest.Open(t, 1)
	dir, model := t.TempDir(), hftest.Folder(t)
	path := decidetest.EncoderPolicy(t, dir, hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}, "")
	cmd := exec.CommandContext(t.Context(), outside(t, "router"), path, model)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // it serves forever
		_ = cmd.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: time.Minute}
	answer, err := client.Post(strings.TrimSpace(address)+"/decide", "application/json", strings.NewReader(`{"text": "how high is the Eiffel Tower?"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || strings.TrimSpace(string(body)) != `{"advice":"none","expert":"small"}` {
		t.Errorf("%s: %s (%v)", answer.Status, body, err)
	}
}

// TestOutsideExpert: a configuration names a kind of expert that a program of another module provides.
func TestOutsideExpert(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rows.csv": "id,label,text,x\na,yes,he said yes,1\nb,no,she said no,2\nc,yes,they said maybe,3\nd,no,nothing,4\n",
		"costs.yaml": `costs:
  instances: {kind: table, file: rows.csv, text: text}
  split: {kind: stratified, validation: 0.5}
  advice: [{name: none, kind: none}]
  experts:
    - {name: reader, fee: 0.1, kind: last_word, else: "yes"}
  features: [{kind: columns, columns: [x]}]
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	program := outside(t, "expert")
	out := command(t, dir, program, "costs.yaml", "costs.parquet")
	if !strings.Contains(out, "reader/none") || !strings.Contains(out, "0.2500") {
		t.Errorf("the expert is wrong on one row of four, and the program says\n%s", out)
	}
	if _, err := costs.Read(t.Context(), location.File(filepath.Join(dir, "costs.parquet")), costs.ReadOptions{}); err != nil {
		t.Error(err)
	}
}

// TestOutsideSurrogate: a program of another module trains with its own training loss.
func TestOutsideSurrogate(t *testing.T) {
	t.Setenv("ONNXRUNTIME_LIB", filepath.Dir(orttest.Open(t, 1).Library()))
	dir := t.TempDir()
	if err := costs.Write(t.Context(), location.File(filepath.Join(dir, "costs.parquet")), twoSided(300)); err != nil {
		t.Fatal(err)
	}
	out := command(t, dir, outside(t, "surrogate"), "costs.parquet", "policies")
	if !strings.Contains(out, "mine-lambda1-seed0.onnx") {
		t.Errorf("it says\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "policies", "mine-lambda1-seed0.onnx")); err != nil {
		t.Error(err)
	}
}

// twoSided has an expert for each sign of the only feature.
func twoSided(rows int) *costs.Tensor {
	t := &costs.Tensor{Dim: 1, Actions: &costs.Actions{
		Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "hint", Fee: 0.1}},
	}}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range rows {
		x, split, loss := float32(r.NormFloat64()), costs.Train, []float32{0, 0, 1, 1}
		if x > 0 {
			loss = []float32{1, 1, 0, 0}
		}
		if n%4 == 0 {
			split = costs.Val
		}
		t.IDs, t.Splits = append(t.IDs, fmt.Sprint(n)), append(t.Splits, split)
		t.Features, t.Loss = append(t.Features, x), append(t.Loss, loss...)
	}
	return t
}
