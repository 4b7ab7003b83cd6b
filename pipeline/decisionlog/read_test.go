package decisionlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/dataerror"
)

// openLog is a folder with an open segment of n records, as a killed run leaves it, and the path of that segment.
func openLog(t testing.TB, n int) (folder, path string, want []*Record) {
	t.Helper()
	folder, p := t.TempDir(), testPolicy(2, 2, 4)
	rng := rand.New(rand.NewPCG(1, 1))
	var b []byte
	b = appendHead(b, decisions, 1)
	b, err := appendPolicy(b, &p)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		r := testRecord(rng, &p)
		b, want = appendRecord(b, r), append(want, r)
	}
	path = filepath.Join(folder, "decisions-00000001.jsonl")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return folder, path, want
}

// Wherever the open segment is cut off, the whole records before the cut are read, and nothing else.
func TestTorn(t *testing.T) {
	folder, path, want := openLog(t, 4)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start := bytes.Index(text, []byte(`{"id"`))
	for size := len(text); size >= start; size-- {
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		whole := bytes.Count(text[start:size], []byte("\n"))
		list, l := readAll(t, folder)
		torn := 1
		if text[size-1] == '\n' {
			torn = 0
		}
		if len(list) != whole || l.Counts().Torn != torn || l.Counts().Damaged != 0 {
			t.Fatalf("%d of %d bytes: %d records, %+v", size, len(text), len(list), l.Counts())
		}
		for n, d := range list {
			if plain(d.Record) != plain(want[n]) {
				t.Fatalf("%d bytes: record %d differs", size, n)
			}
		}
	}
}

