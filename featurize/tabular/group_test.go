package tabular

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/storage"
)

// groupSchema is smallSchema with groups by a column, which may be one of the
// table.
func groupSchema(column string) *Schema {
	s := smallSchema()
	s.Group = column
	return s
}

// TestGroupsReachTheTable, whether or not their column is a feature, too.
func TestGroupsReachTheTable(t *testing.T) {
	primary := "key,bad,when,amount,n_1,n_2,kind,far,card\na,0,0,10,1,7,x,,8.0\nb,1,3600,20.5,2,7,y,1.5,v\nc,0,90000,,3,7,x,,8\nd,1,604800,40,,7,z,2.5,v\n"
	for column, want := range map[string][]string{"card": {"8", "v", "8", "v"}, "kind": {"x", "y", "x", "z"}, "n-2": {"7", "7", "7", "7"}, "": nil} {
		s := groupSchema(column)
		f, report, err := load(t, s, primary, smallJoined)
		if err != nil {
			t.Fatal(err)
		}
		ignored := []string{"card"}
		if column == "card" {
			ignored = nil
		}
		if !slices.Equal(f.Groups, want) || !slices.Equal(report.Ignored, ignored) || len(f.Columns) != 8 {
			t.Errorf("%s: groups %q, ignored %q, %d columns", column, f.Groups, report.Ignored, len(f.Columns))
		}
		path := filepath.Join(t.TempDir(), "table.parquet")
		e := mustFit(t, f, s, upTo(4))
		if err := WriteTable(context.Background(), storage.File(path), e, f, []string{"train", "val", "train", "val"}, nil); err != nil {
			t.Fatal(err)
		}
		r, err := OpenTable(t.Context(), storage.File(path))
		if err != nil {
			t.Fatal(err)
		}
		values, whole := make([]float32, 4*8), make([]float32, 0, 4*8)
		if err := r.Read(context.Background(), values, 0, 4); err != nil {
			t.Fatal(err)
		}
		b := e.bind(f)
		for n := range 4 {
			for c := range 8 {
				whole = append(whole, b.value(c, n))
			}
		}
		if !slices.Equal(r.Groups(), want) || !slices.Equal(r.Labels(), []string{"0", "1", "0", "1"}) || fmt.Sprint(values) != fmt.Sprint(whole) {
			t.Errorf("%s: groups %q, labels %q, values %v, want %v", column, r.Groups(), r.Labels(), values, whole)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestGroupsOfManyPieces are those of one piece.
func TestGroupsOfManyPieces(t *testing.T) {
	primary, _ := randomTable(rand.New(rand.NewPCG(3, 3)), 500, false)
	s := groupSchema("n_2")
	primary = fillGaps(primary, 5, "9")
	whole := mustLoad(t, s, primary, "")
	cut, _, err := loadFrame(context.Background(), s, Files{Primary: storage.File(write(t, primary))}, 100, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Groups) != whole.Len() || !slices.Equal(whole.Groups, cut.Groups) {
		t.Error("the groups differ")
	}
}

// fillGaps puts text into the empty cells of a column.
func fillGaps(table string, column int, text string) string {
	lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	for i, line := range lines {
		cells := strings.Split(line, ",")
		if cells[column] == "" {
			cells[column] = text
		}
		lines[i] = strings.Join(cells, ",")
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestGroupColumnErrors say where.
func TestGroupColumnErrors(t *testing.T) {
	for name, c := range map[string]struct{ group, primary, joined, want string }{
		"absent":     {"card", smallPrimary, smallJoined, "line 1: column card: is missing; the header has key, bad"},
		"joined":     {"own", smallPrimary, smallJoined, "are the two files swapped?"},
		"empty":      {"far", smallPrimary, smallJoined, `line 2: column far: `},
		"the id":     {"key", smallPrimary, smallJoined, "group: column key is the id or the label"},
		"same label": {"bad", smallPrimary, smallJoined, "group: column bad is the id or the label"},
	} {
		_, _, err := load(t, groupSchema(c.group), c.primary, c.joined)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	s := groupSchema("kind")
	s.Groups[0].Numeric = append(s.Groups[0].Numeric, "group")
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "column group in group \"base\": the name is reserved") {
		t.Errorf("got %v", err)
	}
}

// TestTextOfTables: every column of text is UTF-8, or the row is named.
func TestTextOfTables(t *testing.T) {
	for column, spoil := range map[string]func(f *Frame, split []string){
		columnID:    func(f *Frame, _ []string) { f.IDs[1] = "zw\xf6lf" },
		columnSplit: func(_ *Frame, split []string) { split[1] = "zw\xf6lf" },
		columnGroup: func(f *Frame, _ []string) { f.Groups[1] = "zw\xf6lf" },
	} {
		f := mustLoad(t, groupSchema("n_2"), smallPrimary, smallJoined)
		e := mustFit(t, f, groupSchema("n_2"), upTo(4))
		split := slices.Repeat([]string{"train"}, f.Len())
		spoil(f, split)
		path := writeTo(t, e, f, split)
		_, err := OpenTable(t.Context(), storage.File(path))
		if data := dataError(t, err); data.File != path || data.Row != 2 || data.Column != column || !strings.Contains(err.Error(), `"zw\xf6lf" is not valid UTF-8`) {
			t.Errorf("%s: error is %v", column, err)
		}
	}
}
