package costs

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/dataerror"
	"pipe/internal/judge"
	"pipe/internal/storage"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// readTables reads the same files with pandas and polars: the cells as text, and numbers as float32.
const readTables = `
import json, sys
import numpy as np, pandas as pd, polars as pl
wrong = 0
def say(*what):
    global wrong
    wrong += 1
    if wrong < 20: print(*what)
for case in json.load(open(sys.argv[1])):
    name = case["file"]
    if name.endswith(".csv"):
        them = pd.read_csv(name, dtype=str, keep_default_na=False, encoding="utf-8-sig").map(lambda s: s.replace("\r\n", "\n"))
        if [list(r) for r in them.itertuples(index=False)] != case["rows"] or list(them.columns) != case["names"]:
            say("pandas", name, case["rows"][:3], them.values.tolist()[:3])
        them = pl.read_csv(name, infer_schema=False).fill_null("")
        if [[c.replace("\r\n", "\n") for c in r] for r in them.iter_rows() if any(r)] != case["rows"]: # blank lines are rows of nulls there
            say("polars", name, case["rows"][:3], them.rows()[:3])
    else:
        lines = [json.loads(l) for l in open(name, encoding="utf-8-sig", newline="\n") if l.strip()]
        them = [[r.get(n) if r.get(n) is not None else "" for n in case["names"]] for r in lines]
        if them != case["rows"]:
            say("json", name, case["rows"][:3], them[:3])
numbers = json.load(open(sys.argv[2]))
with np.errstate(all="ignore"):
    for text, bits in numbers.items():
        if int(np.float32(float(text)).view(np.uint32)) != bits:
            say("numpy", text, bits)
    column = pl.Series(list(numbers)).cast(pl.Float64).cast(pl.Float32).to_numpy()
    for text, theirs, bits in zip(numbers, column, numbers.values()):
        if int(theirs.view(np.uint32)) != bits:
            say("polars number", text, bits, theirs)
print("wrong", wrong)
`

