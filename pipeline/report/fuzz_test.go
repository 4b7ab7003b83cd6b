package report

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// FuzzReadReport: a report is an error, or it can be rendered in every form and is written as it was read.
func FuzzReadReport(f *testing.F) {
	for _, file := range []string{"report.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"format":1,"rows":[{"method":"ours","true_loss_mean":0.1}],"cells":[{"name":"x","experts":["a"],"advice":["b"],"true_loss":[]}]}`))
	f.Add([]byte(`{"format":1,"best_advice":[{"experts":["a"]}],"advice":[{"advice":["none"],"share":[]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, write := range []func(io.Writer) error{r.WriteText, r.WriteMarkdown, r.WriteCSV, r.WriteHTML, r.WriteFrontierCSV, r.WriteCalibrationCSV, r.WriteDisclosureCSV, r.WriteExpertCSV} {
			if err := write(io.Discard); err != nil {
				t.Fatal(err)
			}
		}
		var first, second bytes.Buffer
		if err := r.WriteJSON(&first); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(first.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := again.WriteJSON(&second); err != nil || first.String() != second.String() {
			t.Fatalf("%s\nis read as\n%s (%v)", &first, &second, err)
		}
	})
}
