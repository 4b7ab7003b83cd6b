package textfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// forever repeats a piece of text endlessly.
type forever struct {
	text string
	at   int
}

func (f *forever) Read(p []byte) (n int, _ error) {
	for n < len(p) {
		m := copy(p[n:], f.text[f.at:])
		f.at = (f.at + m) % len(f.text)
		n += m
	}
	return n, nil
}

// Text with an endless line, row, field or header is an error at its line, in bounded memory.
func TestEndless(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	const longest, most = 4 << 20, 1 << 16
	head := "id,a\n1,2\n"
	for name, c := range map[string]struct {
		head, repeat string
		line         int
		says         string
	}{
		"header":            {"", "x", 1, "longer than"},
		"names":             {"", ",", 1, "fields"},
		"row":               {head, "x", 3, "longer than"},
		"fields":            {head, "1,", 3, "fields"},
		"quoted line":       {head + "\"", "x", 3, "longer than"},
		"quoted line ends":  {head + "\"", "\n", 3, "longer than"},
		"quoted rows":       {head + "\"", "a,b\n", 3, "longer than"},
		"doubled quotes":    {head + "\"", "\"\"", 3, "longer than"},
		"fields of quotes":  {head, "\"\",", 3, "fields"},
		"carriage returns":  {"", "a\rb", 1, "longer than"},
		"zeros after a row": {head, "\x00", 3, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			before := allocated()
			endless := io.MultiReader(strings.NewReader(c.head), &forever{text: c.repeat})
			in, err := newCSV("f", within(longest, most, "f", 0, endless, ','), ',')
			for err == nil {
				_, err = in.Read()
			}
			var bad *Error
			if !errors.As(err, &bad) || bad.Line != c.line || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v", err)
			}
			if took := allocated() - before; took > 16*longest {
				t.Errorf("took %d MiB", took>>20)
			}
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// Rows of the maximum length are read, whatever comes before and after them.
func TestLongest(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	long := strings.Repeat("x", MaxLine-100)
	text := "id,a\n1,\"" + long + "\"\n2,b\n" + strings.Repeat("\n", 1000) + "3,\"c\nd\"\n"
	in, err := NewCSV("f", strings.NewReader(text), ',')
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{long, "b", "c\nd"} {
		row, err := in.Read()
		if err != nil || row[1] != want {
			t.Fatalf("%d fields, %v", len(row), err)
		}
	}
	wide := strings.Repeat("0,", MaxColumns-1) + "0\n"
	if in, err = NewCSV("f", strings.NewReader(wide+wide), ','); err != nil {
		t.Fatal(err)
	}
	if row, err := in.Read(); len(row) != MaxColumns || err != nil {
		t.Fatalf("%d fields, %v", len(row), err)
	}
	if _, err := NewCSV("f", strings.NewReader("0,"+wide), ','); err == nil {
		t.Error("a field more is read")
	}
}

func TestDecode(t *testing.T) {
	utf16le := func(s string) (out string) {
		for _, c := range s {
			out += string([]byte{byte(c), byte(c >> 8)})
		}
		return out
	}
	for name, c := range map[string]struct{ text, says string }{
		"UTF-16":               {"\xff\xfe" + utf16le("id,a\n"), "is UTF-16"},
		"UTF-16 the other way": {"\xfe\xff\x00i", "is UTF-16"},
		"UTF-16 without mark":  {utf16le("id,a\n1,é\n"), "looks like UTF-16"},
		"big without mark":     {"\x00" + utf16le("id,a\n1,2"), "looks like UTF-16"},
		"UTF-32":               {"\xff\xfe\x00\x00i\x00\x00\x00", "is UTF-32"},
		"zeros":                {strings.Repeat("\x00", 9000), "not a text file"},
		"xlsx":                 {"PK\x03\x04...", "spreadsheet"},
		"Parquet":              {"PAR1...", "is a Parquet file"},
		"zstd":                 {"\x28\xb5\x2f\xfd.", "zstd"},
		"text":                 {"id,a\n1,é\n", ""},
		"mark":                 {"\ufeffid,a\n", ""},
		"short":                {"i", ""},
		"nothing":              {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, in := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text)), zipped(t, c.text)} {
				r, err := Decode("f", in, false)
				if c.says != "" {
					if _, slow := in.(*strings.Reader); (err == nil || !strings.Contains(err.Error(), c.says)) && slow {
						t.Errorf("error is %v", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				if want := strings.TrimPrefix(c.text, "\ufeff"); string(got) != want || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			}
		})
	}
	if _, err := Decode("f.csv.gz", strings.NewReader("id\n"), false); err == nil {
		t.Error("what is not gzipped passes for a .gz file")
	}
}

func zipped(t *testing.T, text string) io.Reader {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// Damaged and truncated gzip data is an error of the file, with the line that was reached.
func TestDamagedGzip(t *testing.T) {
	whole, err := io.ReadAll(zipped(t, "id,a\n"+strings.Repeat("1,2\n", 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x55
	for name, b := range map[string][]byte{"cut": whole[:len(whole)/2], "flipped": flipped, "checksum": append(bytes.Clone(whole[:len(whole)-8]), make([]byte, 8)...)} {
		r, err := Decode("f", bytes.NewReader(b), false)
		if err != nil {
			t.Fatal(err)
		}
		lines := NewLines("f", r)
		for err == nil {
			_, err = lines.Next()
		}
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "gzip") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestDelimiters(t *testing.T) {
	for text, says := range map[string]string{
		"id;a;b\n1;0,5;2\n": "2 semicolons",
		"id\ta\n1\t2\n":     "1 tabs",
		"id|a\n1|2\n":       "1 bars",
		"id,a\r1,2\r":       "carriage return",
	} {
		_, err := NewCSV("f", strings.NewReader(text), ',')
		var fault *Fault
		if !errors.As(err, &fault) || !strings.Contains(fault.Msg, says) || fault.Hint() == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := NewCSV("f.tsv", strings.NewReader("id,a\n"), '\t'); err == nil {
		t.Error("commas in a file of tabs")
	}
	for _, text := range []string{"id,a;b\n", "only\n", "\"a\nb\",c\r\n"} {
		if _, err := NewCSV("f", strings.NewReader(text), ','); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestNotUTF8(t *testing.T) {
	for text, line := range map[string]int{"id,caf\xe9\n1,2\n": 1, "id,a\n1,2\n\n2,\xff\n": 4, "id,a\n\"x\ny\",\xff\n": 3} {
		in, err := NewCSV("f", strings.NewReader(text), ',')
		for err == nil {
			_, err = in.Read()
		}
		var bad *Error
		if !errors.As(err, &bad) || bad.Line != line || !strings.Contains(err.Error(), "not UTF-8") {
			t.Errorf("%q: %v", text, err)
		}
	}
	lines := NewLines("f", strings.NewReader("{}\n{\"a\":\"\xe9\"}\n"))
	if _, err := lines.Next(); err != nil {
		t.Fatal(err)
	}
	var bad *Error
	if _, err := lines.Next(); !errors.As(err, &bad) || bad.Line != 2 {
		t.Errorf("error is %v", err)
	}
}

// Files that are read whole have a limit, also those that do not report their size. Pipes are refused without waiting
// for them.
func TestReadFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "f")
	if err := os.WriteFile(path, []byte("12345"), 0o666); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(path, 5); string(b) != "12345" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	pipe := filepath.Join(folder, "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	var bad *Error
	for _, path := range []string{path, pipe, "/dev/zero"} {
		if b, err := ReadFile(path, 4); !errors.As(err, &bad) {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
	}
	if err := os.Truncate(path, 3<<30); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(path, MaxConfig); !errors.As(err, &bad) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
