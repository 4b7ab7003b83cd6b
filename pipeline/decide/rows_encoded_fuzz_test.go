package decide

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
)

// lengthEncoder encodes a string as its length, and refuses strings with an exclamation mark.
func lengthEncoder(most int) fieldEncoder {
	return fieldEncoder{
		input: InputText, field: "claim", dim: 1, most: most,
		encode: func(_ context.Context, dst []float32, values []string) error {
			for i, v := range values {
				if dst[i] = float32(len(v)); strings.Contains(v, "!") {
					return &RowError{Row: i, Err: errors.New("shouts")}
				}
			}
			return nil
		},
	}
}

// FuzzDecideEncoded feeds texts as CSV and JSONL to a policy with an encoder. The result is rows of one feature, the
// length of the text, the same for any batch size, or an error about data that names the file.
func FuzzDecideEncoded(f *testing.F) {
	for _, text := range []string{"id,claim\na,x y\n,z\n", "claim\n\"a\nb\"\n", "{\"id\":7,\"claim\":\"x\",\"k\":[]}\n{\"claim\":\"y\"}", "{\"claim\":null}", "id\na\n", "claim\na!\n", ""} {
		f.Add([]byte(text), false)
		f.Add([]byte(text), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, lines bool) {
		in := rowFile{path: storage.File("-"), format: formatCSV}
		if lines {
			in.format = formatJSONL
		}
		decided := func(most int) (ids []string, features []float32, err error) {
			s := &encodedSource{file: "rows", encoder: lengthEncoder(most)}
			if err := s.start(t.Context(), bufio.NewReader(bytes.NewReader(text)), in); err != nil {
				return nil, nil, err
			}
			for {
				b, err := s.next(t.Context())
				if errors.Is(err, io.EOF) {
					return ids, features, nil
				}
				if err != nil {
					return ids, features, err
				}
				if len(b.ids) == 0 || len(b.ids) > most || len(b.features) != len(b.ids) {
					t.Fatalf("%d ids and %d features", len(b.ids), len(b.features))
				}
				ids, features = append(ids, b.ids...), append(features, b.features...)
			}
		}
		ids, features, err := decided(2)
		all, same, err2 := decided(1 << 10)
		var bad *costs.DataError
		if (err == nil) != (err2 == nil) || err != nil && (!errors.As(err, &bad) || bad.File != "rows" || bad.Error() == "") {
			t.Fatalf("%v, and in one batch %v", err, err2)
		}
		if err == nil && (!slices.Equal(ids, all) || !slices.Equal(features, same)) {
			t.Fatalf("%q %v, and in one batch %q %v", ids, features, all, same)
		}
	})
}
