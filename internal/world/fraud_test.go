package world

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/featurize/tabular"
	"pipe/internal/config"
	"pipe/internal/realdata"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// fraudTable is a CSV file in memory, by column.
type fraudTable struct {
	header []string
	rows   [][]string
	at     map[string]int
}

func readFraudTable(t *testing.T, path string) *fraudTable {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	out := &fraudTable{header: rows[0], rows: rows[1:], at: map[string]int{}}
	for i, name := range rows[0] {
		out.at[name] = i
	}
	return out
}

func (f *fraudTable) cell(row int, column string) string { return f.rows[row][f.at[column]] }

// missing is the share of rows without a value, by column.
func (f *fraudTable) missing() map[string]float64 {
	out := map[string]float64{}
	for i, name := range f.header {
		for _, row := range f.rows {
			if row[i] == "" {
				out[name] += 1 / float64(len(f.rows))
			}
		}
	}
	return out
}

func fraudOptions(t *testing.T, rows int) FraudOptions {
	o := DefaultFraudOptions()
	o.Rows, o.Seed, o.Out = rows, 1, storage.File(t.TempDir())
	return o
}

// generated generates a world and reads both files back.
func generated(t *testing.T, o FraudOptions) (transactions, identities *fraudTable, r *FraudReport) {
	t.Helper()
	r, err := GenerateFraud(t.Context(), o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	paths := o.Files()
	return readFraudTable(t, paths[0].String()), readFraudTable(t, paths[1].String()), r
}

// The real files that the generated ones are compared with.
var realFraud = map[string]string{
	"all": "train_transaction_394cols_1500rows.csv", "few": "train_transaction_55cols_12000rows.csv", "identity": fraudIdentityFile,
}

func realFraudTable(t *testing.T, which string) *fraudTable {
	return readFraudTable(t, filepath.Join(realdata.Folder(t, "ieee-cis"), realFraud[which]))
}

func TestFraudHeaderIsTheRealOne(t *testing.T) {
	for which, header := range map[string][]string{
		"all": fraudTransactionHeader(fraudAllColumns), "few": fraudTransactionHeader(fraudFewColumns), "identity": fraudIdentityHeader(),
	} {
		if real := realFraudTable(t, which).header; !slices.Equal(header, real) {
			t.Errorf("%s: header is %v, want %v", which, header, real)
		}
	}
}

var digits = regexp.MustCompile(`[0-9]+`)

// spelling is how the values of a column are written: integers, decimals, or which kinds of strings. Strings of many
// kinds, such as names of devices, count as free.
func (f *fraudTable) spelling(column string) map[string]bool {
	found := map[string]bool{}
	for row := range f.rows {
		v := f.cell(row, column)
		switch _, err := strconv.ParseFloat(v, 64); {
		case v == "":
		case err != nil:
			found[digits.ReplaceAllString(v, "9")] = true
		case strings.Contains(v, "."):
			found["decimal"] = true
		default:
			found["whole"] = true
		}
		if len(found) > 12 {
			return map[string]bool{"free": true}
		}
	}
	return found
}

// TestFraudValuesAreSpelledLikeTheRealOnes: no column has a spelling that the real one lacks.
func TestFraudValuesAreSpelledLikeTheRealOnes(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	transactions, identities, _ := generated(t, fraudOptions(t, 3000))
	for which, made := range map[string]*fraudTable{"all": transactions, "few": transactions, "identity": identities} {
		real := realFraudTable(t, which)
		for _, name := range real.header {
			known := real.spelling(name)
			for kind := range made.spelling(name) {
				if !known[kind] && !known["free"] {
					t.Errorf("%s: column %s has values like %q, the real one has %v", which, name, kind, known)
				}
			}
		}
	}
}

// TestFraudGaps compares the shares of missing values with the real ones. The informative columns are missing outside
// their cells, which shifts some shares by up to 0.4; the mean distance shows that this is the exception.
func TestFraudGaps(t *testing.T) {
	o := fraudOptions(t, 6000)
	transactions, identities, _ := generated(t, o)
	for which, made := range map[string]*fraudTable{"few": transactions, "all": transactions, "identity": identities} {
		real, sum := realFraudTable(t, which), 0.0
		want, got := real.missing(), made.missing()
		for _, name := range real.header {
			distance := math.Abs(want[name] - got[name])
			sum += distance
			if distance > 0.4 {
				t.Errorf("%s: %.2f of %s is missing, %.2f in the real file", which, got[name], name, want[name])
			}
		}
		if mean := sum / float64(len(real.header)); mean > 0.1 {
			t.Errorf("%s: shares of missing values are %.3f from the real ones in the mean", which, mean)
		}
	}
}

// TestFraudVBlocks: V columns are missing in blocks.
func TestFraudVBlocks(t *testing.T) {
	transactions, _, _ := generated(t, fraudOptions(t, 2000))
	first := 1
	for _, block := range vBlocks {
		last := block.spans[len(block.spans)-1].to
		for row := range transactions.rows {
			gap := transactions.cell(row, fmt.Sprintf("V%d", first)) == ""
			for v := first; v <= last; v++ {
				if got := transactions.cell(row, fmt.Sprintf("V%d", v)) == ""; got != gap {
					t.Fatalf("row %d: V%d missing is %v, V%d %v", row, first, gap, v, got)
				}
			}
		}
		first = last + 1
	}
	if first != 340 {
		t.Errorf("the blocks end before V%d", first)
	}
}

// TestFraudIdentities: there are as many as in the original, for transactions of the other products, each once and in
// order.
func TestFraudIdentities(t *testing.T) {
	identities := 0
	for _, cell := range fraudOrder(fraudFullRows, 7) {
		if cell > cellNothing {
			identities++
		}
	}
	if identities != fraudFullIdentities {
		t.Errorf("a file of the original's size has %d identities, want %d", identities, fraudFullIdentities)
	}
	o := fraudOptions(t, 3000)
	o.Columns = fraudFewColumns
	a, b, report := generated(t, o)
	next := 0
	for row := range a.rows {
		if a.cell(row, "ProductCD") != "W" {
			if next >= len(b.rows) || b.rows[next][0] != a.rows[row][0] {
				t.Fatalf("transaction %s has no identity at row %d", a.rows[row][0], next)
			}
			next++
		}
	}
	if next != len(b.rows) || next != report.Identities {
		t.Errorf("%d transactions with identity, %d identities, %d reported", next, len(b.rows), report.Identities)
	}
}

// TestFraudTimesRise: ids count up and times never decrease.
func TestFraudTimesRise(t *testing.T) {
	o := fraudOptions(t, 5000)
	o.Columns = fraudFewColumns
	made, _, _ := generated(t, o)
	before := 0
	for row := range made.rows {
		seconds, err := strconv.Atoi(made.cell(row, "TransactionDT"))
		if err != nil || seconds < before || made.cell(row, "TransactionID") != strconv.Itoa(fraudFirstID+row) {
			t.Fatalf("row %d: id %s at %d after %d (%v)", row, made.cell(row, "TransactionID"), seconds, before, err)
		}
		before = seconds
	}
	if before < fraudTimeSpan*99/100 {
		t.Errorf("the last transaction is at %d seconds", before)
	}
}

// TestFraudBytes: the bytes depend on the seed and not on the number of workers, the report has their digests, and the
// 55 columns are the first of the 394.
func TestFraudBytes(t *testing.T) {
	read := func(workers, columns int, seed uint64) (out [2][]byte, r *FraudReport) {
		o := fraudOptions(t, 3*fraudChunkRows+17)
		o.Workers, o.Columns, o.Seed = workers, columns, seed
		r, err := GenerateFraud(t.Context(), o, stage.Quiet)
		if err != nil {
			t.Fatal(err)
		}
		for i, path := range o.Files() {
			if out[i], err = os.ReadFile(path.String()); err != nil {
				t.Fatal(err)
			}
			if int64(len(out[i])) != r.Files[i].Bytes || bytes.Count(out[i], []byte("\n")) != r.Files[i].Rows+1 {
				t.Errorf("%s: the report says %d bytes and %d rows", path, r.Files[i].Bytes, r.Files[i].Rows)
			}
		}
		return out, r
	}
	one, first := read(1, fraudAllColumns, 3)
	four, second := read(4, fraudAllColumns, 3)
	for i := range one {
		if !bytes.Equal(one[i], four[i]) || first.Files[i].Digest != second.Files[i].Digest {
			t.Errorf("file %d depends on the number of workers", i)
		}
	}
	few, _ := read(2, fraudFewColumns, 3)
	if !bytes.Equal(few[1], one[1]) {
		t.Error("identities depend on the columns of the transactions")
	}
	wide, narrow := bytes.Split(one[0], []byte("\n")), bytes.Split(few[0], []byte("\n"))
	for n := range narrow {
		if !bytes.HasPrefix(wide[n], narrow[n]) {
			t.Fatalf("line %d: %s is not the start of %s", n+1, narrow[n], wide[n])
		}
	}
	if other, _ := read(2, fraudFewColumns, 4); bytes.Equal(other[0], few[0]) {
		t.Error("two seeds give the same rows")
	}
}

func TestFraudOptionsAreChecked(t *testing.T) {
	_, err := GenerateFraud(t.Context(), FraudOptions{World: "round", FraudRate: math.NaN()}, stage.Quiet)
	var wrong *stage.OptionError
	if !errors.As(err, &wrong) {
		t.Fatalf("error is %v", err)
	}
	for _, part := range []string{"rows 0", `world "round": known are planted, flat`, "columns 0", "fraud rate NaN", "no folder", "workers 0"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
}

// TestFraudInterrupted: an interrupted run leaves no file.
func TestFraudInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := fraudOptions(t, 1_000_000)
	if _, err := GenerateFraud(ctx, o, stopAfter{cancel}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if left, err := os.ReadDir(o.Out.String()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// stopAfter is a stage.Progress that cancels when the first rows are done.
type stopAfter struct{ cancel func() }

func (stopAfter) Start(int64, string) {}
func (s stopAfter) Add(int64)         { s.cancel() }
func (stopAfter) Done()               {}
func (stopAfter) Note(string, ...any) {}

// TestFraudLoads: the loader reads the files with the shipped column groups, and every column is present.
func TestFraudLoads(t *testing.T) {
	var columns struct {
		Columns tabular.Schema `yaml:"columns"`
	}
	if err := config.Load(t.Context(), storage.File(filepath.Join("..", "..", "configs", "fraud-columns.yaml")), &columns); err != nil {
		t.Fatal(err)
	}
	o := fraudOptions(t, 1500)
	_, identities, _ := generated(t, o)
	paths := o.Files()
	frame, _, err := tabular.Load(t.Context(), &columns.Columns, tabular.Files{Primary: storage.File(paths[0].String()), Joined: storage.File(paths[1].String())}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(frame.IDs) != o.Rows || len(frame.Absent) > 0 {
		t.Errorf("%d rows, absent %v", len(frame.IDs), frame.Absent)
	}
	i := slices.IndexFunc(frame.Columns, func(c tabular.FrameColumn) bool { return c.Name == "DeviceType" })
	have := 0
	for _, code := range frame.Columns[i].Codes {
		if code >= 0 {
			have++
		}
	}
	if have != len(identities.rows) {
		t.Errorf("%d rows have a device, %d an identity", have, len(identities.rows))
	}
}

func BenchmarkFraudRows(b *testing.B) {
	o := DefaultFraudOptions()
	maker := &fraudMaker{o: &o, order: fraudOrder(fraudChunkRows, 1)}
	for b.Loop() {
		c := maker.make(0)
		b.SetBytes(int64(len(c.text[0]) + len(c.text[1])))
		maker.spare.Put(c)
	}
	b.ReportMetric(float64(fraudChunkRows*b.N)/b.Elapsed().Seconds(), "rows/s")
}