// A table is either read as pandas, polars and Python's json read it, or it is an error.
func TestTextTablesAreReadAsByOthers(t *testing.T) {
	py := judge.Python(t, "numpy", "pandas", "polars")
	type read struct {
		File  string     `json:"file"`
		Names []string   `json:"names"`
		Rows  [][]string `json:"rows"`
	}
	folder := t.TempDir()
	rng := rand.New(rand.NewPCG(7, 11))
	var cases []read
	refused := 0
	const files = 160
	for i := range files {
		name, text := "t.csv", ""
		if i%4 == 3 {
			name, text = "t.jsonl", drawJSONL(rng)
		} else {
			text = drawCSV(rng)
		}
		c := read{File: filepath.Join(folder, fmt.Sprint(i)+name)}
		if err := os.WriteFile(c.File, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := tablefile.OpenText(t.Context(), storage.File(c.File))
		if err != nil {
			refused++
			continue
		}
		c.Names = r.Columns()
		err = r.Choose(c.Names...)
		var cells []string
		for err == nil {
			if cells, _, err = r.Next(); err == nil {
				c.Rows = append(c.Rows, cells)
			}
		}
		r.Close()
		if dataErrorOf(err) || len(c.Rows) == 0 {
			refused++
			continue
		}
		cases = append(cases, c)
	}
	if refused > files/2 {
		t.Errorf("%d of %d files are refused", refused, files)
	}
	tables, numbers := filepath.Join(folder, "tables.json"), filepath.Join(folder, "numbers.json")
	writeJSON(t, tables, cases)
	writeJSON(t, numbers, drawNumbers(rng))
	if got := judge.Run(t, py, "", readTables, tables, numbers); !strings.HasSuffix(got, "wrong 0\n") {
		t.Errorf("of %d files: %s", len(cases), got)
	}
	t.Logf("%d files equal, %d refused", len(cases), refused)
}

func dataErrorOf(err error) bool {
	_, bad := dataerror.FromText(err).(*DataError)
	return bad || strings.HasPrefix(err.Error(), "read table")
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// drawNumbers returns texts that count as numbers, with the bits of their float32. Half of them lie at the midpoint of two
// float32, or next to one, where rounding shows.
func drawNumbers(rng *rand.Rand) map[string]uint32 {
	drawn := map[string]uint32{}
	for len(drawn) < 5_000 {
		v := float64(math.Float32frombits(rng.Uint32()))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if rng.IntN(2) == 0 {
			v = (v + float64(math.Nextafter32(float32(v), math.MaxFloat32))) / 2
		}
		text := fmt.Sprintf([]string{"%g", "%e", "%.30e", "%.9g", "%.17g", "%G"}[rng.IntN(6)], v)
		if mantissa, exponent, ok := strings.Cut(text, "e"); ok && rng.IntN(2) == 0 && strings.Contains(mantissa, ".") {
			text = mantissa + []string{"1", "00000001", "0000000000000000000001"}[rng.IntN(3)] + "e" + exponent
		}
		if f, err := textfile.ParseFloat32(text); err == nil {
			drawn[text] = math.Float32bits(f)
		}
	}
	return drawn
}

var drawnCells = []string{
	"", "a", "1", "-0.5", "1e-3", "1_000", "0x10", "nan", "NaN", "inf", "true", "null", "é", "日本", "🙂", "a b", " lead", "trail ",
	"\"q\"\"uoted\"", "\"a,b\"", "\"line\nbreak\"", "\"cr\r\nlf\"", "\"\"", "''", "#no comment", "\\n", "a;b", "\"\ufeff\"", "007", "1,5",
	"a\"b", "\"open", "\u2028", "\u00a0",
}

func drawCSV(rng *rand.Rand) string {
	end := []string{"\n", "\n", "\r\n", "\r"}[rng.IntN(4)*rng.IntN(2)]
	var b strings.Builder
	if rng.IntN(4) == 0 {
		b.WriteString("\ufeff")
	}
	columns := 2 + rng.IntN(3)
	b.WriteString(strings.Join([]string{"id", "x", "\"na,me\"", "é", "y"}[:columns], ",") + end)
	common := 1 + rng.IntN(len(drawnCells))
	for row := range 1 + rng.IntN(6) {
		if rng.IntN(8) == 0 {
			b.WriteString(end)
		}
		cells := []string{fmt.Sprint("r", row)}
		for len(cells) < columns {
			cells = append(cells, drawnCells[rng.IntN(common)])
		}
		if rng.IntN(40) == 0 {
			cells = append(cells, "")
		}
		b.WriteString(strings.Join(cells, ","))
		b.WriteString(end)
	}
	text := b.String()
	if rng.IntN(3) == 0 {
		text = strings.TrimSuffix(text, end)
	}
	return text
}

func drawJSONL(rng *rand.Rand) string {
	values := []string{"a", "", "é", "🙂", "line\nbreak", "quote\"", "tab\t", "\u2028", "1", "nan", "back\\slash", "null"}
	var b strings.Builder
	for row := range 1 + rng.IntN(6) {
		pairs := []string{fmt.Sprintf("%q: \"r%d\"", "id", row)}
		for _, name := range []string{"x", "é", "y z"} {
			text, err := json.Marshal(values[rng.IntN(len(values))])
			if err != nil {
				panic(err)
			}
			if rng.IntN(10) == 0 {
				text = []byte("null")
			}
			pairs = append(pairs, fmt.Sprintf("%q: %s", name, text))
		}
		if rng.IntN(30) == 0 {
			pairs = append(pairs, "\"x\": \"again\"")
		}
		b.WriteString("{" + strings.Join(pairs, ", ") + "}" + []string{"\n", "\r\n", "\n\n"}[rng.IntN(3)])
	}
	return b.String()
}
