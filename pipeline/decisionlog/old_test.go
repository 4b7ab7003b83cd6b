package decisionlog

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/dataerror"
	"pipe/internal/parquetfile"
)

// The codec of before there was a table of fields is kept in files named old: it is the judge of the one by the table.

// strangeRecord is a record with values at the edges of what is logged.
func strangeRecord(rng *rand.Rand, p *PolicyInfo) *Record {
	r := testRecord(rng, p)
	texts := []string{"", "plain", "Zoë \"\\\n\x00\u2028", "a\xffb", `","id":`}
	numbers := []float64{0, math.Copysign(0, -1), 1, 0.1, 1e300, 5e-324, -3.25e-7, math.Pi}
	text := func() string { return texts[rng.IntN(len(texts))] }
	number := func() float64 { return numbers[rng.IntN(len(numbers))] }
	long := func() string { return text() + strings.Repeat("é", rng.IntN(2)*maxLongText) }
	r.Request, r.Client, r.Error, r.Model = text(), text(), long(), text()
	r.Share = []float64{ShareUnknown, 0, 0.5, r.Share}[rng.IntN(4)]
	r.Lambda, r.Keep, r.ExpertFees[0], r.AdviceFees[0] = number(), number(), number(), number()
	for i := range r.Attempts {
		r.Attempts[i].Error = long()
	}
	for i := range r.Shadows {
		r.Shadows[i].Policy, r.Shadows[i].ExpectedCost = text(), []float64{math.NaN(), number()}[rng.IntN(2)]
	}
	r.FeeKnown, r.Usage.Known = rng.IntN(2) == 0, rng.IntN(2) == 0
	if r.Fee = 0; r.FeeKnown {
		r.Fee = number()
	}
	if r.Usage.CachedKnown = r.Usage.Known; !r.Usage.Known {
		r.Usage = Usage{}
	}
	switch rng.IntN(6) {
	case 0:
		r.PairFees = make([]float64, len(r.Available))
	case 1:
		r.PairFees, r.OwnPropensity = nil, nil
	case 2:
		r.Features, r.FeaturesDigest = nil, text()
	}
	return r
}

// sameRecords compares what two codecs read.
func sameRecords(t *testing.T, body []byte, got, want *Record, gotErr, wantErr error) {
	t.Helper()
	if (gotErr != nil) != (wantErr != nil) {
		t.Fatalf("%s: error %v, before %v", body, gotErr, wantErr)
	}
	if gotErr != nil {
		return
	}
	if plain(got) != plain(want) || (got.OwnPropensity == nil) != (want.OwnPropensity == nil) || (got.PairFees == nil) != (want.PairFees == nil) ||
		(got.ExpectedLoss == nil) != (want.ExpectedLoss == nil) || (got.Features == nil) != (want.Features == nil) {
		t.Fatalf("%s:\n%s\n%s", body, plain(got), plain(want))
	}
}

// mutate changes a body: bytes, pieces that are left out, doubled or moved, and values.
func mutate(rng *rand.Rand, body []byte) []byte {
	out := bytes.Clone(body)
	for range 1 + rng.IntN(3) {
		i := rng.IntN(len(out))
		j := min(len(out), i+rng.IntN(12))
		switch rng.IntN(7) {
		case 0:
			out[i] = byte(rng.Uint32())
		case 1:
			out[i] = `{}[],:"0123456789.-eE\ntrufalse`[rng.IntN(31)]
		case 2:
			out = slices.Delete(out, i, j)
		case 3:
			out = slices.Insert(out, i, out[i:j]...)
		case 4:
			out = out[:i+1]
		case 5:
			keys := bytes.Split(out, []byte(`,"`))
			at := rng.IntN(len(keys))
			if len(keys) > 1 {
				keys = slices.Delete(keys, at, at+1)
			}
			out = bytes.Join(keys, []byte(`,"`))
		case 6:
			values := []string{"null", "[]", "0", "-0", "1e999", "NaN", `""`, "true", "{}", "[null]"}
			if at := bytes.IndexByte(out[i:], ':'); at >= 0 {
				from := i + at + 1
				to := from + max(0, bytes.IndexByte(out[from:], ','))
				out = slices.Concat(out[:from], []byte(values[rng.IntN(len(values))]), out[to:])
			}
		}
		if len(out) == 0 {
			return []byte("{")
		}
	}
	return out
}

// Lines are those of the old codec byte for byte, and both read the same from lines, also from changed ones, with what they
// remember of the lines before.
func TestLinesAsBefore(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	few, many := testPolicy(2, 1, 3), testPolicy(3, 2, 5)
	writer, memory := newLineWriter(), newReusingReader(together)
	var before oldPrices
	var beforeRead oldRepeats
	for n := range 1500 {
		r := strangeRecord(rng, []*PolicyInfo{&few, &many}[n/3%2])
		line, want := writer.append(nil, r), oldAppendRecordWith(nil, r, &before)
		if !bytes.Equal(line, want) || !bytes.Equal(appendRecord(nil, r), want) {
			t.Fatalf("%s\n%s", line, want)
		}
		body, err := unseal(line[:len(line)-1])
		if err != nil {
			t.Fatal(err)
		}
		for k := range 8 {
			if k > 0 {
				body = mutate(rng, body)
			}
			old, oldErr := oldReadRecord(body)
			got, err := readRecord(body)
			sameRecords(t, body, got, old, err, oldErr)
			again := &Record{}
			againErr := oldReadRecordTo(again, body, &beforeRead)
			got, err = memory.read(body)
			sameRecords(t, body, got, again, err, againErr)
		}
	}
}

