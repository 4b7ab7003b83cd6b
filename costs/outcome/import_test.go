package outcome

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/internal/dataerror/dataerrortest"
	"pipe/internal/storage"
)

const longCSV = `id,who,hint,wrong,answer,paid
a,x,no,0,cat,0.5
a,x,yes,1,dog,0
a,y,no,1,dog,0
a,y,yes,0.5,cat,0
b,x,no,0,cat,0
b,x,yes,0,cat,0.25
b,y,no,1,dog,0
b,y,yes,1,dog,0
`

const featureCSV = `id,f0,f1,kind,text,truth,part
a,1,0.5,red,héllo,cat,train
b,2,1.5,blue,,dog,val
c,3,2.5,red,more,dog,val
`

// smallImport is a configuration over the two tables, written to a folder.
// Ids that are one number in two spellings do not join, and the error says so, with both.
func TestSpellingOfIDs(t *testing.T) {
	const outcomes, features = "id,who,hint,wrong,answer,paid\n1,x,no,0,1,0\n2,x,no,1,0,0\n", "id,f1,text,kind,truth,part\n1.0,2,a,k,1,train\n2.0,3,b,k,0,val\n"
	says := `id "1" of the outcomes is "1.0" in "features.csv", which is another id: write both alike`
	plain := func(outcomes, features string) Config {
		c := smallImport(t, outcomes, features)
		c.Fees = FeeTable{}
		return c
	}
	for _, missing := range []string{MissingError, MissingDrop} {
		c := plain(outcomes, features)
		c.Missing = missing
		_, _, err := Import(context.Background(), c)
		dataerrortest.Check(t, err, c.Outcomes.File.String(), 0, "", says)
	}
	c := plain(strings.NewReplacer("\n1,", "\n1.0,", "\n2,", "\n2.0,").Replace(outcomes), strings.ReplaceAll(features, ".0,", ","))
	_, _, err := Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 0, "", `id "1.0" of the outcomes is "1" in "features.csv"`)
	c = plain(outcomes, features+"1,2,a,k,1,train\n")
	c.Missing = MissingDrop
	_, report, err := Import(context.Background(), c)
	if err != nil || !strings.Contains(report.Spelling, says) {
		t.Error(report.Spelling, err)
	}
	c = plain(outcomes, strings.ReplaceAll(features, ".0,", ",")+"7.0,2,a,k,1,train\nx.0,2,a,k,1,train\n") // unused, and no other spelling
	_, report, err = Import(context.Background(), c)
	if err != nil || report.Spelling != "" || report.UnusedRows != 2 {
		t.Errorf("%+v, %v", report, err)
	}
}

