package bm25

import (
	"bytes"
	"fmt"
	"testing"

	"pipe/internal/storage"
)

// FuzzPieces: however long the pieces of a file of pages are, together they are the file, each begins with a whole line whose
// number it has, and the lines that are not blank are the same.
func FuzzPieces(f *testing.F) {
	f.Add([]byte("{\"id\": \"a\"}\n\n{\"id\": \"b\"}\r\n"), byte(3))
	f.Add([]byte("\n\n \nx"), byte(1))
	f.Add([]byte(""), byte(0))
	f.Fuzz(func(t *testing.T, b []byte, length byte) {
		read := func(length int) (lines []string) {
			var all, sum bytes.Buffer
			s := &source{files: storage.Files("f")}
			more, err := s.pieces(t.Context(), bytes.NewReader(b), 0, 1, length, &sum, func(p piece) bool {
				if at := 1 + bytes.Count(all.Bytes(), newline); p.line != at || all.Len() > 0 && !bytes.HasSuffix(all.Bytes(), newline) {
					t.Fatalf("a piece begins on line %d, not %d", p.line, at)
				}
				all.Write(p.data)
				if err := p.lines(func(line int, text []byte) error {
					lines = append(lines, fmt.Sprintf("%d %s", line, text))
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				return true
			})
			if err != nil || !more || !bytes.Equal(all.Bytes(), b) || !bytes.Equal(sum.Bytes(), b) {
				t.Fatalf("%q is read as %q (%v)", b, &all, err)
			}
			return lines
		}
		if some, whole := read(1+int(length)), read(len(b)+1); fmt.Sprint(some) != fmt.Sprint(whole) {
			t.Fatalf("%q, in one piece %q", some, whole)
		}
	})
}
