package costs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pipe/internal/judge"
	"pipe/internal/storage"
	"pipe/internal/tablefile"
)

type keyedRow[T any] struct {
	ID       T         `parquet:"id"`
	Split    string    `parquet:"split"`
	Group    T         `parquet:"group"`
	Features []float32 `parquet:"features,list"`
	Loss     []float32 `parquet:"loss,list"`
}

func writeKeyed[T any](t *testing.T, keys ...T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.parquet")
	var rows []keyedRow[T]
	for i, k := range keys {
		rows = append(rows, keyedRow[T]{k, "train", keys[i/2], []float32{1, 2}, []float32{0, 1, 0, 1}})
	}
	if err := parquet.WriteFile(path, rows, parquet.KeyValueMetadata(ActionsKey, string(testActions(2, 2).JSON()))); err != nil {
		t.Fatal(err)
	}
	return path
}

// Integer ids and groups are read as decimal text, by every reader.
func TestIntegerIDs(t *testing.T) {
	for path, want := range map[string][]string{
		writeKeyed[int32](t, -7, math.MaxInt32, math.MinInt32):      {"-7", "2147483647", "-2147483648"},
		writeKeyed[int64](t, 1<<53+1, math.MinInt64, 0):             {"9007199254740993", "-9223372036854775808", "0"},
		writeKeyed[uint32](t, math.MaxUint32, 0, 1<<31):             {"4294967295", "0", "2147483648"},
		writeKeyed[uint64](t, math.MaxUint64, 1<<63, math.MaxInt64): {"18446744073709551615", "9223372036854775808", "9223372036854775807"},
	} {
		tensor, err := Read(t.Context(), storage.File(path), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if groups := []string{want[0], want[0], want[1]}; !slices.Equal(tensor.IDs, want) || !slices.Equal(tensor.Groups, groups) {
			t.Errorf("ids %q, groups %q, expected %q", tensor.IDs, tensor.Groups, want)
		}
		r, err := OpenReader(t.Context(), storage.File(path), ReadOptions{FeaturesOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		batch, err := r.Next()
		r.Close()
		if err != nil || !slices.Equal(batch.IDs, want) {
			t.Errorf("features only: %v, %v", batch, err)
		}
		table, err := tablefile.OpenText(t.Context(), storage.File(path))
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Choose("id"); err != nil {
			t.Fatal(err)
		}
		for _, id := range want {
			cells, _, err := table.Next()
			if err != nil || cells[0] != id {
				t.Errorf("table: %q, %v, expected %q", cells, err, id)
			}
		}
		table.Close()
	}
	if _, err := Read(t.Context(), storage.File(writeKeyed[int64](t, 5, 6, 5)), ReadOptions{}); err == nil || !strings.Contains(err.Error(), `row 3: column id: "5" is a duplicate, first in row 1`) {
		t.Errorf("error is %v", err)
	}
	if _, err := Read(t.Context(), storage.File(writeKeyed(t, 0.5, 1.5)), ReadOptions{}); err == nil || !strings.Contains(err.Error(), "column id: has values of type DOUBLE, expected string or integer") {
		t.Errorf("error is %v", err)
	}
}

// Ids that are not UTF-8 are refused wherever they come from.
func TestInvalidUTF8(t *testing.T) {
	const bad = "zw\xf6lf"
	says := `"zw\xf6lf" is not valid UTF-8`
	path := writeKeyed(t, "elf", bad)
	_, err := Read(t.Context(), storage.File(path), ReadOptions{})
	r, err2 := OpenReader(t.Context(), storage.File(path), ReadOptions{FeaturesOnly: true})
	if err2 != nil {
		t.Fatal(err2)
	}
	_, streamed := r.Next()
	r.Close()
	table, err2 := tablefile.Open(t.Context(), storage.File(path))
	if err2 != nil {
		t.Fatal(err2)
	}
	_ = table.Choose([]string{"id"})
	cells := make([]tablefile.Cell, 1)
	_, first := table.Next(cells)
	_, second := table.Next(cells)
	table.Close()
	tensor := testTensor(1, 2, 2, testActions(2, 2))
	tensor.IDs[1] = bad
	for reader, err := range map[string]error{"Read": err, "Reader": streamed, "table": errors.Join(first, second), "Validate": tensor.Validate()} {
		var data *DataError
		if !errors.As(err, &data) || data.Row != 2 || data.Column != "id" || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error is %v", reader, err)
		}
	}
}

// Files that pyarrow encrypted give an error that says so, with a hint.
func TestEncryptedFiles(t *testing.T) {
	py := judge.Python(t, "numpy", "pyarrow")
	dir := t.TempDir()
	judge.Run(t, py, dir, makeTable+`
import base64, pyarrow as pa, pyarrow.parquet as pq, pyarrow.parquet.encryption as pe
class KMS(pe.KmsClient):
  def __init__(self, config): pe.KmsClient.__init__(self)
  def wrap_key(self, key, master): return base64.b64encode(key).decode()
  def unwrap_key(self, key, master): return base64.b64decode(key)
t = pa.table({"id": ids, "split": split, "features": list(x), "loss": list(loss)}).replace_schema_metadata({"pipe.actions": actions})
factory = pe.CryptoFactory(lambda config: KMS(config))
for name, plain in ("whole", False), ("columns", True):
  config = pe.EncryptionConfiguration(footer_key="f", column_keys={"c": ["features.list.element"]}, plaintext_footer=plain)
  properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
  pq.write_table(t, name + ".parquet", encryption_properties=properties)
`)
	for name, says := range map[string]string{
		"whole":   "is an encrypted Parquet file, which is not read",
		"columns": "column features: is encrypted, which is not read",
	} {
		_, err := Read(t.Context(), storage.File(filepath.Join(dir, name+".parquet")), ReadOptions{})
		var data *DataError
		var hint interface{ Hint() string }
		if !errors.As(err, &data) || !strings.Contains(err.Error(), says) || !errors.As(err, &hint) || hint.Hint() == "" {
			t.Errorf("error is %v", err)
		}
	}
}

// A pipe cannot be read from its end, where the footer is.
func TestNoRegularFile(t *testing.T) {
	if _, err := Read(t.Context(), storage.File(os.DevNull), ReadOptions{}); err == nil || !strings.Contains(fmt.Sprint(err), "not a regular file") {
		t.Errorf("error is %v", err)
	}
}

// A part without rows, which other programs write, is a part of a tensor. A tensor has rows in one of its parts.
func TestEmptyPart(t *testing.T) {
	dir := t.TempDir()
	meta := parquet.KeyValueMetadata(ActionsKey, string(testActions(2, 2).JSON()))
	part := func(name string, rows ...keyedRow[string]) {
		if err := parquet.WriteFile(filepath.Join(dir, name), rows, meta); err != nil {
			t.Fatal(err)
		}
	}
	part("a.parquet")
	part("c.parquet")
	if _, err := Read(t.Context(), storage.File(dir), ReadOptions{}); err == nil || !strings.Contains(err.Error(), "has no rows") {
		t.Errorf("without a row: %v", err)
	}
	part("b.parquet", keyedRow[string]{"x", "train", "g", []float32{1, 2}, []float32{0, 1, 0, 1}})
	tensor, err := Read(t.Context(), storage.File(dir), ReadOptions{})
	if err != nil || !slices.Equal(tensor.IDs, []string{"x"}) || tensor.Actions == nil {
		t.Errorf("%v, %v", tensor, err)
	}
}