func smallImport(t testing.TB, outcomes, features string) Config {
	t.Helper()
	dir := t.TempDir()
	c := DefaultConfig()
	c.Outcomes = Table{
		File: storage.File(filepath.Join(dir, "outcomes.csv")),
		Columns: Columns{
			ID: "id", Expert: "who", Advice: "hint", Loss: "wrong", Prediction: "answer", Fee: "paid",
		},
	}
	c.None = "no"
	c.Fees = FeeTable{Experts: map[string]float64{"x": 0.1, "y": 0}, Advice: map[string]float64{"yes": 0.2}}
	c.Features = []FeatureTable{{
		File: storage.File(filepath.Join(dir, "features.csv")), ID: "id", Columns: []string{"f*"},
		Length: []string{"text"}, Categorical: []string{"kind"}, Label: "truth", Split: "part",
	}}
	put(t, c.Outcomes.File.String(), outcomes)
	put(t, c.Features[0].File.String(), features)
	return c
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// smallTensor is what smallImport gives.
func smallTensor() *costs.Tensor {
	return &costs.Tensor{
		IDs: []string{"a", "b"}, Splits: []costs.Split{costs.Train, costs.Val}, Labels: []string{"cat", "dog"},
		Predictions: []string{"cat", "dog", "dog", "cat", "cat", "cat", "dog", "dog"},
		Dim:         5, Features: []float32{1, 0.5, 5, 0, 1, 2, 1.5, 0, 1, 0},
		Loss: []float32{0, 1, 1, 0.5, 0, 0, 1, 1}, Fee: []float32{0.5, 0, 0, 0, 0, 0.25, 0, 0},
	}
}

func checkSmall(t testing.TB, c Config) {
	t.Helper()
	got, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(smallTensor(), got, cmpopts.IgnoreFields(costs.Tensor{}, "Actions", "Meta")); d != "" {
		t.Error(d)
	}
	if names := strings.Join(got.Actions.Names(), " "); names != "x/no x/yes y/no y/yes" {
		t.Errorf("actions are %s", names)
	}
	if fees := got.Actions.Fees(2); !cmp.Equal(fees, []float64{0.1, 0.5, 0, 0.4}) {
		t.Errorf("fees are %v", fees)
	}
}

func TestImportLongForm(t *testing.T) {
	c := smallImport(t, longCSV, featureCSV)
	checkSmall(t, c)
	_, report, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if report.UnusedRows != 1 || report.OutcomeRows != 8 || report.Kept != 2 || report.Splits["val"] != 1 {
		t.Errorf("report is %+v", report)
	}
	want := []string{"f0", "f1", "length of text", "kind=blue", "kind=red"}
	if !cmp.Equal(report.FeatureNames, want) {
		t.Errorf("features are %v", report.FeatureNames)
	}
}

// The order of the rows decides the order of the instances and nothing else
// once experts and advice are listed.
func TestImportOrderOfRows(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(longCSV), "\n")
	c := smallImport(t, longCSV, featureCSV)
	c.Experts, c.Advice = []string{"x", "y"}, []string{"no", "yes"}
	rapid.Check(t, func(rt *rapid.T) {
		order := rapid.Permutation(lines[1:]).Draw(rt, "lines")
		put(t, c.Outcomes.File.String(), lines[0]+"\n"+strings.Join(order, "\n"))
		got, _, err := Import(context.Background(), c)
		if err != nil {
			rt.Fatal(err)
		}
		rows := []int{0, 1}
		if got.IDs[0] == "b" {
			rows = []int{1, 0}
		}
		if d := cmp.Diff(smallTensor(), got.Subset(rows), cmpopts.IgnoreFields(costs.Tensor{}, "Actions", "Meta")); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestImportOtherFiles(t *testing.T) {
	objects := jsonLines(longCSV)
	t.Run("gzip", func(t *testing.T) {
		c := smallImport(t, longCSV, featureCSV)
		var buf bytes.Buffer
		z := gzip.NewWriter(&buf)
		z.Write([]byte("\xef\xbb\xbf" + longCSV))
		z.Close()
		c.Outcomes.File = c.Outcomes.File.Suffix(".gz")
		put(t, c.Outcomes.File.String(), buf.String())
		checkSmall(t, c)
	})
	t.Run("JSON lines", func(t *testing.T) {
		c := smallImport(t, longCSV, featureCSV)
		c.Outcomes.File = c.Outcomes.File.Dir().Join("o.jsonl")
		put(t, c.Outcomes.File.String(), "\n"+objects+"\n\n")
		checkSmall(t, c)
	})
	t.Run("Parquet", func(t *testing.T) {
		c := smallImport(t, longCSV, featureCSV)
		type row struct {
			ID     string  `parquet:"id"`
			Who    string  `parquet:"who,dict"`
			Hint   *string `parquet:"hint"`
			Wrong  float64 `parquet:"wrong"`
			Answer string  `parquet:"answer"`
			Paid   float32 `parquet:"paid"`
		}
		var rows []row
		for line := range strings.Lines(objects) {
			var r row
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, r)
		}
		c.Outcomes.File = c.Outcomes.File.Dir().Join("o.parquet")
		if err := parquet.WriteFile(c.Outcomes.File.String(), rows); err != nil {
			t.Fatal(err)
		}
		checkSmall(t, c)
	})
}

// jsonLines turns a CSV text into one object per line; what looks like a number
// is one.
func jsonLines(table string) string {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	header := strings.Split(lines[0], ",")
	var out []string
	for _, line := range lines[1:] {
		var fields []string
		for i, v := range strings.Split(line, ",") {
			if !json.Valid([]byte(v)) {
				v = fmt.Sprintf("%q", v)
			}
			fields = append(fields, fmt.Sprintf("%q:%s", header[i], v))
		}
		out = append(out, "{"+strings.Join(fields, ",")+"}")
	}
	return strings.Join(out, "\n")
}

func TestImportWideForm(t *testing.T) {
	c := smallImport(t, "id,xn,xy,yn,yy\na,1,0,0,0.5\nb,1,1,0,0\n", featureCSV)
	c.Outcomes.Columns = Columns{ID: "id"}
	c.Outcomes.Wide = WideForm{Value: "correct", Pairs: []WideColumn{
		{Expert: "x", Advice: "no", Column: "xn"},
		{Expert: "x", Advice: "yes", Column: "xy"},
		{Expert: "y", Advice: "no", Column: "yn"},
		{Expert: "y", Advice: "yes", Column: "yy"},
	}}
	got, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(got.Loss, smallTensor().Loss) || got.Fee != nil || got.Predictions != nil {
		t.Errorf("losses are %v", got.Loss)
	}
	put(t, c.Outcomes.File.String(), "id,xn,xy,yn,yy\na,1,0,0,0.5\na,1,1,0,0\n")
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 3, "id", "is a duplicate")
}

func TestImportScores(t *testing.T) {
	c := smallImport(t, "id,who,s\na,x,10\na,y,2\nb,x,6\nb,y,0\n", featureCSV)
	c.Outcomes.Columns = Columns{ID: "id", Expert: "who", Score: "s"}
	c.Outcomes.ScoreRange = []float64{0, 10}
	c.None, c.Fees = "", FeeTable{}
	got, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(got.Loss, []float32{0, 0.8, 0.4, 1}) || got.Actions.Name(1) != "y/none" {
		t.Errorf("losses are %v, actions %v", got.Loss, got.Actions.Names())
	}
	c.Outcomes.ScoreRange = nil
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 2, "s", "score_range")
}

