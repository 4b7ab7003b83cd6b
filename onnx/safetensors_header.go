package onnx

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"pipe/internal/strictjson"
)

const (
	lengthBytes = 8
	// longestHeader is the limit of the format's reference library.
	longestHeader = 100_000_000
	metadataName  = "__metadata__"
)

// tensorEntry is the entry of a tensor in the header.
type tensorEntry struct {
	Type    string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"` // begin and end, from the end of the header
	dtype   DType
}

// safetensorsTypes are the element types of tensors that can be read.
var safetensorsTypes = map[string]DType{
	"BOOL": Bool, "U8": Uint8, "I8": Int8, "U16": Uint16, "I16": Int16, "U32": Uint32, "I32": Int32,
	"U64": Uint64, "I64": Int64, "F16": Float16, "BF16": BFloat16, "F32": Float32, "F64": Float64,
}

// safetensorsHeader reads the JSON text of the header.
func safetensorsHeader(src io.ReaderAt, size int64) ([]byte, error) {
	var first [lengthBytes]byte
	if size < lengthBytes {
		return nil, fmt.Errorf("%d bytes are too few for the length of the header", size)
	}
	if _, err := src.ReadAt(first[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(first[:])
	if n > longestHeader || int64(n) > size-lengthBytes {
		return nil, fmt.Errorf("the header has %d bytes, the file %d", n, size)
	}
	header := make([]byte, n)
	if _, err := src.ReadAt(header, lengthBytes); err != nil && (n > 0 || !errors.Is(err, io.EOF)) {
		return nil, err
	}
	return header, nil
}

// parseSafetensorsHeader reads entries one by one, because a map would hide duplicate names.
func parseSafetensorsHeader(text []byte) (map[string]tensorEntry, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	entries, names := map[string]tensorEntry{}, map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the keys of an object are strings
		switch {
		case names[name]:
			err = errors.New("is a duplicate")
		case name == metadataName:
			err = d.Decode(&map[string]string{}) // which nothing needs
		default:
			entries[name], err = decodeEntry(d)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		names[name] = true
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if rest := bytes.TrimLeft(text[d.InputOffset():], " "); len(rest) > 0 {
		return nil, errors.New("text after the JSON object")
	}
	return entries, nil
}

// decodeEntry reads an entry and compares its bytes with type and shape.
func decodeEntry(d *json.Decoder) (tensorEntry, error) {
	e := tensorEntry{Offsets: [2]int64{-1, -1}}
	var text json.RawMessage
	err := d.Decode(&text)
	if err == nil {
		err = strictjson.UnmarshalAll(text, &e)
	}
	if err != nil {
		return e, err
	}
	e.dtype = safetensorsTypes[e.Type]
	if e.dtype == Undefined {
		return e, fmt.Errorf("dtype %q; known are %q", e.Type, slices.Sorted(maps.Keys(safetensorsTypes)))
	}
	if e.Shape == nil {
		return e, errors.New("no shape")
	}
	n, err := elementCount(e.Shape)
	if err != nil {
		return e, err
	}
	begin, end, size := e.Offsets[0], e.Offsets[1], int64(e.dtype.Size())
	if begin < 0 || end < begin || n > math.MaxInt64/size || end-begin != n*size {
		return e, fmt.Errorf("bytes %d to %d for %s of shape %v", begin, end, e.dtype, e.Shape)
	}
	return e, nil
}

// checkLayout makes sure that the tensors fill the bytes after the header without gaps or overlaps.
func checkLayout(entries map[string]tensorEntry, size int64) error {
	names := slices.SortedFunc(maps.Keys(entries), func(a, b string) int {
		x, y := entries[a].Offsets, entries[b].Offsets
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]), cmp.Compare(a, b))
	})
	end := int64(0)
	for _, name := range names {
		e := entries[name]
		switch {
		case e.Offsets[0] < end:
			return fmt.Errorf("tensor %q overlaps the one before it at byte %d", name, e.Offsets[0])
		case e.Offsets[0] > end:
			return fmt.Errorf("a gap before tensor %q, from byte %d to %d", name, end, e.Offsets[0])
		}
		end = e.Offsets[1]
	}
	if end != size {
		return fmt.Errorf("tensors end at byte %d, the file at %d", end, size)
	}
	return nil
}
