package outcome

import (
	"context"
	"os"
	"strings"
	"testing"

	"pipe/internal/storage"
)

// FuzzImport: whatever the two tables hold, as CSV and as JSON lines, the
// import gives a valid tensor or an error.
func FuzzImport(f *testing.F) {
	f.Add(longCSV, featureCSV, false)
	f.Add(jsonLines(longCSV), jsonLines(featureCSV), true)
	f.Add("id,who,hint,wrong,answer,paid\n\"a\",x,,1e0,,0\n", "id,f0,kind,text,truth,part\na,0x1p-2,,,c,val\n", false)
	f.Add(`{"id":1,"who":"x","hint":"no","wrong":null,"answer":[],"paid":{}}`, `{"id":1,"f":[1,null]}`, true)
	f.Fuzz(func(t *testing.T, outcomes, features string, lines bool) {
		c := smallImport(t, outcomes, features)
		if lines {
			for _, file := range []*storage.Location{&c.Outcomes.File, &c.Features[0].File} {
				renamed := strings.TrimSuffix(file.Path(), ".csv") + ".jsonl"
				if err := os.Rename(file.Path(), renamed); err != nil {
					t.Fatal(err)
				}
				*file = storage.File(renamed)
			}
		}
		c.Fees = FeeTable{}
		c.Outcomes.Columns.Observed = Observed{"label": "answer", "seen": "answer", "confidence": "paid"}
		for _, missing := range []string{MissingError, MissingDrop, MissingKeep} {
			c.Missing = missing
			tensor, report, err := Import(context.Background(), c)
			if err != nil {
				continue
			}
			if err := tensor.ValidatePartial(); err != nil || missing != MissingKeep && tensor.UnknownCells() > 0 {
				t.Fatalf("imported and invalid: %v", err)
			}
			if report.Kept != tensor.Len() || missing == MissingError && report.MissingCells > 0 {
				t.Fatalf("report is %+v for %d rows", report, tensor.Len())
			}
		}
	})
}
