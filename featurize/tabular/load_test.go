package tabular

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pipe/internal/storage"
	"pipe/internal/textfile"
)

func TestLoadJoins(t *testing.T) {
	f, report, err := load(t, smallSchema(), smallPrimary, smallJoined)
	if err != nil {
		t.Fatal(err)
	}
	gap := nan32
	want := &Frame{
		IDs: []string{"a", "b", "c", "d"}, Labels: []int8{0, 1, 0, 1}, Time: []float64{0, 3600, 90000, 604800}, Lines: []int32{2, 3, 4, 5},
		Columns: []FrameColumn{
			{Name: "when", Numbers: []float32{0, 1, 25, 0}},
			{Name: "amount", Numbers: []float32{10, 20.5, gap, 40}},
			{Name: "n_1", Numbers: []float32{1, 2, 3, gap}},
			{Name: "n_2", Numbers: []float32{7, 7, 7, 7}},
			{Name: "kind", Categorical: true, Codes: []int32{0, 1, 0, 2}, Levels: []string{"x", "y", "z"}},
			{Name: "far", Group: 1, Numbers: []float32{gap, 1.5, gap, 2.5}},
			{Name: "place", Group: 1, Categorical: true, Codes: []int32{-1, 0, -1, 0}, Levels: []string{"490", "12"}},
			{Name: "own", Group: 1, Categorical: true, Codes: []int32{-1, 1, -1, 0}, Levels: []string{"T", "F"}},
		},
	}
	if d := cmp.Diff(want, f, cmpopts.EquateNaNs(), cmpopts.IgnoreFields(Frame{}, "File")); d != "" {
		t.Error(d)
	}
	wantReport := LoadReport{Rows: 4, Labels: map[string]int{"0": 2, "1": 2}, Joined: 3, Matched: 2, Unmatched: 1}
	if d := cmp.Diff(wantReport, report); d != "" {
		t.Error(d)
	}
}