func TestImportListColumn(t *testing.T) {
	c := smallImport(t, longCSV, "")
	c.Features = []FeatureTable{{File: storage.File(filepath.Join(t.TempDir(), "f.jsonl")), ID: "id", List: "v"}}
	put(t, c.Features[0].File.String(), `{"id":"a","v":[1,2.5]}`+"\n"+`{"id":"b","v":[3,-4e-1]}`)
	got, report, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(got.Features, []float32{1, 2.5, 3, -0.4}) || report.FeatureNames[1] != "v[1]" {
		t.Errorf("features are %v %v", report.FeatureNames, got.Features)
	}
	for _, bad := range []string{`[3,null]`, `[3]`, `[3,4,5]`, `[3,[4]]`, `"x"`, `[3,1e99]`, `[]`} {
		put(t, c.Features[0].File.String(), `{"id":"a","v":[1,2.5]}`+"\n"+`{"id":"b","v":`+bad+`}`)
		_, _, err := Import(context.Background(), c)
		dataerrortest.Check(t, err, c.Features[0].File.String(), 2, "v", "")
	}
}

func TestImportDropsIncomplete(t *testing.T) {
	outcomes := longCSV + "c,x,no,1,cat,0\nd,x,no,1,a,0\nd,x,yes,1,a,0\nd,y,no,1,a,0\nd,y,yes,,a,0\ne,x,no,1,a,0\ne,x,yes,1,a,0\ne,y,no,1,a,0\ne,y,yes,1,a,0\n"
	c := smallImport(t, outcomes, featureCSV)
	_, _, err := Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 0, "", `2 of 5 instances are without an outcome for every pair (c, d); 1 of 5 instances are without features (e); 4 cells are missing, first "c" x/yes`)
	c.DropIncomplete = true
	_, report, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if report.Instances != 5 || report.Kept != 2 || report.MissingCells != 4 || report.Dropped[0].Count != 2 || report.Dropped[1].Count != 1 {
		t.Errorf("report is %+v", report)
	}
	checkSmall(t, c)
}

func TestImportUnlistedAndUnavailable(t *testing.T) {
	c := smallImport(t, longCSV+"a,z,no,0,cat,0\n", featureCSV)
	c.Experts = []string{"x", "y"}
	_, _, err := Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 10, "", `expert "z" is not listed`)
	c.IgnoreUnlisted = true
	checkSmall(t, c)
	c.Unavailable = []PairName{{"y", "yes"}}
	_, _, err = Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 0, "", "listed as unavailable")
	put(t, c.Outcomes.File.String(), strings.ReplaceAll(longCSV, "y,yes", "z,yes"))
	got, report, err := Import(context.Background(), c)
	if err != nil || report.MissingCells != 0 || got.Loss[3] == got.Loss[3] {
		t.Errorf("unavailable pair: %v, %+v", err, report)
	}
}

