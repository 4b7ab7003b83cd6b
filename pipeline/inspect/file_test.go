package inspect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/featurize/tabular"
)

// TestInspectNamesEncryptedParquet: a file with an encrypted footer has a different magic number.
func TestInspectNamesEncryptedParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.parquet")
	if err := os.WriteFile(path, []byte("PARE"+strings.Repeat("x", 40)+"\x10\x00\x00\x00PARE"), 0o644); err != nil {
		t.Fatal(err)
	}
	var data *tabular.DataError
	if _, err := File(t.Context(), path, DefaultOptions()); !errors.As(err, &data) || !strings.Contains(err.Error(), "is an encrypted Parquet file") {
		t.Errorf("got %v", err)
	}
}