// The same table, written in other ways, is the same frame.
func TestLoadOtherSpellings(t *testing.T) {
	want := mustLoad(t, smallSchema(), smallPrimary, smallJoined)
	header, rows, _ := strings.Cut(smallPrimary, "\n")
	for name, text := range map[string]string{
		"crlf":           strings.ReplaceAll(smallPrimary, "\n", "\r\n"),
		"bom":            "\ufeff" + smallPrimary,
		"bom and quotes": "\ufeff" + strings.ReplaceAll(smallPrimary, "key", `"key"`),
		"quotes":         strings.ReplaceAll(smallPrimary, "x", `"x"`),
		"no last end":    strings.TrimSuffix(smallPrimary, "\n"),
		"minus":          strings.ReplaceAll(header, "n_", "n-") + "\n" + rows,
		"floats":         strings.ReplaceAll(smallPrimary, ",7,", ",7.0,"),
	} {
		f, _, err := load(t, smallSchema(), text, smallJoined)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(want, f, cmpopts.EquateNaNs(), cmpopts.IgnoreFields(Frame{}, "File")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Where a file is cut and how many cores there are changes nothing.
func TestLoadDoesNotDependOnPieces(t *testing.T) {
	for _, quotes := range []bool{false, true} {
		primary, joined := randomTable(rand.New(rand.NewPCG(1, 2)), 400, quotes)
		primary = strings.Replace(primary, "\nrow7,", "\n\n\nrow7,", 1) // empty lines are no rows
		files := Files{Primary: storage.File(write(t, primary)), Joined: storage.File(write(t, joined))}
		want, wantReport, err := Load(context.Background(), smallSchema(), files, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(want.IDs) != 400 || !quotes && want.Lines[7] != 11 {
			t.Fatalf("%d rows, row 7 on line %d", len(want.IDs), want.Lines[7])
		}
		cores := runtime.GOMAXPROCS(1)
		for _, bytes := range []int64{1, 30, 100, 1000, 1 << 20} {
			runtime.GOMAXPROCS(int(bytes%3) + 1)
			got, report, err := loadFrame(context.Background(), smallSchema(), files, bytes, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got, cmpopts.EquateNaNs()) + cmp.Diff(wantReport, report); d != "" {
				t.Errorf("pieces of %d bytes: %s", bytes, d)
			}
		}
		runtime.GOMAXPROCS(cores)
	}
}

func TestLoadReportsColumns(t *testing.T) {
	primary := "key,when,n_1,extra,kind,far\na,5,1,9,,2\nb,6,2,9,,3\n"
	f, report, err := load(t, smallSchema(), primary, "key,place,zip\nz,1,2\n")
	if err != nil {
		t.Fatal(err)
	}
	want := LoadReport{
		Rows: 2, Joined: 1, Unmatched: 1, Absent: []string{"amount", "n_2", "own"}, Ignored: []string{"extra", "zip"}, Empty: []string{"kind", "place"},
	}
	if len(report.Warnings) != 1 || !strings.HasPrefix(report.Warnings[0], "no id of ") {
		t.Errorf("warnings are %q", report.Warnings)
	}
	if d := cmp.Diff(want, report, cmpopts.IgnoreFields(LoadReport{}, "Warnings")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int8{-1, -1}, f.Labels) + cmp.Diff(want.Absent, f.Absent); d != "" {
		t.Error(d)
	}
}

func TestLoadNamesThePlace(t *testing.T) {
	row := func(n int, text string) string {
		lines := strings.SplitAfter(smallPrimary, "\n")
		lines[n-1] = text + "\n"
		return strings.Join(lines, "")
	}
	for name, c := range map[string]struct {
		primary, joined string
		line            int
		column, says    string
	}{
		"empty":               {"", smallJoined, 0, "", "is empty"},
		"header only":         {"key,bad,when,far\n", smallJoined, 0, "", "has a header but no rows"},
		"joined, header only": {smallPrimary, "key,place\n", 0, "", "has a header but no rows"},
		"no id":               {strings.Replace(smallPrimary, "key", "kex", 1), smallJoined, 1, "key", "is missing; the header has kex, bad"},
		"joined has no id":    {smallPrimary, "kex,place\n", 1, "key", "is missing"},
		"swapped":             {smallJoined, smallPrimary, 1, "bad", "are the two files swapped?"},
		"swapped, no label":   {smallJoined, "key,when,far\nx,1,2\n", 1, "when", "are the two files swapped?"},
		"identities alone":    {smallJoined, "", 1, "when", `no column of group "base" is in this file, and there is no second file to join`},
		"group lost":          {"key,bad,when\n", "key,x\n", 1, "far", `no column of group "more" is in this file or in`},
		"in both":             {smallPrimary, "key,far\na,1\n", 1, "far", "is also in"},
		"twice in header":     {row(1, "key,bad,when,amount,n_1,n-1,kind,far"), "", 1, "n_1", "is a duplicate in the header: columns 5 and 6"},
		"nameless":            {row(1, "key,bad,when,,n_1,n_2,kind,far"), "", 1, "", "column 4 of the header has no name"},
		"short":               {row(3, "b,1,3600,20.5,2"), smallJoined, 3, "n_2", "the row has 5 fields, the header 8"},
		"long":                {row(4, "b,1,3600,20.5,2,7,y,1,1"), smallJoined, 4, "", "the row has 9 fields, the header 8"},
		"stray quote":         {row(4, `c,0,90000,,3,7,x"y,`), smallJoined, 4, "kind", "stray quote at byte 17"},
		"text after quote":    {row(3, `b,"1"1,3600,20.5,2,7,y,1.5`), smallJoined, 3, "bad", "stray quote"},
		"open quote":          {row(3, `b,1,3600,20.5,2,7,"y,1.5`), smallJoined, 3, "", "a quote that begins here is not closed"},
		"text":                {row(5, "d,1,604800,4O,,7,z,2.5"), smallJoined, 5, "amount", `"4O" is not a number`},
		"NaN":                 {row(5, "d,1,604800,NaN,,7,z,2.5"), smallJoined, 5, "amount", `"NaN" is not a number`},
		"infinity":            {row(5, "d,1,604800,-inf,,7,z,2.5"), smallJoined, 5, "amount", `"-inf" is not a number`},
		"too large":           {row(5, "d,1,604800,1e40,,7,z,2.5"), smallJoined, 5, "amount", `"1e40" is too large for a float32`},
		"time":                {row(2, "a,0,noon,10,1,7,x,"), smallJoined, 2, "when", `"noon" is not a number`},
		"label":               {row(3, "b,2,3600,20.5,2,7,y,1.5"), smallJoined, 3, "bad", `"2" is not a label; known are 0, 1`},
		"no label":            {row(3, "b,,3600,20.5,2,7,y,1.5"), smallJoined, 3, "bad", `"" is not a label; known are 0, 1`},
		"empty id":            {row(3, ",1,3600,20.5,2,7,y,1.5"), smallJoined, 3, "key", `"" is not an id`},
		"same id":             {row(5, "b,1,604800,40,,7,z,2.5"), smallJoined, 5, "key", `"b" is a duplicate of line 3`},
		"joined, same id":     {smallPrimary, smallJoined + "d,1,T\n", 5, "key", `"d" is a duplicate of line 2`},
		"not UTF-8":           {row(2, "a,0,0,10,1,7,\xff,"), smallJoined, 2, "kind", `"\xff" is not UTF-8`},
		"binary":              {"\x1f\x8c\x08\xff\n", smallJoined, 1, "", "is not UTF-8"},
		"gzip":                {"\x1f\x8b\x08\xff\n", smallJoined, 0, "", "is compressed by gzip"},
		"joined, zip":         {smallPrimary, "PK\x03\x04\n", 0, "", "is a ZIP archive"},
		"Parquet":             {"PAR1\x15\x04", smallJoined, 0, "", "is a Parquet file"},
		"UTF-16":              {"\xff\xfek\x00e\x00", smallJoined, 0, "", "is UTF-16"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := load(t, smallSchema(), c.primary, c.joined)
			data := dataError(t, err)
			if data.File == "" || data.Line != c.line || data.Column != c.column || !strings.Contains(data.Error(), c.says) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// A message stays readable whatever a file holds.
func TestLoadShortMessages(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	for name, primary := range map[string]string{
		"header": long + "\n1\n",
		"cell":   strings.Replace(smallPrimary, "20.5", long, 1),
		"column": strings.Replace(smallPrimary, "key", long+","+long+",key", 1),
	} {
		_, _, err := load(t, smallSchema(), primary, smallJoined)
		if err == nil || len(err.Error()) > 2000 {
			t.Errorf("%s: the message has %d bytes", name, len(fmt.Sprint(err)))
		}
	}
}

func TestLoadStrict(t *testing.T) {
	s := smallSchema()
	s.Strict = true
	_, _, err := load(t, s, strings.Replace(smallPrimary, "far", "near", 1), smallJoined)
	if data := dataError(t, err); data.Column != "near" || !strings.Contains(data.Msg, "is in no group") {
		t.Errorf("error is %v", err)
	}
}

// Of many errors the first of the file is reported, whoever finds one first.
func TestLoadReportsTheFirstError(t *testing.T) {
	primary, _ := randomTable(rand.New(rand.NewPCG(3, 4)), 300, false)
	lines := strings.Split(primary, "\n")
	for i := 120; i < 300; i += 7 {
		lines[i] = strings.Replace(lines[i], ",5,", ",five,", 1)
	}
	files := Files{Primary: storage.File(write(t, strings.Join(lines, "\n"))), Joined: storage.File(write(t, smallJoined))}
	for range 20 {
		_, _, err := loadFrame(context.Background(), smallSchema(), files, 50, nil, nil)
		if data := dataError(t, err); data.Line != 121 || data.Column != "n_2" {
			t.Fatalf("error is %v", err)
		}
	}
}

func TestLoadMissingFile(t *testing.T) {
	files := Files{Primary: storage.File(filepath.Join(t.TempDir(), "none.csv"))}
	if _, _, err := Load(context.Background(), smallSchema(), files, nil); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none.csv") {
		t.Errorf("error is %v", err)
	}
	files.Primary = storage.File(t.TempDir())
	_, _, err := Load(context.Background(), smallSchema(), files, nil)
	if !strings.Contains(err.Error(), "is a folder, not a regular file") {
		t.Errorf("error is %v", err)
	}
}

func TestLoadCancelsAndReportsProgress(t *testing.T) {
	primary, joined := randomTable(rand.New(rand.NewPCG(5, 6)), 5000, false)
	files := Files{Primary: storage.File(write(t, primary)), Joined: storage.File(write(t, joined))}
	last := 0
	f, report, err := Load(context.Background(), smallSchema(), files, func(rows int) {
		if rows < last {
			t.Errorf("progress goes from %d to %d", last, rows)
		}
		last = rows
	})
	if err != nil || last != f.Len()+report.Joined {
		t.Errorf("%d rows of progress for %d and %d: %v", last, f.Len(), report.Joined, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, _, err := Load(ctx, smallSchema(), files, func(int) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// FuzzLoad: whatever the bytes, a frame that keeps its promises or a
// *DataError; the same with other pieces.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(smallPrimary), int64(7))
	f.Add([]byte("\ufeffkey,bad,when,far\r\n1,0,,\"2\"\r\n\r\n2,1.0,3,\n"), int64(1))
	f.Add([]byte("key,far,kind\n\"a\n\",1,\"x\"\"\"\n"), int64(3))
	f.Add([]byte("key,far,kind\n\n\n\n\na\"b"), int64(2))
	f.Fuzz(func(t *testing.T, text []byte, bytes int64) {
		files := Files{Primary: storage.File(write(t, string(text)))}
		s := smallSchema()
		frame, report, err := Load(context.Background(), s, files, nil)
		again, _, errAgain := loadFrame(context.Background(), s, files, 1+bytes&63, nil, nil)
		if (err == nil) != (errAgain == nil) {
			t.Fatalf("errors %v and %v", err, errAgain)
		}
		if err != nil {
			if d := dataError(t, err); d.Error() != dataError(t, errAgain).Error() {
				t.Fatalf("errors %v and %v", err, errAgain)
			}
			return
		}
		if d := cmp.Diff(frame, again, cmpopts.EquateNaNs()); d != "" {
			t.Fatal(d)
		}
		if report.Rows != frame.Len() || frame.Len() == 0 || len(frame.Lines) != frame.Len() || len(frame.Labels) != frame.Len() {
			t.Fatalf("report %+v of %d rows", report, frame.Len())
		}
		for _, c := range frame.Columns {
			if n := len(c.Numbers) + len(c.Codes); n != frame.Len() {
				t.Fatalf("column %s has %d rows", c.Name, n)
			}
			for _, v := range c.Numbers {
				if math.IsInf(float64(v), 0) {
					t.Fatalf("column %s has an infinity", c.Name)
				}
			}
		}
	})
}

// Wide headers are checked in a time that grows with their columns, not with their square: that would take minutes here.
func TestWideHeaders(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	header := func(prefix string, columns int) string {
		var b strings.Builder
		for c := range columns {
			fmt.Fprintf(&b, ",%s_rather_long_name_%06d", prefix, c)
		}
		return b.String()
	}
	const columns = 200_000
	row := strings.Repeat(",", columns)
	primary := "key,bad,when,far" + header("a", columns) + "\nx,0,1,2" + row + "\n"
	joined := "key,kind" + header("b", columns) + "\nx,y" + row + "\n"
	start := time.Now()
	frame, report, err := load(t, smallSchema(), primary, joined)
	if err != nil || frame.Len() != 1 || len(report.Ignored) != 2*columns {
		t.Errorf("%d ignored, %v", len(report.Ignored), err)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

// TestLoadIsBounded: what the rows would take is compared with what is allowed before it is taken, for both files
// together.
func TestLoadIsBounded(t *testing.T) {
	files := Files{Primary: storage.File(write(t, smallPrimary+strings.Repeat("\n", 50_000))), Joined: storage.File(write(t, smallJoined))}
	var bad *DataError
	var fault *textfile.Fault
	_, _, err := loadFrame(t.Context(), smallSchema(), files, pieceBytes, textfile.NewMemoryBudget(100_000), nil)
	if !errors.As(err, &bad) || !errors.As(err, &fault) || bad.File != files.Primary.String() || fault.Hint() == "" {
		t.Errorf("error is %v", err)
	}
}
