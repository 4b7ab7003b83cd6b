package outcome

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"pipe/costs"
	"pipe/internal/storage"
)

// inFiles puts the lines of a table, with its header, into so many files of a folder.
func inFiles(t *testing.T, text string, files int, order func(i, line int) bool) string {
	t.Helper()
	dir := t.TempDir()
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	for i := range files {
		part := lines[0]
		for n, line := range lines[1:] {
			if order(i, n) {
				part += line
			}
		}
		put(t, filepath.Join(dir, fmt.Sprintf("part-%02d.csv", i)), part)
	}
	return dir
}

// fromPartials imports through partials of the given ranges of files, which went through files.
func fromPartials(t *testing.T, c Config, parts int) (*costs.Tensor, Report, error) {
	t.Helper()
	pieces, err := OutcomePieces(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var list []*Partial
	for i := range parts {
		p, err := ReadPartial(t.Context(), c, pieces*i/parts, pieces*(i+1)/parts)
		if err != nil {
			return nil, Report{}, err
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		if p, err = ReadPartialFrom(&b); err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return ImportPartials(t.Context(), c, func(use func(*Partial) error) error {
		for _, p := range list {
			if err := use(p); err != nil {
				return err
			}
		}
		return nil
	})
}

// samePartials checks that an import through partials gives the tensor and the report of one import.
func samePartials(t *testing.T, c Config, parts int) {
	t.Helper()
	want, report, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	got, merged, err := fromPartials(t, c, parts)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.IgnoreUnexported(costs.Tensor{}, costs.Actions{})) + cmp.Diff(report, merged); d != "" {
		t.Error(d)
	}
	if want.Digest() != got.Digest() {
		t.Error("the digests differ")
	}
}

// TestPartialsEqualOneImport: the rows of an instance may be in several files, and names may first appear in any.
func TestPartialsEqualOneImport(t *testing.T) {
	for files := 1; files <= 8; files += 3 {
		for parts := 1; parts <= files+1; parts++ {
			c := smallImport(t, longCSV, featureCSV)
			c.Outcomes.File = storage.File(inFiles(t, longCSV, files, func(i, line int) bool { return (line*5)%files == i }))
			samePartials(t, c, parts)
		}
	}
}

// TestPartialsOfTimesGroupsAndMissingCells: everything that belongs to an instance is merged, and what is missing stays
// missing.
func TestPartialsOfTimesGroupsAndMissingCells(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := "id,who,score,label,user,at\n"
	for n := range 200 {
		for _, who := range []string{"x", "y", "z"} {
			if r.IntN(10) > 0 {
				fields := []string{fmt.Sprint("l", n%3), fmt.Sprint("u", n/4), fmt.Sprintf("2026-01-%02dT00:00:%02dZ", 1+n%28, r.IntN(60))}
				if lost := r.IntN(20); lost < 3 {
					fields[lost] = ""
				}
				text += fmt.Sprintf("i%d,%s,%.3f,%s\n", n, who, r.Float64(), strings.Join(fields, ","))
			}
		}
	}
	c := smallImport(t, "", "")
	c.Outcomes.File = storage.File(inFiles(t, text, 7, func(i, line int) bool { return (line*line)%7 == i || i == 6 && (line*line)%7 > 4 }))
	if err := os.Remove(c.Outcomes.File.Join("part-03.csv").String()); err != nil { // it has no rows
		t.Fatal(err)
	}
	text = "id,f\n"
	for n := range 200 {
		text += fmt.Sprintf("i%d,%d\n", n, n)
	}
	c.Outcomes.Columns = Columns{ID: "id", Expert: "who", Score: "score", Label: "label", Group: "user", Time: "at"}
	c.Features = []FeatureTable{{File: c.Features[0].File, ID: "id", Columns: []string{"f"}}}
	put(t, c.Features[0].File.String(), text)
	c.None, c.Fees, c.Missing = "", FeeTable{}, MissingKeep
	samePartials(t, c, 3)
}

// TestPartialsOfWideTables: the pairs are those of the columns of all files.
func TestPartialsOfWideTables(t *testing.T) {
	c := smallImport(t, "", "")
	c.Outcomes.File = storage.File(inFiles(t, "id,small,large,f0,part\na,1,0,1,train\nb,0,1,4,val\nc,1,1,5,train\n", 3, func(i, line int) bool { return line == i }))
	c.Outcomes.Columns = Columns{ID: "id", Split: "part"}
	c.Outcomes.Wide = WideForm{WidePattern: WidePattern{Correct: "{expert}"}}
	c.Experts = []string{"small", "large"}
	c.None, c.Fees = "", FeeTable{}
	c.Features = []FeatureTable{{ID: "id", Columns: []string{"f0"}}}
	samePartials(t, c, 2)
	put(t, c.Outcomes.File.Join("part-03.csv").String(), "id,small,large,f0,part\na,1,0,1,train\n")
	if _, _, err := fromPartials(t, c, 4); err == nil || !strings.Contains(err.Error(), `a" is a duplicate`) && !strings.Contains(err.Error(), `a is a duplicate`) {
		t.Errorf("an id in two files: %v", err)
	}
}

// TestPartialsOfRowGroups: one Parquet file is cut between its row groups, and errors name the row of the file.
func TestPartialsOfRowGroups(t *testing.T) {
	type outcome struct {
		ID   string  `parquet:"id"`
		Who  string  `parquet:"who"`
		Loss float64 `parquet:"loss"`
	}
	rows, features := []outcome{}, "id,f\n"
	for n := range 150 {
		features += fmt.Sprintf("i%d,%d\n", n, n)
		rows = append(rows, outcome{fmt.Sprintf("i%d", n), "x", float64(n%7) / 7}, outcome{fmt.Sprintf("i%d", n*7%150), "y", float64(n%5) / 5})
	}
	c := smallImport(t, "", features)
	c.Outcomes = Table{File: storage.File(filepath.Join(t.TempDir(), "log.parquet")), Columns: Columns{ID: "id", Expert: "who", Loss: "loss"}}
	c.Features = []FeatureTable{{File: c.Features[0].File, ID: "id", Columns: []string{"f"}}}
	c.None, c.Fees = "", FeeTable{}
	write := func() {
		t.Helper()
		if err := parquet.WriteFile(c.Outcomes.File.String(), rows, parquet.MaxRowsPerRowGroup(41)); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if n, err := OutcomePieces(t.Context(), c); n != 8 || err != nil {
		t.Fatalf("%d pieces, %v", n, err)
	}
	for _, parts := range []int{1, 3, 8} {
		samePartials(t, c, parts)
	}
	for row, says := range map[int]string{0: "row 1", 40: "row 41", 41: "row 42", 299: "row 300"} {
		was := rows[row].Loss
		rows[row].Loss = math.NaN()
		write()
		if _, _, err := fromPartials(t, c, 8); err == nil || !strings.Contains(err.Error(), says+":") {
			t.Errorf("%s: %v", says, err)
		}
		rows[row].Loss = was
	}
	rows = rows[:100]
	write()
	if _, err := ReadPartial(t.Context(), c, 7, 8); err == nil || !strings.Contains(err.Error(), "had 8 when it was cut") {
		t.Errorf("a file that has changed: %v", err)
	}
}

// TestPartialsRefuseContradictions: what is an error in one table is one in two.
func TestPartialsRefuseContradictions(t *testing.T) {
	for _, c := range []struct{ add, says string }{
		{"b,y,yes,0,cat,0\n", "is a duplicate"},
		{"b,y,maybe,nan,cat,0\n", "is not a number"},
	} {
		config := smallImport(t, longCSV, featureCSV)
		config.Outcomes.File = storage.File(inFiles(t, longCSV+c.add, 2, func(i, line int) bool { return i == line/8 }))
		if _, _, err := fromPartials(t, config, 2); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.says, err)
		}
	}
}
