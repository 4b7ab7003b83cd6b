package costs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"pipe/internal/dataerror/dataerrortest"
	"pipe/internal/storage"
)

// rawFile is a Parquet file that may break every rule: nil is a null.
type rawFile struct {
	meta   map[string]string
	text   map[string][]any   // scalar columns
	lists  map[string][][]any // a nil row is a null list
	double bool               // lists hold float64
	pages  bool               // every row is a page of its own
	codec  compress.Codec     // nil: none
}

// goodRaw has five rows, three features, and the actions 2 x 2.
func goodRaw() *rawFile {
	f := &rawFile{
		meta:  map[string]string{ActionsKey: string(testActions(2, 2).JSON())},
		text:  map[string][]any{},
		lists: map[string][][]any{},
	}
	for n := range 5 {
		f.text[colID] = append(f.text[colID], fmt.Sprint("id", n))
		f.text[colSplit] = append(f.text[colSplit], "train")
		f.text[colGroup] = append(f.text[colGroup], fmt.Sprint("user", n/2))
		f.lists[colFeatures] = append(f.lists[colFeatures], []any{0.5, float64(n), -1.0})
		f.lists[colLoss] = append(f.lists[colLoss], []any{0.0, 1.0, 0.25, 0.75})
		f.lists[colFee] = append(f.lists[colFee], []any{0.0, 0.0, 0.0, 0.5})
		f.lists["tokens_in"] = append(f.lists["tokens_in"], []any{nil, 5.0, math.NaN(), 7.0})
	}
	return f
}