func FuzzLine(f *testing.F) {
	rng := rand.New(rand.NewPCG(13, 14))
	p := testPolicy(2, 2, 3)
	for range 20 {
		line := appendRecord(nil, strangeRecord(rng, &p))
		f.Add(line[:len(line)-1-crcSize])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want, wantErr := oldReadRecord(body)
		got, err := readRecord(body)
		sameRecords(t, body, got, want, err, wantErr)
	})
}

// oldWriteParquet is the Parquet file that the old codec made of records.
func oldWriteParquet(t *testing.T, s *segment, list []*Record, policies []*PolicyInfo) []byte {
	t.Helper()
	w, err := newParquetWriter[oldDecisionRow](s)
	if err != nil {
		t.Fatal(err)
	}
	features := []string{"features", "list", "element"}
	w.parquet = parquet.NewGenericWriter[oldDecisionRow](w.file, parquet.NewSchema("decisionRow", parquet.SchemaOf(oldDecisionRow{})),
		parquet.PageBufferSize(pageBytes), parquet.CreatedBy("pipe", "1", "0"), parquet.SkipPageBounds(features...), parquet.SkipPageStatistics(features...))
	for _, r := range list {
		p := policies[slices.IndexFunc(policies, func(p *PolicyInfo) bool { return p.Digest == r.Digest })]
		if err := w.add(oldRowOf(r, p), 1024+4*len(r.Features)+32*len(r.Propensity)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.close(s, policies); err != nil {
		t.Fatal(err)
	}
	return readFile(t, s.path(parquetEnding))
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// oldRows are the rows that the old codec reads in a Parquet segment.
func oldRows[T any](s *segment, fields []oldField[T]) (list []T, err error) {
	err = dataerror.Guard(s.path(parquetEnding), func() error {
		f, err := openParquet(s)
		if err != nil {
			return err
		}
		defer f.Close()
		for g := range f.Groups() {
			rows, err := oldReadGroup(f, g, fields)
			if err != nil {
				return err
			}
			list = append(list, rows...)
		}
		return nil
	})
	return list, err
}

func newRecords(s *segment) (list []Record, err error) {
	err = rowsOfParquet(s, recordColumns, Record{Share: ShareUnknown}, func(*parquetfile.File) error { return nil }, func(r *Record) error {
		list = append(list, *r)
		return nil
	})
	return list, err
}

// recordsIn are the records of a Parquet segment, which the old codec reads as this one does.
func recordsIn(t *testing.T, s *segment) []Record {
	t.Helper()
	list, err := newRecords(s)
	if err != nil {
		t.Fatal(err)
	}
	old, err := oldRows(s, oldRecordFields)
	if err != nil || len(old) != len(list) {
		t.Fatalf("%d records, before %d, %v", len(list), len(old), err)
	}
	for i := range list {
		sameRecords(t, nil, &list[i], &old[i], nil, nil)
	}
	return list
}

// Segments are those of the old codec byte for byte, whatever the number of pages and row groups, and both read the same.
func TestSegmentsAsBefore(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, c := range []struct{ records, dim int }{{3, 0}, {150, 5}, {900, 384}, {2300, 1600}} {
		few, many := testPolicy(2, 1, c.dim), testPolicy(3, 2, c.dim)
		policies := []*PolicyInfo{&few, &many}
		s := &segment{folder: t.TempDir(), stream: decisions, number: 1}
		text := appendHead(nil, decisions, 1)
		var list []*Record
		var used []*PolicyInfo
		for n := range c.records {
			r := strangeRecord(rng, policies[n%2])
			r.Error, r.Lambda, r.Keep = "e", 0.5, 1
			r.Digest = policies[n%2].Digest
			if n < 2 {
				var err error
				if text, err = appendPolicy(text, policies[n]); err != nil {
					t.Fatal(err)
				}
			}
			if r.OwnPropensity != nil {
				r.Share = 0.5
			}
			r.ExpertFees[0], r.AdviceFees[0], r.FeeKnown, r.Fee = 1, 2, n%3 == 0, float64(n%3)
			if !r.FeeKnown {
				r.Fee = 0
			}
			r.bound()
			if r.Check(policies[n%2]) != nil {
				continue
			}
			if !slices.Contains(used, policies[n%2]) {
				used = append(used, policies[n%2])
			}
			line := appendRecord(nil, r)
			again, err := oldReadRecord(line[:len(line)-1-crcSize])
			if err != nil {
				t.Fatal(err)
			}
			text, list = append(text, line...), append(list, again)
		}
		if err := os.WriteFile(s.path(linesEnding), text, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := writeParquet(s, false); err != nil {
			t.Fatal(err)
		}
		got := readFile(t, s.path(parquetEnding))
		if read := recordsIn(t, s); len(read) != len(list) || len(list) < c.records/2 {
			t.Fatalf("%d records, want %d", len(read), len(list))
		}
		if want := oldWriteParquet(t, s, list, used); !bytes.Equal(got, want) {
			t.Errorf("%d records: %d bytes, before %d", c.records, len(got), len(want))
		}
	}
}

// Of a changed file, both codecs read the same, or both refuse it.
func TestChangedSegmentsAsBefore(t *testing.T) {
	whole := readFile(t, filepath.Join("testdata", "golden", "decisions-00000001.parquet"))
	rng := rand.New(rand.NewPCG(17, 18))
	s := &segment{folder: t.TempDir(), stream: decisions, number: 1}
	refused := 0
	for range 800 {
		changed := bytes.Clone(whole)
		for range 1 + rng.IntN(3) {
			changed[rng.IntN(len(changed))] ^= 1 << rng.IntN(8)
		}
		if err := os.WriteFile(s.path(parquetEnding), changed, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := newRecords(s)
		want, wantErr := oldRows(s, oldRecordFields)
		if (err != nil) != (wantErr != nil) || err == nil && len(got) != len(want) {
			t.Fatalf("%d records and %v, before %d and %v", len(got), err, len(want), wantErr)
		}
		if err != nil {
			refused++
			continue
		}
		for i := range got {
			sameRecords(t, nil, &got[i], &want[i], nil, nil)
		}
	}
	if refused == 0 || refused == 800 {
		t.Errorf("%d files were refused", refused)
	}
}

// The folder golden was written by the old codec: its lines become its Parquet files, byte for byte, and both forms are read as
// what stands beside them.
func TestGolden(t *testing.T) {
	golden := filepath.Join("testdata", "golden")
	folder := t.TempDir()
	for _, stream := range []string{decisions, outcomes} {
		from, to := &segment{folder: golden, stream: stream, number: 1}, &segment{folder: folder, stream: stream, number: 1}
		if err := os.WriteFile(to.path(linesEnding), readFile(t, from.path(linesEnding)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inLines, _ := readAll(t, folder)
	inParquet, _ := readAll(t, golden)
	checkGolden(t, golden, inLines)
	checkGolden(t, golden, inParquet)
	for _, stream := range []string{decisions, outcomes} {
		from, to := &segment{folder: golden, stream: stream, number: 1}, &segment{folder: folder, stream: stream, number: 1}
		if err := writeParquet(to, false); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(readFile(t, to.path(parquetEnding)), readFile(t, from.path(parquetEnding))) {
			t.Errorf("the Parquet file of %s is another one", stream)
		}
	}
	told := &segment{folder: golden, stream: outcomes, number: 1}
	want, err := oldRows(told, oldOutcomeFields)
	if err != nil {
		t.Fatal(err)
	}
	err = outcomesOfParquet(told, func(o *Outcome) error {
		if !reflect.DeepEqual(*o, want[0]) {
			t.Errorf("outcome %+v, before %+v", *o, want[0])
		}
		want = want[1:]
		return nil
	})
	if err != nil || len(want) > 0 {
		t.Errorf("%d outcomes are missing: %v", len(want), err)
	}
}

// checkGolden compares decisions with those that were logged.
func checkGolden(t *testing.T, folder string, got []Decision) {
	t.Helper()
	want := strings.Split(strings.TrimSuffix(string(readFile(t, filepath.Join(folder, "want.txt"))), "\n"), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d decisions, want %d", len(got), len(want))
	}
	for i, d := range got {
		if text := goldenText(t, d); text != want[i] {
			t.Errorf("decision %d is\n%s\n%s", i, text, want[i])
		}
	}
}

// goldenText is a decision in a text that does not depend on the order of the fields of a record.
func goldenText(t *testing.T, d Decision) string {
	t.Helper()
	outcome, err := json.Marshal(d.Outcome)
	if err != nil {
		t.Fatal(err)
	}
	line := oldAppendRecord(nil, d.Record)
	return string(line[:len(line)-1]) + string(outcome)
}

// Every field of a record is in lines and has a column, whose type is that of the field.
func TestEveryFieldIsLogged(t *testing.T) {
	record := reflect.TypeFor[Record]()
	for i := range record.NumField() {
		name := record.Field(i).Name
		at := slices.IndexFunc(recordFields, func(f field) bool { return f.index == i })
		if at < 0 && !strings.HasSuffix(name, "Known") {
			t.Errorf("%s has no tag log", name)
		}
	}
	columns := 0
	for i := range recordFields {
		for _, f := range append(recordFields[i].parts, recordFields[i])[:max(1, len(recordFields[i].parts))] {
			columns++
			if !slices.ContainsFunc(recordColumns, func(c columnForm) bool { return c.name == f.column }) {
				t.Errorf("decisionRow has no column %s", f.column)
			}
		}
	}
	if columns != len(recordColumns) {
		t.Errorf("%d columns are read of %d fields", len(recordColumns), columns)
	}
}
