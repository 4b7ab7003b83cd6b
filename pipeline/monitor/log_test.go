package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"pipe/costs"
	"pipe/internal/fuzztest"
	"pipe/internal/storage"
	"pipe/models/policy"
)

// logRow is a row of a log in Parquet.
type logRow struct {
	ID       string    `parquet:"id"`
	Time     int64     `parquet:"time,timestamp(microsecond:utc)"`
	Features []float32 `parquet:"features,list"`
	Expert   *string   `parquet:"expert,optional"`
	Advice   *string   `parquet:"advice,optional"`
	Loss     *float64  `parquet:"loss,optional"`
}

func (r logRow) csv() string {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return `"` + strings.ReplaceAll(*s, `"`, `""`) + `"`
	}
	loss := ""
	if r.Loss != nil {
		loss = fmt.Sprint(*r.Loss)
	}
	return fmt.Sprintf("%s,%v,%v,%v,%s,%s,%s,%s\n", r.ID, r.Features[0], r.Features[1], r.Features[2], costs.TimeText(r.Time), text(r.Expert), text(r.Advice), loss)
}

func (r logRow) json(t *testing.T) string {
	b, err := json.Marshal(map[string]any{"features": r.Features, "time": r.Time, "expert": r.Expert, "advice": r.Advice, "loss": r.Loss})
	if err != nil {
		t.Fatal(err)
	}
	return string(b) + "\n"
}

// logOf has what was executed on the rows of a tensor: mostly what the policy decides, sometimes another pair or nothing,
// with an outcome that is sometimes unknown.
func logOf(t *testing.T, m *Monitor, rows *costs.Tensor) []logRow {
	d, err := m.Decide(t.Context(), rows.Features, rows.Len())
	if err != nil {
		t.Fatal(err)
	}
	a := rows.Actions
	var out []logRow
	for n := range rows.Len() {
		r := logRow{ID: rows.IDs[n], Time: 1_800_000_000_000_000 + int64(n)*1000, Features: rows.Row(n)}
		pair := int(d.Action[n])
		if n%10 == 0 {
			pair = n / 10 % 3
		}
		if n%17 != 0 {
			j, k := a.Pair(pair)
			r.Expert, r.Advice = &a.Experts[j].Name, &a.Advice[k].Name
			if n%7 != 0 {
				loss := float64(rows.Losses(n)[pair])
				r.Loss = &loss
			}
		}
		out = append(out, r)
	}
	return out
}