func TestImportRefuses(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		row            int
		column, msg    string
	}{
		{"duplicate cell", "b,y,yes,1", "b,y,no,1", 9, "wrong", "is a duplicate"},
		{"no number", "b,x,no,0", "b,x,no,zero", 6, "wrong", "not a number"},
		{"NaN", "b,x,no,0", "b,x,no,nan", 6, "wrong", "is not a number"},
		{"infinite", "b,x,no,0", "b,x,no,Inf", 6, "wrong", "is not a number"},
		{"negative fee", "cat,0.25", "cat,-1", 7, "paid", "must not be negative"},
		{"no fee", "cat,0.25", "cat,", 7, "paid", "is missing"},
		{"no id", "b,x,no,0", ",x,no,0", 6, "id", "is missing"},
		{"no expert", "b,x,no,0", "b,,no,0", 6, "", "expert is missing"},
		{"too many fields", "dog,0\nb", "dog,0,7\nb", 8, "", "the row has 7 fields, the header 6"},
		{"quote", "dog,0\nb", "\"dog,0\nb", 0, "", ""},
		{"no column", "id,who", "id,whom", 0, "who", "is missing; the table has"},
		{"column twice", "answer,paid", "wrong,paid", 0, "wrong", "is a duplicate"},
		{"feature is text", "a,1,0.5", "a,one,0.5", 2, "f0", "not a number"},
		{"feature row twice", "c,3,2.5", "a,3,2.5", 4, "id", "is a duplicate"},
		{"no label", "red,héllo,cat", "red,héllo,", 2, "truth", "is missing"},
		{"unknown split", "cat,train", "cat,training", 2, "part", "map it with split.names"},
		{"nothing", longCSV, "", 0, "", "is empty"},
		{"only a header", longCSV[strings.Index(longCSV, "\n"):], "", 0, "", "has no rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, f := strings.Replace(longCSV, c.from, c.to, 1), strings.Replace(featureCSV, c.from, c.to, 1)
			if o == longCSV && f == featureCSV {
				t.Fatal("the case changes nothing")
			}
			config := smallImport(t, o, f)
			file := config.Outcomes.File
			if f != featureCSV {
				file = config.Features[0].File
			}
			_, _, err := Import(context.Background(), config)
			var data *costs.DataError
			if !errors.As(err, &data) || !strings.Contains(err.Error(), c.msg) || data.Column != c.column {
				t.Fatalf("got %v", err)
			}
			if c.row > 0 && (data.Row != c.row || data.File != file.String()) {
				t.Errorf("got %v, expected row %d of %s", err, c.row, file)
			}
		})
	}
}

func TestImportConfigNamesEveryProblem(t *testing.T) {
	c := DefaultConfig()
	c.Split.Validation = 1
	c.Outcomes.Columns.Loss, c.Outcomes.Columns.Score = "a", "b"
	err := c.Validate()
	for _, part := range []string{"outcomes.file", "columns.id", "columns.expert", "exactly one", "features is empty", "split: validation is 1"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
}

func TestImportFees(t *testing.T) {
	c := smallImport(t, longCSV, featureCSV)
	c.Fees.File = storage.File(filepath.Join(t.TempDir(), "fees.json"))
	c.Fees.Experts = map[string]float64{"x": 0.1}
	for content, msg := range map[string]string{
		`{"experts":{"x":9,"y":0},"unit":"cents"}`: "",
		`{"experts":{"x":9}}`:                      `expert "y" has no fee`,
		`{"experts":{"y":null}}`:                   `expert "y" has no fee`,
		`{"experts":{"y":-1}}`:                     "not negative",
		`[`:                                        "not a table of fees",
	} {
		put(t, c.Fees.File.String(), content)
		_, _, err := Import(context.Background(), c)
		if msg == "" && err == nil {
			checkSmall(t, c)
		} else if err == nil || !strings.Contains(err.Error(), msg) || msg == "" {
			t.Errorf("%s: %v", content, err)
		} else {
			dataerrortest.Check(t, err, c.Fees.File.String(), 0, "", msg)
		}
	}
	c.Fees = FeeTable{Experts: map[string]float64{"x": 0, "y": 0, "z": 0}}
	if _, _, err := Import(context.Background(), c); err == nil || !strings.Contains(err.Error(), `"z"`) {
		t.Errorf("unknown expert in the fees: %v", err)
	}
}

func TestImportStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Import(ctx, smallImport(t, longCSV, featureCSV)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDrawSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(t, "n")
		labels := make([]string, n)
		size := map[string]int{}
		for i := range labels {
			labels[i] = fmt.Sprint(rapid.IntRange(0, 4).Draw(t, "label"))
			size[labels[i]]++
		}
		val, test := rapid.Float64Range(0, 0.5).Draw(t, "val"), rapid.Float64Range(0, 0.4).Draw(t, "test")
		seed := rapid.Uint64().Draw(t, "seed")
		splits := costs.DrawSplits(n, labels, val, test, seed)
		if !cmp.Equal(splits, costs.DrawSplits(n, labels, val, test, seed)) {
			t.Fatal("two draws with one seed differ")
		}
		count := map[costs.Split]float64{}
		group := map[string]float64{}
		for i, s := range splits {
			count[s]++
			if s == costs.Val {
				group[labels[i]]++
			}
		}
		if d := count[costs.Val] - val*float64(n); d > 1 || d < -1 {
			t.Fatalf("%v of %d rows for a share of %v", count[costs.Val], n, val)
		}
		for label, k := range size {
			if d := group[label] - val*float64(k); d > 1 || d < -1 {
				t.Fatalf("label %s: %v of %d rows for a share of %v", label, group[label], k, val)
			}
		}
	})
}

