package jpegturbo

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

const most = 100_000_000

// testLibrary is the library for tests, which are skipped where it is missing,
// except under CI.
func testLibrary(t testing.TB) *Library {
	t.Helper()
	l, err := Open("")
	var missing *MissingLibraryError
	if errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// photo is a JPEG file of smooth colours.
func photo(t testing.TB, w, h int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{R: uint8(x), G: uint8(y), B: uint8(x + y), A: 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// without is a JPEG file that lacks the segments of a marker.
func without(t *testing.T, file []byte, marker byte) []byte {
	t.Helper()
	out, rest := slices.Clone(file[:2]), file[2:]
	for rest[1] != 0xda {
		size := 2 + int(rest[2])<<8 + int(rest[3])
		if rest[1] != marker {
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	if out = append(out, rest...); len(out) == len(file) {
		t.Fatalf("no marker %#x", marker)
	}
	return out
}

// TestEarlierFilesLeaveNothing: the tables of a file are not used for the next
// one, which may lack its own.
func TestEarlierFilesLeaveNothing(t *testing.T) {
	l := testLibrary(t)
	const quantisation, huffman = 0xdb, 0xc4
	file := photo(t, 40, 30)
	standard, err := l.Decode(without(t, file, huffman), most) // Go's encoder writes the standard tables
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		p, err := l.Decode(file, most)
		if err != nil || !slices.Equal(p.Pix, standard.Pix) {
			t.Fatalf("differs, %v", err)
		}
		if _, err := l.Decode(without(t, file, quantisation), most); err == nil || !strings.Contains(err.Error(), "Quantization table 0x00 was not defined") {
			t.Errorf("without tables: %v", err)
		}
	}
}

func TestDecode(t *testing.T) {
	l := testLibrary(t)
	for _, size := range [][2]int{{1, 1}, {8, 8}, {17, 33}, {200, 100}} {
		p, err := l.Decode(photo(t, size[0], size[1]), most)
		if err != nil {
			t.Fatal(err)
		}
		if p.Width != size[0] || p.Height != size[1] || p.Inks || len(p.Pix) != 3*size[0]*size[1] {
			t.Errorf("%v: %d x %d, inks %v, %d values", size, p.Width, p.Height, p.Inks, len(p.Pix))
		}
		last := p.Pix[len(p.Pix)-3:]
		for c, want := range []int{size[0] - 1, size[1] - 1, (size[0] + size[1] - 2) % 256} {
			if d := int(last[c]) - want; d < -12 || d > 12 {
				t.Errorf("%v: the last pixel is %v", size, last)
			}
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	l := testLibrary(t)
	whole := photo(t, 200, 100)
	for name, c := range map[string]struct {
		file []byte
		most int
		want string
	}{
		"empty":      {nil, most, "empty"},
		"html":       {[]byte("<html></html>"), most, "Not a JPEG file"},
		"header":     {whole[:20], most, "truncated"},
		"half":       {whole[:len(whole)/2], most, "truncated"},
		"two pixels": {whole, 200*100 - 1, "200 x 100 pixels"},
	} {
		_, err := l.Decode(c.file, c.most)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if errors.Is(err, ErrTruncated) != (c.want == "truncated") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDecodeDamaged: a photo with a byte too many, which the library goes on
// over, is truncated all the same where it ends early.
func TestDecodeDamaged(t *testing.T) {
	l := testLibrary(t)
	whole := photo(t, 200, 100)
	tables := bytes.Index(whole, []byte{0xff, 0xc4})
	damaged := slices.Insert(bytes.Clone(whole), tables, 0x11)
	if _, err := l.Decode(damaged, most); err != nil {
		t.Errorf("with a byte too many: %v", err)
	}
	for _, n := range []int{len(damaged) / 2, len(damaged) - 2} {
		if _, err := l.Decode(damaged[:n], most); !errors.Is(err, ErrTruncated) {
			t.Errorf("with a byte too many, and %d of %d bytes: %v", n, len(damaged), err)
		}
	}
}

// TestDecodeSideBySide: many goroutines, good and bad files mixed, and
// everyone gets the pixels and the error of the own file.
func TestDecodeSideBySide(t *testing.T) {
	l := testLibrary(t)
	whole := photo(t, 300, 200)
	want, err := l.Decode(whole, most)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 * runtime.NumCPU() {
		wg.Go(func() {
			for range 20 {
				p, err := l.Decode(whole, most)
				if err != nil || !bytes.Equal(p.Pix, want.Pix) {
					t.Error("other pixels", err)
				}
				if _, err := l.Decode(whole[:2000], most); !errors.Is(err, ErrTruncated) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestErrorBehindWarning: a warning does not hide the error that comes after it,
// which leaves no picture.
func TestErrorBehindWarning(t *testing.T) {
	l := testLibrary(t)
	file := without(t, photo(t, 40, 30), 0xdb)
	file = slices.Insert(file, 2, 0x11) // a byte too many is a warning
	if p, err := l.Decode(file, most); err == nil || !strings.Contains(err.Error(), "Quantization table 0x00 was not defined") {
		t.Errorf("a picture: %t, error %v", p != nil, err)
	}
}

// FuzzDecode: whatever the bytes, an error or all the pixels.
func FuzzDecode(f *testing.F) {
	l := testLibrary(f)
	whole := photo(f, 40, 30)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := l.Decode(b, 1<<20)
		if err != nil {
			return
		}
		channels := 3
		if p.Inks {
			channels = 4
		}
		if len(p.Pix) != channels*p.Width*p.Height {
			t.Errorf("%d x %d pixels in %d values", p.Width, p.Height, len(p.Pix))
		}
	})
}
