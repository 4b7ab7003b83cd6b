package tabular

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"pipe/internal/storage"
)

// moduleRoot is the module's root as the tests of this package see it.
const moduleRoot = "../.."

// fraudSchema is the configuration that users get.
func fraudSchema(t testing.TB) *Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(moduleRoot, "configs", "fraud-columns.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Columns Schema `yaml:"columns"`
	}
	if err := yaml.Load(text, &config, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	return &config.Columns
}

// smallSchema has every kind of column, in two groups.
func smallSchema() *Schema {
	return &Schema{
		ID: "key", Label: "bad", Labels: []string{"0", "1"}, Time: "when", MaxLevels: 3, MinCount: 2,
		Log: []string{"amount"},
		Groups: []Group{
			{Name: "base", Numeric: []string{"when", "amount", "n_1-n_2"}, Categorical: []string{"kind"}},
			{Name: "more", Numeric: []string{"far"}, Categorical: []string{"place", "own"}},
		},
	}
}

const smallPrimary = `key,bad,when,amount,n_1,n_2,kind,far
a,0,0,10,1,7,x,
b,1,3600,20.5,2,7,y,1.5
c,0,90000,,3,7,x,
d,1,604800,40,,7,z,2.5
`

const smallJoined = `key,place,own
d,490.0,T
b,490,F
q,12,T
`

// write puts text into a new file.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// load reads files of the given content.
func load(t testing.TB, s *Schema, primary, joined string) (*Frame, LoadReport, error) {
	t.Helper()
	files := Files{Primary: storage.File(write(t, primary))}
	if joined != "" {
		files.Joined = storage.File(write(t, joined))
	}
	return Load(context.Background(), s, files, nil)
}

func mustLoad(t testing.TB, s *Schema, primary, joined string) *Frame {
	t.Helper()
	f, _, err := load(t, s, primary, joined)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustFit(t testing.TB, f *Frame, s *Schema, train []int) *Encoder {
	t.Helper()
	e, err := Fit(f, s, train)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// upTo returns 0..n-1.
func upTo(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// randomTable is CSV text for smallSchema, with gaps, long tails, rare levels
// and quotes if asked for.
func randomTable(r *rand.Rand, rows int, quotes bool) (primary, joined string) {
	var p, j strings.Builder
	p.WriteString("key,bad,when,amount,n_1,n_2,kind,far\n")
	j.WriteString("key,place,own\n")
	gap := func(text string) string {
		if r.IntN(4) == 0 {
			return ""
		}
		return text
	}
	for i := range rows {
		level := fmt.Sprintf("k%d", int(r.ExpFloat64()*3))
		if quotes && r.IntN(3) == 0 {
			level = `"say ""` + level + "\"\",\n\""
		}
		label := r.IntN(2)
		if i == 1 || i == 2 { // both labels, in the training rows of every test
			label = i - 1
		}
		amount := gap(fmt.Sprintf("%.2f", r.ExpFloat64()*100))
		fmt.Fprintf(&p, "row%d,%d,%d,%s,%s,5,%s,%s\n", i, label, r.IntN(40_000_000), amount,
			gap(fmt.Sprint(r.IntN(5))), gap(level), gap(fmt.Sprint(r.NormFloat64())))
		if i == 0 || r.IntN(2) == 0 { // at least one row
			fmt.Fprintf(&j, "row%d,%s,%s\n", i, gap(fmt.Sprintf("%d.0", r.IntN(9))), gap("T"))
		}
	}
	return p.String(), j.String()
}

// dataError returns the *DataError of an error, which must be one.
func dataError(t testing.TB, err error) *DataError {
	t.Helper()
	var data *DataError
	if !errors.As(err, &data) {
		t.Fatalf("error is %v, expected a *DataError", err)
	}
	return data
}

// withFiles calls use with files of the given content, which are gone when it
// returns.
func withFiles(primary, joined string, use func(Files) (*Frame, error)) (*Frame, error) {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	files := Files{Primary: storage.File(filepath.Join(dir, "p.csv")), Joined: storage.File(filepath.Join(dir, "j.csv"))}
	for path, text := range map[string]string{files.Primary.String(): primary, files.Joined.String(): joined} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return use(files)
}