// A wide table may hold outcomes and features alike.
func TestImportOneWideTable(t *testing.T) {
	c := smallImport(t, "id,small,large,f0,f1,f2,part\na,1,0,1,2,3,fit\nb,0,1,4,5,6,held\n", "")
	c.Outcomes.Columns = Columns{ID: "id", Split: "part"}
	c.Outcomes.Wide = WideForm{Value: "correct", Pairs: []WideColumn{{Expert: "s", Column: "small"}, {Expert: "l", Column: "large"}}}
	c.None, c.Fees = "", FeeTable{}
	c.Features = []FeatureTable{{ID: "id", Columns: []string{"f1..f2", "f0"}}}
	c.Split.Names = map[string]string{"fit": "train", "held": "test"}
	got, _, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(got.Features, []float32{2, 3, 1, 5, 6, 4}) || !cmp.Equal(got.Loss, []float32{0, 1, 1, 0}) ||
		!cmp.Equal(got.Splits, []costs.Split{costs.Train, costs.Test}) {
		t.Errorf("got %v %v %v", got.Features, got.Loss, got.Splits)
	}
}

// TestFeatureDigestIsOfColumnsNotOfRows: a policy trained on one table fits
// another with the same feature columns, and no table with others.
func TestFeatureDigestIsOfColumnsNotOfRows(t *testing.T) {
	digest := func(outcomes, features string, columns ...string) string {
		c := smallImport(t, outcomes, features)
		c.Features[0].Columns = columns
		got, _, err := Import(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		return got.Actions.Digests[costs.FeatureDigest]
	}
	a := digest(longCSV, featureCSV, "f*")
	b := digest(longCSV, strings.Replace(featureCSV, "0.5", "0.75", 1), "f*")
	c := digest(longCSV, featureCSV, "f0")
	if a == "" || a != b || a == c {
		t.Errorf("digests %q, with another value %q, with other columns %q", a, b, c)
	}
}

// Columns that are named one by one are found in a time that grows with their number, not with its square: that would
// take minutes here.
func TestImportWide(t *testing.T) {
	const columns = 200_000
	var header, row strings.Builder
	names := make([]string, columns)
	for c := range names {
		names[c] = fmt.Sprintf("a_rather_long_name_%06d", c)
		header.WriteString("," + names[c])
		row.WriteString(",1")
	}
	c := smallImport(t, "id,who,wrong\nx,a,0\n", "id"+header.String()+"\nx"+row.String()+"\n")
	c.Outcomes.Columns = Columns{ID: "id", Expert: "who", Loss: "wrong"}
	c.Features = []FeatureTable{{File: c.Features[0].File, ID: "id", Columns: names}}
	c.Fees, c.None, c.Split.Validation = FeeTable{}, "", 0
	start := time.Now()
	tensor, _, err := Import(context.Background(), c)
	if err != nil || tensor.Dim != columns {
		t.Fatal(err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func TestImportRefusesInvalidUTF8(t *testing.T) {
	c := smallImport(t, strings.Replace(longCSV, "\na,", "\nzw\xf6lf,", 1), featureCSV)
	_, _, err := Import(context.Background(), c)
	dataerrortest.Check(t, err, c.Outcomes.File.String(), 2, "id", "is not UTF-8")
}
