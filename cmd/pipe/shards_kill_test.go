package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipe/pipeline/decide/decidetest"
)

// sharedWork is a command whose work is shared: what is in its folder, its arguments but the output, and its outputs.
type sharedWork struct {
	files map[string]string
	args  []string
	graph bool // it needs ONNX Runtime
	out   string
	made  []string // below out; "": out itself
}

// sharedWorks are the four commands, with enough rows that a worker can be killed at them.
func sharedWorks(t *testing.T, rows int) map[string]sharedWork {
	t.Helper()
	var features, primary, pages strings.Builder
	outcomes := map[string]string{"features.csv": "id,f\n", "import.yaml": "outcomes: {file: logs, columns: {id: id, expert: who, loss: loss}}\nfeatures: [{file: features.csv, id: id, columns: [f]}]\n"}
	features.WriteString("id,a,b,c\n")
	primary.WriteString("key,bad,amount,kind\n")
	for n := range rows {
		fmt.Fprintf(&features, "r%d,%d,%d,0.5\n", n, n%13, n%7)
		fmt.Fprintf(&primary, "k%d,%d,%d.5,\"kind\n%d\"\n", n, n*7%2, n*n%1000, n%5)
		fmt.Fprintf(&pages, `{"id": "Page_%d", "text": "words %d and %s", "lines": ""}`+"\n", n, n*n%977, strings.Repeat("more ", n%9))
		if n < rows/8 {
			outcomes["features.csv"] += fmt.Sprintf("i%d,%d\n", n, n%5)
			file := fmt.Sprintf("logs/part-%02d.csv", n%8)
			if outcomes[file] == "" {
				outcomes[file] = "id,who,loss\n"
			}
			outcomes[file] += fmt.Sprintf("i%d,x,0.%d\ni%d,y,0.%d\n", n, n%10, n, n%7)
		}
	}
	schema := "columns:\n  id: key\n  label: bad\n  labels: [\"0\", \"1\"]\n  max_levels: 3\n  min_count: 2\n  groups: [{name: base, numeric: [amount], categorical: [kind]}]\n"
	policy := string(readAll(t, decidetest.WritePolicy(t, decidetest.Policy(3, 64))))
	return map[string]sharedWork{
		"decide":    {map[string]string{"rows.csv": features.String(), "policy.onnx": policy}, []string{"decide", "--policy", "policy.onnx", "--in", "rows.csv", "--scores"}, true, "out.csv", []string{""}},
		"featurize": {map[string]string{"columns.yaml": schema, "rows.csv": primary.String()}, []string{"featurize", "--columns", "columns.yaml", "--in", "rows.csv"}, false, "table", []string{"table.parquet", "encoder.json", "featurize.json"}},
		"index":     {map[string]string{"pages.jsonl": pages.String()}, []string{"index", "--pages", "pages.jsonl"}, false, "pages.bm25", []string{""}},
		"import":    {outcomes, []string{"import", "--config", "import.yaml"}, false, "costs.parquet", []string{""}},
	}
}

func (w sharedWork) put(t *testing.T, folder string) {
	t.Helper()
	for name, text := range w.files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// killAtWork starts a worker and kills it as soon as it has claimed a shard.
func (w sharedWork) killAtWork(t *testing.T, folder string, args []string) {
	t.Helper()
	p := start(t, folder, nil, args...)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		claims, _ := filepath.Glob(filepath.Join(folder, "many", w.out+".shards", "claims", "*"))
		fits, _ := filepath.Glob(filepath.Join(folder, "many", w.out+".shards", "fit", "claims", "*"))
		if len(claims)+len(fits) > 0 {
			break
		}
	}
	time.Sleep(5 * time.Millisecond)
	p.send(t, syscall.SIGKILL)
	<-p.ended
}

// TestKilledWorkersLoseNothing: workers that are killed at their shards are replaced by others, which take the shards over
// and leave the output of one run.
func TestKilledWorkersLoseNothing(t *testing.T) {
	t.Parallel()
	rows := 60_000
	if testing.Short() {
		rows = 20_000
	}
	for name, w := range sharedWorks(t, rows) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := []string{"-q"}
			if w.graph {
				flags = append(flags, "--runtime", runtimeLibrary(t))
			}
			w.args = append(flags, w.args...)
			folder := t.TempDir()
			w.put(t, folder)
			for _, sub := range []string{"one", "many"} {
				if err := os.Mkdir(filepath.Join(folder, sub), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			run := func(out string, more ...string) *program {
				return start(t, folder, nil, append(append(slices.Clone(w.args), "--out", filepath.Join(out, w.out)), more...)...)
			}
			wait := func(programs ...*program) {
				for _, p := range programs {
					if err := <-p.ended; err != nil {
						t.Fatal(err, p.stderr.String())
					}
				}
			}
			wait(run("one"))
			next := []string{"--shards", "4", "--shard", "next", "--lease", "3s"}
			many := append(append(slices.Clone(w.args), "--out", filepath.Join("many", w.out)), next...)
			for range 3 {
				w.killAtWork(t, folder, many)
			}
			wait(run("many", next...), run("many", next...))
			wait(run("many", "--gather"))
			for _, file := range w.made {
				one, many := readAll(t, filepath.Join(folder, "one", w.out, file)), readAll(t, filepath.Join(folder, "many", w.out, file))
				if !bytes.Equal(one, many) {
					t.Errorf("%s: other bytes", file)
				}
			}
		})
	}
}
