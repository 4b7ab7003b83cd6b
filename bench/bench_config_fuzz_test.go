package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs/outcome"
	"pipe/experts/builder/part"
	"pipe/featurize/tabular"
	"pipe/internal/config"
	"pipe/internal/storage"
)

// FuzzConfigs: a configuration file of any command gives problems, one line each, or settings that pass their own
// check.
func FuzzConfigs(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "configs", "*.yaml"))
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for kind := range byte(7) {
			f.Add(text, kind)
		}
	}
	f.Add([]byte("outcomes: {file: a.csv, id: id, expert: e, loss: l}\nsplit: {kind: hash, validation: 0.2, test: 0.1, group: user}\nfees: {experts: {a: 1}}\n"), byte(0))
	f.Add([]byte("fraud: {split: {kind: random, train_rows: 10, validation_rows: -1, draws: 0}}\n"), byte(2))
	f.Add([]byte("columns: {id: a, label: b, groups: [{name: g, columns: [{name: x, kind: number}]}]}\n"), byte(1))
	f.Fuzz(func(t *testing.T, text []byte, kind byte) {
		imported := outcome.DefaultConfig()
		dst := []any{
			&imported, &columnsFile{}, &fraudConfigFile{defaultFraud()}, &feverConfigFile{Fever: defaultFever()},
			&imagenetConfigFile{Costs: part.DefaultConfig(), Imagenet: defaultImagenet()}, &syntheticFile{Synthetic: defaultSynthetic()},
			new(defaultTables()),
		}[kind%7]
		problems := config.Decode(text, storage.File("/"), variables("A=1", "PIPE_DATA=/data"), dst)
		for _, p := range problems {
			if strings.TrimSpace(p) == "" || strings.Contains(p, "goroutine") {
				t.Errorf("a problem reads %q", p)
			}
		}
		if v, ok := dst.(config.Validator); ok && len(problems) == 0 && v.Validate() != nil {
			t.Errorf("%+v has problems: %v", dst, v.Validate())
		}
	})
}

// columnsFile is a file with column groups.
type columnsFile struct {
	Columns tabular.Schema `yaml:"columns"`
}

func (f *columnsFile) Validate() error { return f.Columns.Validate() }
