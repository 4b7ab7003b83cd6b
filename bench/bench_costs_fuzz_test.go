package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/experts/builder/part"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/pipeline/costing"
)

// FuzzConfig checks that no configuration file causes a panic, and that every key of a file without problems has a
// value.
func FuzzConfig(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "configs", "*.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"costs: &a {<<: *a}", "costs: {shard: 010}", "costs: {audit: yes}", "costs: {labels: [~]}", "costs: {experts: [{fee: x, kind: precomputed}]}",
		"a: !!binary x", "costs: {shard: ${A:-1}, batch: '${B}'}", "? [a]\n: b", "---\n---\n", "\xff\xfe", "costs: {features: [{kind: x, 1: 2024-01-01}]}",
	} {
		f.Add([]byte(text))
	}
	env := variables("A=1", "B=", "PIPE_DATA=/data")
	f.Fuzz(func(t *testing.T, text []byte) {
		cfg := costing.Config{Costs: part.DefaultConfig()}
		problems := config.Decode(text, storage.File("/"), env, &cfg)
		for _, p := range problems {
			if strings.Contains(p, "goroutine") || p == "" {
				t.Errorf("a problem reads %q", p)
			}
		}
		if len(problems) == 0 && (cfg.Costs.Shard <= 0 || cfg.Costs.Instances.Kind == "") {
			t.Errorf("read as %+v", cfg.Costs)
		}
	})
}

// variables are environment variables, NAME=VALUE each.
func variables(list ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range list {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}
