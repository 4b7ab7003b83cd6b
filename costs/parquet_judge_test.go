package costs

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/parquetfile"
	"pipe/internal/storage"
)

// judgedFile is a line of testdata/parquet_judge.py.
type judgedFile struct {
	File    string
	Columns map[string]string
	Read    map[string]string
	Skipped string
}

// Files of four writers, in all codecs, page versions and encodings, are read
// as pyarrow reads them, or refused by an error about the file. A sample runs
// by default; PIPE_PARQUET_JUDGE=all takes all of them, some minutes.
func TestParquetJudge(t *testing.T) {
	py := judge.Python(t, "pyarrow", "polars", "duckdb", "pandas", "numpy")
	script, err := filepath.Abs("testdata/parquet_judge.py")
	if err != nil {
		t.Fatal(err)
	}
	stride := "11"
	if os.Getenv("PIPE_PARQUET_JUDGE") == "all" {
		stride = "1"
	}
	dir := t.TempDir()
	judge.Run(t, py, dir, `import runpy, sys; runpy.run_path(sys.argv.pop(1))`, script, dir, stride)
	manifest, err := os.ReadFile(filepath.Join(dir, "files.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for lines := bufio.NewScanner(bytes.NewReader(manifest)); lines.Scan(); {
		var f judgedFile
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		verdict := judgeFile(t, filepath.Join(dir, f.File), &f)
		writer, _, _ := strings.Cut(f.File, "-")
		counts[verdict]++
		counts[writer+" "+verdict]++
	}
	t.Log(counts)
	if counts["right"] < 40 || counts["refused"] > counts["right"]/50 {
		t.Errorf("%d files are read right, %d refused", counts["right"], counts["refused"])
	}
}

// judgeFile reads a file with Read and with the Reader and describes the result.
func judgeFile(t *testing.T, path string, f *judgedFile) string {
	columns, err := parquetDigests(path)
	var content *parquetfile.Error
	switch {
	case f.Skipped != "":
		return "skipped by pyarrow"
	case errors.As(err, &content):
		t.Logf("%s: %v", f.File, err)
		return "refused"
	case err != nil:
		t.Errorf("%s: %v", f.File, err)
		return "failed"
	}
	for name, want := range f.Columns {
		if columns[name] != want {
			t.Errorf("%s: column %s is read wrong", f.File, name)
			return "wrong"
		}
	}
	tensor, err := Read(t.Context(), storage.File(path), ReadOptions{})
	if err != nil {
		t.Errorf("%s: %v", f.File, err)
		return "failed"
	}
	for name, got := range tensorDigests(tensor) {
		if got != f.Read[name] {
			t.Errorf("%s: %s of the tensor is read wrong", f.File, name)
			return "wrong"
		}
	}
	return "right"
}

func tensorDigests(t *Tensor) map[string]string {
	var id, features, loss bytes.Buffer
	for n := range t.Len() {
		fmt.Fprintf(&id, "%d:%s\n", len(t.IDs[n]), t.IDs[n])
		for _, c := range []struct {
			b *bytes.Buffer
			v []float32
		}{{&features, t.Row(n)}, {&loss, t.Losses(n)}} {
			words := make([]string, len(c.v))
			for i, v := range c.v {
				words[i] = fmt.Sprintf("%08x", math.Float32bits(v))
			}
			fmt.Fprintf(c.b, "[%s\n", strings.Join(words, " "))
		}
	}
	digest := func(b bytes.Buffer) string { return hexSum(b.Bytes()) }
	return map[string]string{"id": digest(id), "features": digest(features), "loss": digest(loss)}
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// parquetDigests returns the digest of every column.
func parquetDigests(path string) (map[string]string, error) {
	file, err := parquetfile.OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	digests := map[string]string{}
	for _, top := range file.Root.Children {
		leaf := top
		for !leaf.Leaf() {
			leaf = leaf.Children[0]
		}
		var b bytes.Buffer
		for g := range file.Groups() {
			pages, err := file.Pages(g, leaf)
			for err == nil {
				var p *parquetfile.Page
				if p, err = pages.Next(); err == nil {
					writePage(&b, leaf, p)
				}
			}
			if !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("column %s: %w", top.Name, err)
			}
		}
		b.WriteByte('\n')
		digests[top.Name] = hexSum(bytes.TrimPrefix(b.Bytes(), []byte("\n")))
	}
	return digests, nil
}

// writePage appends the rows of a page, each after the end of the line before.
func writePage(b *bytes.Buffer, c *parquetfile.Column, p *parquetfile.Page) {
	next := 0
	for i := range p.Len {
		def := c.MaxDef
		if p.Def != nil {
			def = int(p.Def[i])
		}
		switch listDef := listLevel(c); {
		case p.Rep != nil && p.Rep[i] == 1:
			b.WriteString(" ")
		case p.Rep != nil && def >= listDef-1:
			b.WriteString("\n[")
		default:
			b.WriteString("\n")
		}
		if def == c.MaxDef {
			b.WriteString(valueText(c, p, next))
			next++
		}
	}
}

// listLevel is the definition level of an element, null or not: the element of
// a list may itself be optional in all files here but some of pyarrow's.
func listLevel(c *parquetfile.Column) int {
	if c.Optional {
		return c.MaxDef - 1
	}
	return c.MaxDef
}

func valueText(c *parquetfile.Column, p *parquetfile.Page, i int) string {
	switch c.Kind {
	case parquetfile.Float:
		return fmt.Sprintf("%08x", math.Float32bits(p.Floats[i]))
	case parquetfile.Double:
		return fmt.Sprintf("%016x", math.Float64bits(p.Doubles[i]))
	case parquetfile.ByteArray:
		return fmt.Sprintf("%d:%s", len(p.Text(i)), p.Text(i))
	}
	return p.Text(i)
}

// A broken digest would hide errors of the reader: a changed value must change
// the digest.
func TestParquetDigestsDiffer(t *testing.T) {
	raw := goodRaw()
	before, err := parquetDigests(raw.write(t))
	if err != nil {
		t.Fatal(err)
	}
	raw.lists[colLoss][3][2] = 0.125
	after, err := parquetDigests(raw.write(t))
	if err != nil {
		t.Fatal(err)
	}
	var differ []string
	for name := range before {
		if before[name] != after[name] {
			differ = append(differ, name)
		}
	}
	if !slices.Equal(differ, []string{colLoss}) {
		t.Errorf("%v differ", differ)
	}
}
