package job

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
)

// URLs get the parameters of their stores, wherever they stand in the options; numbers keep all their digits, and other texts
// are not changed.
func TestOptionsWithURLs(t *testing.T) {
	type inner struct{ Paths []storage.Location }
	type all struct {
		Path  storage.Location
		Text  string
		Seed  uint64
		Inner inner
	}
	_, bucket := storagetest.New(t)
	local := filepath.Join(t.TempDir(), "rows.csv")
	text := fmt.Sprintf(`{"Path": %q, "Text": "a: b", "Seed": %d, "Inner": {"Paths": [%q, %q]}}`, bucket+"/x", uint64(math.MaxUint64), "file://"+local, local)
	options, err := withParameters([]byte(text), []storage.Location{storagetest.At(t, bucket+"/y?region=eu")})
	if err != nil {
		t.Fatal(err)
	}
	var got all
	if err := read(options, &got); err != nil {
		t.Fatal(err)
	}
	if got.Path.URL() != bucket+"/x?region=eu" || got.Path.String() != bucket+"/x" || got.Text != "a: b" || got.Seed != math.MaxUint64 || got.Inner.Paths[0].Path() != local || got.Inner.Paths[1].Path() != local {
		t.Errorf("%+v", got)
	}
	if err := read(json.RawMessage(`{"Path": 5}`), &got); err == nil {
		t.Error("a number is a path")
	}
}
