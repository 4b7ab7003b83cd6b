package decide

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"pipe/costs"
	"pipe/costs/identity"
	"pipe/featurize/tabular"
	"pipe/pipeline/decide/decidetest"
)

// FuzzDecideRaw feeds raw rows to the encoder of a table. The result is rows of finite numbers, as many as the policy
// takes, or an error about data that names the file.
func FuzzDecideRaw(f *testing.F) {
	e, err := tabular.ParseEncoder([]byte(decidetest.Table))
	if err != nil {
		f.Fatal(err)
	}
	x, err := identity.GroupsOf(&costs.Actions{Features: costs.FeatureSource{Name: "groups base"}}, e)
	if err != nil {
		f.Fatal(err)
	}
	table := newTableEncoder(e, x)
	for _, text := range []string{"key,amount,when,n-1\na,10,3600,x\nb,,,\n", "amount\n-5\n1e30\n", "n_1,n-1\nx,y\n", "when\n1e400\n", "other\n1\n", "amount\n1,2\n", "amount\n\"", ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &rawSource{file: "rows", csvFile: csvFile{in: io.NopCloser(nil)}, encoder: table, values: make([]float32, table.width()), scores: 2}
		_, err := s.start(bytes.NewReader(text))
		for err == nil {
			var b *rowBatch
			if b, err = s.next(t.Context()); err != nil {
				break
			}
			if len(b.ids) == 0 || len(b.features) != x.Dim()*len(b.ids) {
				t.Fatalf("%d ids and %d features", len(b.ids), len(b.features))
			}
			for _, v := range b.features {
				if !(v >= -tabular.ClipDeviations && v <= tabular.ClipDeviations) {
					t.Fatalf("a feature is %v", v)
				}
			}
		}
		var bad *costs.DataError
		if !errors.Is(err, io.EOF) && (!errors.As(err, &bad) || bad.File != "rows") {
			t.Fatal(err)
		}
	})
}