// A changed byte in the open segment costs the line that it is in, and is counted; it never changes a record. Then the
// segment becomes Parquet, with the lines that are whole.
func TestDamaged(t *testing.T) {
	folder, path, want := openLog(t, 4)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	start, end := bytes.Index(text, []byte(`{"id"`)), bytes.LastIndex(text, []byte(`{"id"`))
	for at := start; at < len(text); at += 7 {
		bad := bytes.Clone(text)
		bad[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		list, l := readAll(t, folder)
		c := l.Counts()
		if len(list) > 3 || len(list) < 2 || c.Torn+c.Damaged == 0 || at < end-1 && c.Damaged == 0 {
			t.Fatalf("byte %d: %d records, %+v", at, len(list), c)
		}
		for _, d := range list {
			ok := false
			for _, r := range want {
				ok = ok || plain(d.Record) == plain(r)
			}
			if !ok {
				t.Fatalf("byte %d: %+v", at, d.Record)
			}
		}
	}
	bad := bytes.Clone(text)
	bad[start+30] ^= 1
	if err := os.WriteFile(path, bad[:len(bad)-5], 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := Open(folder, quick())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if r := w.Stats().Recovered; r != (Damage{Torn: 1, Damaged: 1}) {
		t.Errorf("recovered %+v", r)
	}
	if list, _ := readAll(t, folder); len(list) != 2 || plain(list[0].Record) != plain(want[1]) {
		t.Errorf("%d records", len(list))
	}
}

// A power cut may lose the line of a policy. Its records cannot be read and are counted; the segment becomes Parquet with
// what is left, and so do the segments after it.
func TestLostPolicy(t *testing.T) {
	folder, path, _ := openLog(t, 4)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "decisions-00000002.jsonl"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(text)
	bad[bytes.Index(bad, []byte(`{"policy"`))+20] ^= 1
	if err := os.WriteFile(path, bad, 0o644); err != nil {
		t.Fatal(err)
	}
	if list, l := readAll(t, folder); len(list) != 4 || l.Counts().Damaged != 5 {
		t.Errorf("%d records, %+v", len(list), l.Counts())
	}
	w, err := Open(folder, quick())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if list, l := readAll(t, folder); len(list) != 4 || l.Counts().Segments != 2 {
		t.Errorf("%d records, %+v", len(list), l.Counts())
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*"+linesEnding)); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// A killed run may leave both forms of a segment, or an index alone: nothing is doubled.
func TestBothForms(t *testing.T) {
	folder, path, want := openLog(t, 10)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		w, err := Open(folder, quick())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string][]byte{"decisions-00000001.jsonl": text, "decisions-00000007.ids": nil, ".decisions-00000001.parquet77": nil} {
			if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if list, _ := readAll(t, folder); len(list) != len(want) {
			t.Errorf("%d records of %d", len(list), len(want))
		}
	}
}

// A record that contradicts itself is refused, and so is one of an unknown policy.
func TestRefused(t *testing.T) {
	p := testPolicy(2, 2, 8)
	w := openTest(t, t.TempDir(), quick(), p)
	defer w.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	nan := math.NaN()
	masked := func(r *Record) int {
		for i, ok := range r.Available {
			if !ok {
				return i
			}
		}
		return -1
	}
	for field, spoil := range map[string]func(r *Record){
		"propensity sums to":      func(r *Record) { r.Propensity[r.Action] += 1e-8 },
		"propensity of the chose": func(r *Record) { r.Propensity[0] += r.Propensity[r.Action]; r.Propensity[r.Action] = 0 },
		"propensity of pair":      func(r *Record) { r.Propensity[masked(r)], r.Propensity[0] = 1e-3, r.Propensity[0]-1e-3 },
		"propensity of pair 0":    func(r *Record) { r.Propensity[0] = nan },
		"propensity has":          func(r *Record) { r.Propensity = r.Propensity[1:] },
		"action":                  func(r *Record) { r.Action = 4 },
		"greedy":                  func(r *Record) { r.Greedy = masked(r) },
		"executed":                func(r *Record) { r.Executed = -2 },
		"features":                func(r *Record) { r.Features[3] = float32(math.Inf(1)) },
		"features are 7":          func(r *Record) { r.Features = r.Features[1:] },
		"expert_fees":             func(r *Record) { r.ExpertFees = nil },
		"fees":                    func(r *Record) { r.AdviceFees[1] = nan },
		"pair_fees has 3":         func(r *Record) { r.PairFees = []float64{1, 0, 0} },
		"pair_fees has 0":         func(r *Record) { r.PairFees = []float64{} },
		"share is":                func(r *Record) { r.Share, r.OwnPropensity = 1.5, nil },
		"own_propensity has 3":    func(r *Record) { r.Share, r.OwnPropensity = 0.5, []float64{1, 0, 0} },
		"with a share of 0":       func(r *Record) { r.Share, r.OwnPropensity = 0, r.Propensity },
		"own_propensity of the c": func(r *Record) { r.Share, r.OwnPropensity = 0.5, []float64{1, 0, 0, 0} },
		"fees or lambda":          func(r *Record) { r.PairFees = []float64{0, 0, 0, nan} },
		"id":                      func(r *Record) { r.ID = strings.Repeat("x", 129) },
		"id needs":                func(r *Record) { r.ID = "" },
		"digest":                  func(r *Record) { r.Digest = "sha256:other" },
		"client":                  func(r *Record) { r.Client = strings.Repeat("x", 2000) },
		"fee is":                  func(r *Record) { r.Fee, r.FeeKnown = -1, true },
		"expected_cost":           func(r *Record) { r.ExpectedCost = []float32{1, 2, 3} },
	} {
		r := testRecord(rng, &p)
		for masked(r) < 0 || r.Action == 0 || r.Propensity[0] < 0.01 {
			r = testRecord(rng, &p)
		}
		spoil(r)
		var wrong *RecordError
		if err := w.Add(r); !errors.As(err, &wrong) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	r := testRecord(rng, &p)
	if err := w.Add(r); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(r); !errors.As(err, new(*DuplicateError)) {
		t.Errorf("a second time: %v", err)
	}
}

// FuzzRead reads a folder with arbitrary files: an error or records that pass their check, never a crash.
func FuzzRead(f *testing.F) {
	folder, path, _ := openLog(f, 3)
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	w, err := Open(folder, quick())
	if err != nil {
		f.Fatal(err)
	}
	list, _ := readAll(f, folder)
	for n, d := range list {
		if _, err := w.Outcome(Outcome{ID: d.ID, Loss: number(float64(n)), Comment: "c"}); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(byte(0), text)
	for kind, name := range []string{"decisions-00000001.parquet", "outcomes-00000001.parquet", "decisions-00000001.ids"} {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(kind+1), b)
	}
	names := []string{"decisions-00000001.jsonl", "decisions-00000001.parquet", "outcomes-00000001.parquet", "decisions-00000001.ids", "outcomes-00000002.jsonl"}
	f.Fuzz(func(t *testing.T, kind byte, b []byte) {
		at := t.TempDir()
		files := map[string][]byte{names[0]: text, names[int(kind)%len(names)]: b}
		if kind%5 == 0 || kind%5 == 4 { // past the checksums
			var sealed []byte
			for line := range bytes.SplitSeq(b, []byte("\n")) {
				if len(line) > crcSize {
					from := len(sealed)
					sealed = seal(append(sealed, line[:len(line)-crcSize]...), from)
				}
			}
			files[names[int(kind)%len(names)]] = sealed
		}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(at, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		l, err := Read(at)
		if err != nil {
			t.Fatal(err)
		}
		for d, err := range l.Decisions() {
			if err != nil {
				var data *dataerror.Error
				if !errors.As(err, &data) || data.File == "" {
					t.Errorf("an error without a file: %v", err)
				}
				return
			}
			if err := d.Check(d.About); err != nil {
				t.Error(err)
			}
		}
	})
}

// Logs of earlier versions have outcomes out of range. They are left out and counted, in lines and in Parquet.
func TestOutOfRange(t *testing.T) {
	folder, _, want := openLog(t, 6)
	b := appendHead(nil, outcomes, 1)
	for n, o := range []Outcome{{Score: number(5)}, {Score: number(-1)}, {Loss: number(1e39)}, {Loss: number(2)}, {Score: number(1)}} {
		o.ID = want[n].ID
		var err error
		if b, err = appendOutcome(b, &o); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "outcomes-00000001.jsonl"), b, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"lines", "Parquet"} {
		list, l := readAll(t, folder)
		for n, d := range list {
			if (d.Outcome != nil) != (n == 3 || n == 4) {
				t.Errorf("%s: record %d: %+v", form, n, d.Outcome)
			}
		}
		if c := l.Counts(); c.OutOfRange != 3 || c.Outcomes != 2 || c.Unmatched != 0 {
			t.Errorf("%s: %+v", form, c)
		}
		w, err := Open(folder, quick()) // the lines become Parquet
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Means stay numbers, and short ones, whatever the records have.
func TestMeansStayFinite(t *testing.T) {
	s := &weighted{}
	for _, v := range []float64{1, math.MaxFloat64, -math.MaxFloat64, math.Inf(1), math.NaN(), 3e38} {
		s.add(v, 2)
	}
	m := s.mean()
	if _, err := json.Marshal(m); err != nil || m.Rows != 2 || m.Mean != 1.5e38 || !strings.HasPrefix(m.Text(), "1.5e+38 (") {
		t.Errorf("%s, %v", m.Text(), err)
	}
	if text := (WeightedMean{Rows: 1, Mean: 123456.78}).Text(); text != "123456.7800 (1 row)" {
		t.Error(text)
	}
}