func (f *rawFile) write(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bad.parquet")
	if err := os.WriteFile(path, f.bytes(t), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func (f *rawFile) bytes(t testing.TB) []byte {
	t.Helper()
	leaf := parquet.Leaf(parquet.FloatType)
	if f.double {
		leaf = parquet.Leaf(parquet.DoubleType)
	}
	root := parquet.Group{}
	for name := range f.text {
		root[name] = parquet.Optional(parquet.String())
	}
	for name := range f.lists {
		root[name] = parquet.Optional(parquet.List(parquet.Optional(leaf)))
	}
	options := []parquet.WriterOption{parquet.NewSchema("raw", root)}
	for k, v := range f.meta {
		options = append(options, parquet.KeyValueMetadata(k, v))
	}
	if f.codec != nil {
		options = append(options, parquet.Compression(f.codec))
	}
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[any](&buf, options...)
	columns := w.Schema().Columns()
	for i, c := range w.ColumnWriters() {
		for _, row := range f.rows(columns[i][0], i) {
			if _, err := c.WriteRowValues(row); err != nil {
				t.Fatal(err)
			}
			if f.pages {
				if err := c.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// rows returns the values of a column, row by row, with their levels.
func (f *rawFile) rows(name string, column int) [][]parquet.Value {
	var rows [][]parquet.Value
	for _, v := range f.text[name] {
		value := parquet.NullValue().Level(0, 0, column)
		if v != nil {
			value = parquet.ValueOf(v).Level(0, 1, column)
		}
		rows = append(rows, []parquet.Value{value})
	}
	for _, list := range f.lists[name] {
		rows = append(rows, f.list(list, column))
	}
	return rows
}

func (f *rawFile) list(list []any, column int) []parquet.Value {
	switch {
	case list == nil:
		return []parquet.Value{parquet.NullValue().Level(0, 0, column)}
	case len(list) == 0:
		return []parquet.Value{parquet.NullValue().Level(0, 1, column)}
	}
	var values []parquet.Value
	for i, v := range list {
		value := parquet.NullValue().Level(min(i, 1), 2, column)
		if x, ok := v.(float64); ok {
			value = parquet.FloatValue(float32(x))
			if f.double {
				value = parquet.DoubleValue(x)
			}
			value = value.Level(min(i, 1), 3, column)
		}
		values = append(values, value)
	}
	return values
}

func TestRawFileIsGood(t *testing.T) {
	for _, f := range []*rawFile{goodRaw(), {double: true}, {pages: true}} {
		good := goodRaw()
		good.double, good.pages = f.double, f.pages
		got, err := Read(t.Context(), storage.File(good.write(t)), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Len() != 5 || got.Dim != 3 || got.Features[4] != 1 || got.Fee[3] != 0.5 || got.Loss[2] != 0.25 {
			t.Errorf("read %+v", got)
		}
	}
}

// Every kind of bad content gives an error that names row and column, in Read
// and in the Reader alike, however the rows are cut into pages.
func TestReadRefusesBadContent(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(*rawFile)
		row    int
		column string
		msg    string
	}{
		{"null list", func(f *rawFile) { f.lists[colFeatures][2] = nil }, 3, "features", "is null"},
		{"first list null", func(f *rawFile) { f.lists[colFeatures][0] = nil }, 1, "features", "null"},
		{"empty list", func(f *rawFile) { f.lists[colFeatures][2] = []any{} }, 3, "features", "empty"},
		{"null element", func(f *rawFile) { f.lists[colFeatures][2][1] = nil }, 3, "features[1]", "is null"},
		{"short list", func(f *rawFile) { f.lists[colLoss][1] = f.lists[colLoss][1][1:] }, 2, "loss", "has 3 values, expected 4"},
		{"long list", func(f *rawFile) { f.lists[colLoss][1] = append(f.lists[colLoss][1], 1.0) }, 2, "loss", "has 5 values, expected 4"},
		{"last list short", func(f *rawFile) { f.lists[colLoss][4] = f.lists[colLoss][4][2:] }, 5, "loss", "has 2 values, expected 4"},
		{"last list long", func(f *rawFile) { f.lists[colLoss][4] = append(f.lists[colLoss][4], 1.0) }, 5, "loss", "has 5 values, expected 4"},
		{"short next to long", func(f *rawFile) {
			l := f.lists[colFeatures]
			l[1], l[2] = l[1][:2], append(l[2], 7.0)
		}, 2, "features", "has 2 values, expected 3"},
		{"long next to short", func(f *rawFile) {
			l := f.lists[colFeatures]
			l[1], l[2] = append(l[1], 7.0), l[2][:2]
		}, 2, "features", "has 4 values, expected 3"},
		{"NaN feature", func(f *rawFile) { f.lists[colFeatures][3][2] = math.NaN() }, 4, "features[2]", "is NaN"},
		{"infinite feature", func(f *rawFile) { f.lists[colFeatures][3][2] = math.Inf(-1) }, 4, "features[2]", "is -Inf"},
		{"NaN loss", func(f *rawFile) { f.lists[colLoss][3][1] = math.NaN() }, 4, "loss[1]", "is NaN (e0/a1)"},
		{"infinite loss", func(f *rawFile) { f.lists[colLoss][3][1] = math.Inf(1) }, 4, "loss[1]", "is +Inf"},
		{"negative fee", func(f *rawFile) { f.lists[colFee][0][3] = -0.5 }, 1, "fee[3]", "not negative"},
		{"negative tokens", func(f *rawFile) { f.lists["tokens_in"][2][1] = -1.0 }, 3, "tokens_in[1]", "not negative"},
		{"infinite seconds", func(f *rawFile) {
			f.lists["seconds"] = [][]any{{1.0, 1.0, 1.0, 1.0}, {nil, nil, nil, nil}, {0.0, math.Inf(1), 0.0, 0.0}, {nil, nil, nil, nil}, {nil, nil, nil, nil}}
		}, 3, "seconds[1]", "finite"},
		{"more cached", func(f *rawFile) {
			f.lists["tokens_cached"] = [][]any{{nil, 3.0, 0.0, 0.0}, {9.0, 5.0, 0.0, 0.0}, {0.0, 0.0, 0.0, 8.0}, nil, nil}[:3:3]
			f.lists["tokens_cached"] = append(f.lists["tokens_cached"], []any{0.0, 0.0, 0.0, 0.0}, []any{0.0, 0.0, 0.0, 0.0})
		}, 3, "tokens_cached[3]", "more than the 7 tokens"},
		{"null tokens", func(f *rawFile) { f.lists["tokens_in"][2] = nil }, 3, "tokens_in", "is null"},
		{"NaN fee", func(f *rawFile) { f.lists[colFee][0][3] = math.NaN() }, 1, "fee[3]", "is NaN"},
		{"too large for float32", func(f *rawFile) { f.double = true; f.lists[colFeatures][3][0] = 1e300 }, 4, "features[0]", "too large for a float32"},
		{"unknown split", func(f *rawFile) { f.text[colSplit][2] = "validation" }, 3, "split", "unknown split"},
		{"null split", func(f *rawFile) { f.text[colSplit][2] = nil }, 3, "split", "is null"},
		{"null id", func(f *rawFile) { f.text[colID][2] = nil }, 3, "id", "is null"},
		{"empty id", func(f *rawFile) { f.text[colID][2] = "" }, 3, "id", "is empty"},
		{"null group", func(f *rawFile) { f.text[colGroup][3] = nil }, 4, "group", "is null"},
		{"empty group", func(f *rawFile) { f.text[colGroup][3] = "" }, 4, "group", "is empty"},
		{"group of numbers", func(f *rawFile) { f.lists[colGroup] = f.lists[colLoss]; delete(f.text, colGroup) }, 0, "group", "expected string"},
		{"no column", func(f *rawFile) { delete(f.lists, colLoss) }, 0, "loss", "is missing"},
		{"list of text", func(f *rawFile) { f.text[colLoss] = f.text[colID]; delete(f.lists, colLoss) }, 0, "loss", "expected a list of float or double"},
		{"list for a text", func(f *rawFile) { f.lists[colSplit] = f.lists[colLoss]; delete(f.text, colSplit) }, 0, "split", "expected string"},
		{"no actions", func(f *rawFile) { f.meta = nil }, 0, "", "actions.json"},
		{"newer actions", func(f *rawFile) { f.meta[ActionsKey] = `{"format":2}` }, 0, ActionsKey, "newer"},
		{"unavailable pair has a loss", func(f *rawFile) {
			a := testActions(2, 2)
			a.Unavailable = []Pair{{1, 1}}
			f.meta[ActionsKey] = string(a.JSON())
		}, 1, "loss[3]", "unavailable"},
		{"null beside an absent one", func(f *rawFile) {
			a := testActions(2, 2)
			a.Unavailable = []Pair{{1, 1}}
			f.meta[ActionsKey] = string(a.JSON())
			for n := range f.lists[colLoss] {
				f.lists[colLoss][n][3] = nil
			}
			f.lists[colLoss][2][2] = nil
		}, 3, "loss[2]", "is null"},
		{"short list beside an absent one", func(f *rawFile) {
			a := testActions(2, 2)
			a.Unavailable = []Pair{{0, 1}}
			f.meta[ActionsKey] = string(a.JSON())
			for n := range f.lists[colLoss] {
				f.lists[colLoss][n][1] = nil
			}
			f.lists[colLoss][2] = f.lists[colLoss][2][:3]
		}, 3, "loss", "has 3 values, expected 4"},
		{"other dimension", func(f *rawFile) {
			a := testActions(2, 2)
			a.Features.Dim = 4
			f.meta[ActionsKey] = string(a.JSON())
		}, 1, "features", "has 3 values, expected 4"},
	} {
		for _, pages := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/pages=%t", c.name, pages), func(t *testing.T) {
				f := goodRaw()
				f.pages = pages
				c.spoil(f)
				path := f.write(t)
				_, err := Read(t.Context(), storage.File(path), ReadOptions{})
				dataerrortest.Check(t, err, path, c.row, c.column, c.msg)
				dataerrortest.Check(t, drain(path, 2), path, c.row, c.column, c.msg)
			})
		}
	}
}

// drain reads a tensor batch by batch up to its end or an error.
func drain(path string, batch int) error {
	r, err := OpenReader(context.Background(), storage.File(path), ReadOptions{BatchRows: batch})
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		if _, err := r.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestReadRefusesDuplicateIDs(t *testing.T) {
	f := goodRaw()
	f.text[colID][3] = "id1"
	path := f.write(t)
	_, err := Read(t.Context(), storage.File(path), ReadOptions{})
	dataerrortest.Check(t, err, path, 4, "id", "in row 2")
}

func TestReadRefusesOtherFiles(t *testing.T) {
	whole := goodRaw().bytes(t)
	empty := goodRaw()
	for name := range empty.text {
		empty.text[name] = empty.text[name][:0]
	}
	for name := range empty.lists {
		empty.lists[name] = empty.lists[name][:0]
	}
	for name, content := range map[string][]byte{
		"empty":          nil,
		"text":           []byte("id,split\n1,train\n"),
		"half":           whole[:len(whole)/2],
		"without end":    whole[:len(whole)-1],
		"without start":  whole[3:],
		"without rows":   empty.bytes(t),
		"only the magic": []byte("PAR1PAR1"),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.parquet")
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Read(t.Context(), storage.File(path), ReadOptions{})
			dataerrortest.Check(t, err, path, 0, "", "")
			t.Log(err)
		})
	}
}

func TestReadFolders(t *testing.T) {
	part := func(dim int, id string, actions *Actions) []byte {
		f := goodRaw()
		f.meta[ActionsKey] = string(actions.JSON())
		for n := range f.text[colID] {
			f.text[colID][n] = fmt.Sprint(id, n)
			f.lists[colFeatures][n] = f.lists[colFeatures][n][:dim]
		}
		return f.bytes(t)
	}
	a := testActions(2, 2)
	ungrouped := goodRaw()
	delete(ungrouped.text, colGroup)
	other := testActions(2, 2)
	other.Experts[1].Fee = 3
	for _, c := range []struct {
		name   string
		second []byte
		row    int
		column string
		msg    string
	}{
		{"good", part(3, "b", a), 0, "", ""},
		{"dimension", part(2, "b", a), 1, "features", "has 2 values, expected 3"},
		{"actions", part(3, "b", other), 0, ActionsKey, "differs"},
		{"group", ungrouped.bytes(t), 0, "group", "is in only one of this part"},
		{"ids", part(3, "a", a), 1, "id", "is a duplicate"},
		{"damaged", part(3, "b", a)[:99], 0, "", "not a Parquet file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			second := filepath.Join(dir, "part-1.parquet")
			for path, content := range map[string][]byte{
				filepath.Join(dir, "part-0.parquet"): part(3, "a", a), second: c.second, filepath.Join(dir, "notes.txt"): nil,
			} {
				if err := os.WriteFile(path, content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, err := Read(t.Context(), storage.File(dir), ReadOptions{})
			if c.name != "good" {
				dataerrortest.Check(t, err, second, c.row, c.column, c.msg)
			} else if err != nil || got.Len() != 10 || got.IDs[5] != "b0" {
				t.Errorf("got %v", err)
			}
		})
	}
	_, err := Read(t.Context(), storage.File(t.TempDir()), ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "no .parquet file") {
		t.Errorf("empty folder: %v", err)
	}
}

func TestActionsBesideTheFile(t *testing.T) {
	f := goodRaw()
	written := f.meta[ActionsKey]
	f.meta = nil
	path := f.write(t)
	elsewhere := filepath.Join(t.TempDir(), "mine.json")
	for _, file := range []string{elsewhere, filepath.Join(filepath.Dir(path), actionsFile)} {
		if err := os.WriteFile(file, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
		o := ReadOptions{}
		if file == elsewhere {
			o.Actions = storage.File(elsewhere)
		}
		got, err := Read(t.Context(), storage.File(path), o)
		if err != nil || string(got.Actions.JSON()) != written {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := Read(t.Context(), storage.File(path), ReadOptions{Actions: storage.File(filepath.Join(filepath.Dir(path), "gone.json"))}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing actions file: %v", err)
	}
}
