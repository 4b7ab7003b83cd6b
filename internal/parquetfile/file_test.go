package parquetfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/pierrec/lz4/v4"
)

type row struct {
	ID    string    `parquet:"id"`
	Kind  string    `parquet:"kind,dict"`
	Delta string    `parquet:"delta,delta"`
	Count int64     `parquet:"count,delta"`
	Score float64   `parquet:"score,optional"`
	List  []float32 `parquet:"list,list"`
}

var codecs = map[string]compress.Codec{
	"none": &parquet.Uncompressed, "snappy": &parquet.Snappy, "gzip": &parquet.Gzip, "brotli": &parquet.Brotli,
	"zstd": &parquet.Zstd, "lz4": &parquet.Lz4Raw,
}

func testRows(n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{
			ID: fmt.Sprint("row ", i*7919), Kind: []string{"a", "b", ""}[i%3], Delta: fmt.Sprint("prefix", i/3), Count: int64(i * i * 1e9),
			Score: float64(i%4) / 3, List: []float32{float32(i), 0.1, -float32(i) / 7}[:i%4],
		}
	}
	return rows
}

func written(t testing.TB, codec string, version, rows int) []byte {
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b, parquet.Compression(codecs[codec]), parquet.DataPageVersion(version),
		parquet.PageBufferSize(512), parquet.MaxRowsPerRowGroup(90))
	if _, err := w.Write(testRows(rows)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// dump reads everything, as text.
func dump(b []byte) (string, error) {
	f, err := New(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, leaf := range f.leaves {
		fmt.Fprintln(&out, leaf.Name)
		for g := range f.Groups() {
			pages, err := f.Pages(g, leaf)
			for err == nil {
				var p *Page
				if p, err = pages.Next(); err == nil {
					dumpPage(&out, leaf, p)
				}
			}
			if !errors.Is(err, io.EOF) {
				return "", err
			}
		}
	}
	return out.String(), nil
}

func dumpPage(out *strings.Builder, leaf *Column, p *Page) {
	fmt.Fprintln(out, p.Rep, p.Def)
	for i := range p.Count() {
		switch leaf.Kind {
		case Float:
			fmt.Fprintln(out, p.Floats[i])
		case Double:
			fmt.Fprintln(out, p.Doubles[i])
		default:
			fmt.Fprintln(out, p.Text(i))
		}
	}
}

// Every codec gives the same values.
func TestCodecsAgree(t *testing.T) {
	for version := 1; version <= 2; version++ {
		want, err := dump(written(t, "none", version, 400))
		if err != nil || len(want) < 10000 {
			t.Fatalf("%d bytes, %v", len(want), err)
		}
		for codec := range codecs {
			if got, err := dump(written(t, codec, version, 400)); err != nil || got != want {
				t.Errorf("%s, version %d: other values, or %v", codec, version, err)
			}
		}
	}
}

// allocated returns what f allocates, in bytes, garbage included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// For any changed bytes, a file is read or refused with an *Error, and its claims allocate no more than the limits of
// this package. The bytes of a page are covered by its checksum: if one changes, the values are right or refused.
func TestDamage(t *testing.T) {
	const bound = 3*maxPageBytes + 1<<27
	r := rand.New(rand.NewPCG(1, 2))
	for codec := range codecs {
		for version := 1; version <= 2; version++ {
			good := written(t, codec, version, 40)
			want, err := dump(good)
			if err != nil {
				t.Fatal(err)
			}
			body := int64(len(good)-8) - int64(binary.LittleEndian.Uint32(good[len(good)-8:]))
			refused := 0
			const rounds = 500
			for range rounds {
				b := bytes.Clone(good)
				inBody := r.IntN(2) == 0
				for range 1 + r.IntN(3) {
					at := r.IntN(len(b))
					if inBody {
						at = r.IntN(int(body))
					}
					b[at] = byte(r.IntN(256))
				}
				var got string
				used := allocated(func() { got, err = dump(b) })
				var content *Error
				switch {
				case used > bound:
					t.Fatalf("%s: %d bytes for %d, %v", codec, used, len(b), err)
				case errors.As(err, &content):
					refused++
				case err != nil:
					t.Fatalf("%s: error of another kind: %v", codec, err)
				case inBody && got != want:
					t.Fatalf("%s, version %d: a changed page is read wrong", codec, version)
				}
			}
			if refused < rounds/4 {
				t.Errorf("%s: only %d of %d are refused", codec, refused, rounds)
			}
		}
	}
}

// Numbers in a footer or a header that claim more than there is are refused before anything is allocated for them.
func TestClaims(t *testing.T) {
	for name, b := range map[string][]byte{
		"schema of 2^31 elements":  {0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07},
		"string of 2^31 bytes":     {0x68, 0xff, 0xff, 0xff, 0xff, 0x07},
		"map of 2^60 entries":      {0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x11},
		"structures without end":   bytes.Repeat([]byte{0x1c}, 1<<20),
		"lists in lists":           bytes.Repeat([]byte{0x19}, 1<<20),
		"row groups without bytes": {0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00},
		"empty nodes":              list([]byte{0x29}, many, []byte{0}),
		"empty row groups":         list([]byte{0x49}, many, []byte{0}),
		"empty columns":            list([]byte{0x49, 0x1c, 0x19}, many, []byte{0}),
		"empty metadata":           list([]byte{0x59}, many, []byte{0}),
		"a list again and again":   bytes.Repeat(list([]byte{0x09, 0x04}, 1<<14, []byte{0}), 1<<8),
		"a node for each 16 bytes": append(list([]byte{0x29}, many/16, append([]byte{0x48, 13}, "its long name\x00"...)), 0),
		"groups that claim the rest": append(list([]byte{0x29}, many/16, append(
			binary.AppendUvarint([]byte{0x35, 0x02, 0x18, 0x06, 'n', 'e', 's', 't', 'e', 'd', 0x15}, many/8-200), 0)), 0),
	} {
		var err error
		used := allocated(func() { _, err = dump(withFooter(b)) })
		var content *Error
		if !errors.As(err, &content) || used > 1<<22+16*uint64(len(b)) {
			t.Errorf("%s: %d bytes for %d, %v", name, used, len(b), err)
		}
	}
}

// many is a number of records that a footer of a few megabytes can claim.
const many = 1 << 22

// list returns the field of a structure that is a list of n equal structures.
func list(field []byte, n int, element []byte) []byte {
	b := binary.AppendUvarint(append(field, 0xfc), uint64(n))
	return append(b, bytes.Repeat(element, n)...)
}

// withFooter returns a file without pages.
func withFooter(b []byte) []byte {
	file := append([]byte("PAR1"), b...)
	file = binary.LittleEndian.AppendUint32(file, uint32(len(b)))
	return append(file, "PAR1"...)
}

// The shortest footer that the format allows for many columns is read within the memory limit of the package.
func TestManyColumns(t *testing.T) {
	const columns = 1 << 18
	node := []byte{0x15, 0, 0x25, 0, 0x18, 1, 'a', 0}
	chunk := []byte{0x26, 0, 0x1c, 0x15, 0, 0x19, 0x15, 0, 0x19, 0x18, 1, 'a', 0x15, 0, 0x16, 0, 0x16, 0, 0x16, 0, 0x26, 8, 0, 0}
	root := binary.AppendUvarint([]byte{0x48, 1, 'r', 0x15}, 2*columns)
	footer := binary.AppendUvarint([]byte{0x15, 2, 0x19, 0xfc}, columns+1)
	footer = append(append(footer, root...), 0)
	footer = append(footer, bytes.Repeat(node, columns)...)
	footer = append(footer, 0x16, 0)
	footer = append(footer, list([]byte{0x19, 0x1c, 0x19}, columns, chunk)...)
	footer = append(footer, 0x16, 0, 0x16, 0, 0, 0)
	file := withFooter(footer)
	var f *File
	var err error
	used := allocated(func() { f, err = New(bytes.NewReader(file), int64(len(file))) })
	if err != nil || len(f.leaves) != columns || f.Groups() != 1 || used > 1<<22+16*uint64(len(footer)) {
		t.Fatalf("%d bytes for %d, %v", used, len(footer), err)
	}
}

// endless is a file of any size with nothing but its magic numbers.
type endless struct{ tail [8]byte }

func (e endless) ReadAt(b []byte, off int64) (int, error) {
	if off == 0 {
		return copy(b, "PAR1"), nil
	}
	return copy(b, e.tail[:]), nil
}

// A footer of gigabytes is refused before its memory is taken.
func TestLongFooter(t *testing.T) {
	file := endless{[8]byte{0, 0, 0, 0x40, 'P', 'A', 'R', '1'}}
	var err error
	used := allocated(func() { _, err = New(file, 1<<31) })
	var content *Error
	if !errors.As(err, &content) || content.Hint() == "" || used > 1<<16 {
		t.Errorf("%d bytes, %v", used, err)
	}
}

func TestNoParquet(t *testing.T) {
	good := written(t, "none", 2, 3)
	for says, b := range map[string][]byte{
		"is empty":                                        nil,
		"is not a Parquet file, or is truncated":          good[:len(good)/2],
		"is an encrypted Parquet file, which is not read": append(bytes.Clone(good[:len(good)-4]), "PARE"...),
	} {
		if _, err := dump(b); err == nil || err.Error() != says {
			t.Errorf("error is %v, expected %q", err, says)
		}
	}
}

// A column whose chunk is marked as encrypted is refused by name.
func TestEncryptedColumn(t *testing.T) {
	b := written(t, "none", 2, 3)
	f, err := New(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	f.groups[0].chunks[0].encrypted = true
	_, err = f.Pages(0, f.leaves[0])
	var content *Error
	if !errors.As(err, &content) || !strings.Contains(err.Error(), "is encrypted, which is not read") || content.Hint() == "" {
		t.Errorf("error is %v", err)
	}
}

// Both forms of LZ4 decode to exactly the requested length, for any bytes.
func TestLZ4(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 600 {
		plain := make([]byte, 1+n*n%5003)
		for i := range plain {
			plain[i] = byte(r.IntN(1 + n%256))
		}
		block := make([]byte, lz4.CompressBlockBound(len(plain)))
		size, err := lz4.CompressBlock(plain, block, nil)
		if err != nil || size == 0 {
			t.Fatal(size, err)
		}
		block = block[:size]
		framed := binary.BigEndian.AppendUint32(nil, uint32(len(plain)))
		framed = append(binary.BigEndian.AppendUint32(framed, uint32(size)), block...)
		for name, decode := range map[string]func() ([]byte, error){
			"raw":    func() ([]byte, error) { return LZ4Raw.decompress(nil, block, len(plain)) },
			"framed": func() ([]byte, error) { return LZ4.decompress(nil, framed, len(plain)) },
			"two frames": func() ([]byte, error) {
				both, err := LZ4.decompress(nil, append(bytes.Clone(framed), framed...), 2*len(plain))
				return both[:len(both)/2], err
			},
			"arrow's": func() ([]byte, error) { return LZ4.decompress(nil, block, len(plain)) },
		} {
			if got, err := decode(); err != nil || !bytes.Equal(got, plain) {
				t.Fatalf("%s, %d bytes: wrong, or %v", name, len(plain), err)
			}
		}
		for _, wrong := range []int{len(plain) - 1, len(plain) + 1} {
			if _, err := LZ4Raw.decompress(nil, block, wrong); err == nil {
				t.Fatalf("%d bytes decode to %d", len(plain), wrong)
			}
		}
		spoiled := bytes.Clone(block)
		spoiled[r.IntN(size)] ^= 1 << r.IntN(8)
		if got, err := LZ4Raw.decompress(nil, spoiled, len(plain)); err == nil && len(got) != len(plain) {
			t.Fatalf("%d bytes, expected %d", len(got), len(plain))
		}
	}
}

// A length other than the header's is refused by every codec.
func TestWrongLength(t *testing.T) {
	plain := bytes.Repeat([]byte("some text, "), 100)
	numbers := map[string]Codec{"snappy": Snappy, "gzip": Gzip, "brotli": Brotli, "zstd": Zstd, "lz4": LZ4Raw}
	for name, codec := range numbers {
		packed, err := codecs[name].Encode(nil, plain)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{0, 1, len(plain) - 1, len(plain) + 1, 1 << 20, maxPageBytes} {
			if b, err := codec.decompress(nil, packed, size); err == nil {
				t.Errorf("%s: %d bytes for %d", name, len(b), size)
			}
		}
		if b, err := codec.decompress(make([]byte, 3), packed, len(plain)); err != nil || !bytes.Equal(b, plain) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzNew: for any bytes, a file is read, with the same result twice, or refused.
func FuzzNew(f *testing.F) {
	for codec := range codecs {
		f.Add(written(f, codec, 1, 5))
		f.Add(written(f, codec, 2, 5))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := dump(b)
		second, again := dump(b)
		if first != second || fmt.Sprint(err) != fmt.Sprint(again) {
			t.Fatalf("two readings differ: %v, %v", err, again)
		}
		var content *Error
		if err != nil && !errors.As(err, &content) {
			t.Fatalf("error of another kind: %v", err)
		}
	})
}
