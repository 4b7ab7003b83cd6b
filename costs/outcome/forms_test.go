package outcome

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"pipe/costs"
	"pipe/internal/storage"
)

// formRow is an outcome whose names come with and without a dictionary; an empty hint is written as a null.
type formRow struct {
	ID     string  `parquet:"id"`
	IDDict string  `parquet:"id_dict,dict"`
	Who    string  `parquet:"who,dict"`
	Plain  string  `parquet:"plain"`
	Hint   *string `parquet:"hint,optional,dict"`
	Wrong  float64 `parquet:"wrong"`
	Small  float32 `parquet:"small"`
	Answer string  `parquet:"answer"`
	Part   string  `parquet:"part,dict"`
}

// formRows draws outcomes of n instances in a random order.
func formRows(r *rand.Rand, n int) (rows []formRow) {
	hints := []string{"", "search", "é"}[:1+r.IntN(3)]
	for i := range n {
		for e := range 1 + n%3 {
			for _, hint := range hints {
				id, who, loss := fmt.Sprint("q", i*i), fmt.Sprint("m", e), float64(r.IntN(9))/8
				row := formRow{
					ID: id, IDDict: id, Who: who, Plain: who, Wrong: loss, Small: float32(loss), Answer: fmt.Sprint("a", r.IntN(4)),
					Part: []string{"train", "val"}[i%2],
				}
				if hint != "" {
					row.Hint = &hint
				}
				rows = append(rows, row)
			}
		}
	}
	if r.IntN(2) == 0 {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	return rows
}

// spoilt changes a row so that it is wrong, or leaves an outcome out.
func spoilt(r *rand.Rand, rows []formRow) []formRow {
	at := r.IntN(len(rows))
	switch r.IntN(6) {
	case 0:
		return append(rows, rows[at])
	case 1:
		rows[at].ID, rows[at].IDDict = "", ""
	case 2:
		rows[at].Who, rows[at].Plain = "", ""
	case 3:
		rows[at].Part = "other"
	case 4:
		return append(rows[:at:at], rows[at+1:]...)
	case 5:
		rows[at].Wrong, rows[at].Small = 1e300, float32(math.Inf(1))
	}
	return rows
}

func formCSV(rows []formRow) string {
	var b strings.Builder
	b.WriteString("id,who,hint,wrong,answer,part\n")
	for _, row := range rows {
		hint, wrong := "", fmt.Sprint(row.Wrong)
		if row.Hint != nil {
			hint = *row.Hint
		}
		fmt.Fprintf(&b, "%s,%s,%s,%s,%s,%s\n", row.ID, row.Who, hint, wrong, row.Answer, row.Part)
	}
	return b.String()
}

// TestFormsAgree: a table of text and Parquet files with pages and row groups of any size, with and without
// dictionaries, give the same tensor and report, or an error in the same row. Tensors have the losses of the rows.
func TestFormsAgree(t *testing.T) {
	imported := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		rows := formRows(r, 1+r.IntN(120))
		if seed%2 == 1 {
			rows = spoilt(r, rows)
		}
		features := "id,x\n"
		for i := range 120 {
			features += fmt.Sprintf("q%d,%d\n", i*i, i)
		}
		c := smallImport(t, formCSV(rows), features)
		c.Fees, c.None, c.DropIncomplete = FeeTable{}, "", seed%4 == 1
		c.Outcomes.Columns = Columns{ID: "id", Expert: "who", Advice: "hint", Loss: "wrong", Prediction: "answer", Split: "part"}
		c.Features = []FeatureTable{{File: c.Features[0].File, ID: "id", Columns: []string{"x"}}}
		want, report, wrong := Import(context.Background(), c)
		if wrong == nil {
			imported++
			checkLosses(t, want, rows)
		}
		c.Outcomes.File = storage.File(filepath.Join(t.TempDir(), "o.parquet"))
		err := parquet.WriteFile(c.Outcomes.File.String(), rows, parquet.PageBufferSize(1<<(4+r.IntN(12))), parquet.MaxRowsPerRowGroup(int64(1+r.IntN(400))))
		if err != nil {
			t.Fatal(err)
		}
		for i, column := range []string{"wrong", "small"} {
			c.Outcomes.Columns.Loss = column
			c.Outcomes.Columns.ID = []string{"id", "id_dict"}[i]
			c.Outcomes.Columns.Expert = []string{"who", "plain"}[i]
			got, found, err := Import(context.Background(), c)
			if wrong != nil {
				sameProblem(t, wrong, err)
				continue
			}
			if d := cmp.Diff(want, got, cmpopts.IgnoreFields(costs.Tensor{}, "Actions"), cmpopts.EquateNaNs()); d != "" || err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, d)
			}
			if d := cmp.Diff(report, found); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
		}
	}
	if imported < 30 || imported == 60 {
		t.Errorf("%d of 60 tables were imported", imported)
	}
}

// checkLosses compares a tensor with the rows that it was made of.
func checkLosses(t *testing.T, tensor *costs.Tensor, rows []formRow) {
	t.Helper()
	loss := make(map[string]float64)
	for _, row := range rows {
		hint := noAdvice
		if row.Hint != nil {
			hint = *row.Hint
		}
		loss[row.ID+" "+row.Who+"/"+hint] = row.Wrong
	}
	for n, id := range tensor.IDs {
		for i, v := range tensor.Losses(n) {
			if want, ok := loss[id+" "+tensor.Actions.Name(i)]; !ok || float64(v) != want {
				t.Fatalf("%s %s is %v, want %v, %v", id, tensor.Actions.Name(i), v, want, ok)
			}
		}
	}
}

// sameProblem compares the errors about a CSV file, whose first row is in line 2, and about a Parquet file.
func sameProblem(t *testing.T, text, parquet error) {
	t.Helper()
	var a, b *costs.DataError
	if !errors.As(text, &a) || !errors.As(parquet, &b) {
		t.Fatalf("errors are %v and %v", text, parquet)
	}
	row, column := max(0, a.Row-1), strings.NewReplacer("small", "wrong", "id_dict", "id", "plain", "who").Replace(b.Column)
	if b.Row != row || column != a.Column || a.Msg != b.Msg {
		t.Fatalf("errors are %v and %v", text, parquet)
	}
}