// writeLogs writes a log in every format.
func writeLogs(t *testing.T, rows []logRow) map[string]string {
	folder := t.TempDir()
	csv, jsonl := strings.Builder{}, strings.Builder{}
	csv.WriteString("id,a,b,c,time,expert,advice,loss\n")
	for _, r := range rows {
		csv.WriteString(r.csv())
		jsonl.WriteString(r.json(t))
	}
	files := map[string]string{}
	for name, text := range map[string]string{"log.csv": csv.String(), "log.jsonl": jsonl.String()} {
		files[name] = filepath.Join(folder, name)
		if err := os.WriteFile(files[name], []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	files["log.parquet"] = filepath.Join(folder, "log.parquet")
	if err := parquet.WriteFile(files["log.parquet"], rows); err != nil {
		t.Fatal(err)
	}
	return files
}

// statusOf adds a file to a new monitor.
func statusOf(t *testing.T, l *lab, path string) *Status {
	t.Helper()
	m := l.open(t, DefaultOptions())
	if err := m.addFile(t.Context(), storage.File(path), nil, quiet{}); err != nil {
		t.Fatal(err)
	}
	s := m.Status()
	s.New.File = ""
	return s
}

type quiet struct{}

func (quiet) Start(int64, string) {}
func (quiet) Add(int64)           {}
func (quiet) Done()               {}
func (quiet) Note(string, ...any) {}

// The same rows are the same in every format and, where there are times, in every order.
func TestLogsAgree(t *testing.T) {
	l := newLab(t)
	m := l.open(t, DefaultOptions())
	rows := logOf(t, m, world(rand.New(rand.NewPCG(8, 8)), l.actions, 700, 0.2, 0.1))
	want := statusOf(t, l, writeLogs(t, rows)["log.parquet"])
	known, unknown, agreed, compared := int64(0), int64(0), 0.0, 0.0
	for n, r := range rows {
		switch {
		case r.Loss != nil:
			known++
		case r.Expert != nil:
			unknown++
		}
		if r.Expert != nil {
			compared++
			if d, _ := m.Decide(t.Context(), r.Features, 1); l.actions.Name(int(d.Action[0])) == *r.Expert+"/"+*r.Advice {
				agreed++
			}
		}
		_ = n
	}
	o := want.Outcomes
	if want.New.Rows != 700 || o.Known != known || o.Unknown != unknown || *o.Agreed != agreed/compared || want.New.Order != "time" || o.ADWIN.Expected != "the policy" {
		t.Errorf("%+v %+v", want.New, o)
	}
	shuffled := append([]logRow{}, rows...)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(rows), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for order, list := range map[string][]logRow{"sorted": rows, "shuffled": shuffled} {
		for name, path := range writeLogs(t, list) {
			got := statusOf(t, l, path)
			got.Inputs.MMD.MMD, got.Inputs.MMD.P = want.Inputs.MMD.MMD, want.Inputs.MMD.P // sums in another order
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s: %s", name, order, diff)
			}
		}
	}
}

// A tensor is the log in which every decision was executed and its outcome recorded.
func TestTensorIsALog(t *testing.T) {
	l := newLab(t)
	rows := world(rand.New(rand.NewPCG(9, 8)), l.actions, 400, 0, 0)
	got := statusOf(t, l, l.write(t, rows))
	m := l.open(t, DefaultOptions())
	addAll(t, m, rows)
	want := m.Status()
	want.New.Order, want.Notes = "file", append([]string{"The file has no times: outcomes count in the order of the file."}, want.Notes...)
	if diff := cmp.Diff(want, got); diff != "" || got.Outcomes.Known != 400 {
		t.Error(diff)
	}
}

func TestLogErrors(t *testing.T) {
	l := newLab(t)
	m := l.open(t, DefaultOptions())
	folder := t.TempDir()
	for text, want := range map[string]string{
		"a,b,c,expert,advice,loss\n1,2,3,c,none,\n1,2,3,d,none,0\n":   `row 3: column expert: "d" is not an expert`,
		"a,b,c,expert,advice,loss\n1,2,3,c,rain,0\n":                  `row 2: column advice: "rain" is not an advice`,
		"a,b,c,expert,advice,loss\n1,2,3,\"\"\"quoted\"\"\",long,0\n": "does not exist",
		"a,b,c,expert,loss\n1,2,3,c,0\n":                              "column advice: is missing",
		"a,b,c,advice,loss\n1,2,3,none,0\n":                           "column expert: is missing",
		"a,b,c,expert,advice,loss\n1,2,3,,,0\n":                       "column loss: is known, but",
		"a,b,c,expert,advice,loss\n1,2,3,c,none,x\n":                  "column loss",
		"a,b,c,expert,advice,loss\n1,2,3,c,none,1e60\n":               "column loss",
		"a,b,c,expert,advice,loss,fee\n1,2,3,c,none,1,-1\n":           "column fee: is -1",
		"a,b,c,expert,advice,loss,time\n1,2,3,c,none,1,2026-01-01\n":  "column time: is not a time with a zone",
		"a,b,c,expert,advice,loss,time\n1,2,3,c,none,1,\n":            "column time: is not a time",
		"a,b,c\n1,2,\n":             "row 2: column c: is missing",
		"a,b,c\n1,2,NaN\n":          "column c",
		"a,b\n1,2\n":                "has 2 feature columns, the policy takes 3",
		"a,b,a\n1,2,3\n":            "column a: is a duplicate",
		"features\n\"[1,2]\"\n":     "column features: has 2 features",
		"a,b,c\n":                   "has no rows",
		"a,b,c,x\n\"[1]\",2,3,4\n":  "has 4 feature columns",
		"a,b,c,loss\n1,2,3,true\n":  "",
		"a,b,c,group\n1,2,3,true\n": "",
	} {
		path := filepath.Join(folder, "log.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		err := m.addFile(t.Context(), storage.File(path), nil, quiet{})
		var data *costs.DataError
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (!errors.As(err, &data) || !strings.Contains(err.Error(), want) || data.File != path):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzLog reads arbitrary text logs: rows that a monitor accepts, or an error about data that names the file.
func FuzzLog(f *testing.F) {
	a := &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "x"}}, Unavailable: []costs.Pair{{Expert: 1, Advice: 1}}}
	info := &policy.Info{Actions: a, Dim: 2}
	file := fuzztest.TableFiles(f)
	for _, text := range []string{
		"id,u,v,expert,advice,loss,time\na,1,2,a,none,0,2026-01-31T12:00:00Z\n", "u,v,expert,advice,loss,fee\n1,2,b,x,true,\n1,2,,,,\n", "features\n\"[1,2]\"\n", "",
		`{"features": [1, 2], "expert": "a", "advice": "x", "loss": 1, "time": 1769860800000000}`, `{"u": 1, "v": 2e38}`,
	} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, lines bool) {
		to := file(lines)
		src, err := openLog(t.Context(), storage.File(to.Write(t, text)), info, nil, true)
		if err != nil {
			to.Blames(t, err)
			return
		}
		defer src.close()
		for {
			r, err := src.next(t.Context())
			if err != nil {
				if err.Error() != "EOF" {
					to.Blames(t, err)
				}
				return
			}
			if r.n == 0 || len(r.features) != 2*r.n || r.executed != nil && len(r.executed) != r.n || r.loss != nil && len(r.loss) != r.n || src.timed() != (r.times != nil) {
				t.Fatalf("%+v", r)
			}
			for i := range r.n {
				if o, ok := r.outcome(i, 0, true); ok && (o.Executed < 0 || !a.Available(o.Executed) || math.IsInf(o.Loss, 0)) {
					t.Fatalf("%+v", o)
				}
			}
		}
	})
}

