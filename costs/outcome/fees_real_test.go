package outcome

import (
	"compress/gzip"
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// TestFeesOfGSM8K computes the fee of every answer of a real log from its length in another way.
func TestFeesOfGSM8K(t *testing.T) {
	c := loadImport(t, "import-gsm8k.yaml", realdata.Folder(t))
	c.Fees.Prices = storage.File(filepath.Join(realdata.Root(t), "configs", c.Fees.Prices.Path()))
	c.Features[0].Length, c.Features[0].Text = c.Features[0].Text.names(), TextColumns{}
	got, report, err := Import(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(c.Outcomes.File.String())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	perMillion := map[string]float64{"mixtral-8x7b": 0.24, "gpt-4-1106-preview": 30}
	fees := map[string]float64{} // by id and expert
	for _, row := range rows[1:] {
		chars, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		fees[row[0]+" "+row[1]] = chars / 4 * perMillion[row[1]] / 1e6 / 0.05
	}
	for n, id := range got.IDs {
		for i, e := range got.Actions.Experts {
			expectNear(t, "fee of "+id+" "+e.Name, float64(got.Fee[2*n+i])/fees[id+" "+e.Name], 1, 1e-6)
		}
	}
	if got.Len() != 1319 || !report.MeasuredFees.Estimated {
		t.Errorf("%d rows, %+v", got.Len(), report.MeasuredFees)
	}
}
