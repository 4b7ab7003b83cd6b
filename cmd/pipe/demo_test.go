package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pipe/pipeline/demo"
	"pipe/pipeline/exitcode"
)

// TestDemo: the verdict follows from the log. Two seeds invent two logs, and their figures differ; the commands that the demo prints
// give the same policy.
func TestDemo(t *testing.T) {
	needRuntime(t)
	t.Chdir(t.TempDir())
	try := func(args ...string) (out bytes.Buffer) {
		var stderr bytes.Buffer
		if code := run(t.Context(), args, nil, &out, &stderr); code != exitcode.OK {
			t.Fatalf("%q: exit code %d, %s", args, code, &stderr)
		}
		return out
	}
	found := map[string]demo.Result{}
	for _, seed := range []string{"1", "2"} {
		out := try("demo", "--rows", "800", "--seed", seed, "--out", "demo"+seed, "--json")
		var r demo.Result
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Files {
			if _, err := os.Stat(f.Name); err != nil {
				t.Error(err)
			}
		}
		if len(r.Costs) != 7 || r.Costs[5].Cost < r.Costs[6].Cost || r.Costs[5].Cost > r.Costs[3].Cost || len(r.Verdict) != 1 {
			t.Errorf("%+v", r)
		}
		found[seed] = r
	}
	if found["1"].Costs[0] == found["2"].Costs[0] || found["1"].Verdict[0] == found["2"].Verdict[0] {
		t.Errorf("other logs have the same figures: %v, %v", found["1"], found["2"])
	}
	const policy = "demo1/policies/auto-lambda1.onnx"
	want, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range found["1"].Commands {
		try(strings.Fields(command)[1:]...)
	}
	if got, err := os.ReadFile(policy); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the commands make another policy: %v", err)
	}
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"demo", "--out", "demo1"}, nil, &bytes.Buffer{}, &stderr); code != exitcode.Usage || !strings.Contains(stderr.String(), "is not empty") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}