// FuzzState restores arbitrary bytes: a state that saves as itself, or an error about data, and no panic afterwards.
func FuzzState(f *testing.F) {
	l := newLab(f)
	m := l.open(f, DefaultOptions())
	var saved strings.Builder
	addAll(f, m, world(rand.New(rand.NewPCG(2, 3)), l.actions, 60, 0, 0))
	if err := m.Save(&saved); err != nil {
		f.Fatal(err)
	}
	of := m.identity()
	f.Add([]byte(saved.String()))
	f.Add([]byte(`{"format":1,"of":"OF","seen":{"first":-9223372036854775808,"last":-9223372036854775808,"risen_at":-9223372036854775808},"alarm":{"n":0,"peak":1},"adwin":{"levels":[{}]}}`))
	rows := world(rand.New(rand.NewPCG(4, 4)), l.actions, 70, 0, 0)
	f.Fuzz(func(t *testing.T, b []byte) {
		text := strings.Replace(string(b), "OF", of, 1)
		var data *costs.DataError
		if err := m.Restore(strings.NewReader(text)); err != nil {
			if !errors.As(err, &data) {
				t.Fatal(err)
			}
			return
		}
		addAll(t, m, rows)
		m.Status()
		var again strings.Builder
		if err := m.Save(&again); err != nil {
			t.Fatal(err)
		}
		if err := m.Restore(strings.NewReader(again.String())); err != nil {
			t.Fatal(err)
		}
	})
}
