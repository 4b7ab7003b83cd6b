package parquetfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Values are decoded values of one kind, without nulls.
type Values struct {
	kind     Kind
	unsigned bool
	// Floats are the values of a FLOAT column, Doubles those of a DOUBLE column, Ints those of columns of booleans (0,
	// 1) and of integers; unsigned 64-bit integers keep their bits. INT96 values are microseconds since 1970.
	Floats  []float32
	Doubles []float64
	Ints    []int64
	// Strings: either one after the other in all, or as places in a dictionary.
	all   string
	ends  []int
	dict  *Values
	index []int32
}

// Count returns the number of values.
func (v *Values) Count() int {
	switch v.kind {
	case Float:
		return len(v.Floats)
	case Double:
		return len(v.Doubles)
	case ByteArray:
		if v.dict != nil {
			return len(v.index)
		}
		return len(v.ends)
	}
	return len(v.Ints)
}

// Text returns string i of a BYTE_ARRAY column, or number i of a column of
// integers in decimal.
func (v *Values) Text(i int) string {
	switch {
	case v.kind != ByteArray && v.unsigned:
		return strconv.FormatUint(uint64(v.Ints[i]), 10)
	case v.kind != ByteArray:
		return strconv.FormatInt(v.Ints[i], 10)
	case v.dict != nil:
		return v.dict.Text(int(v.index[i]))
	case i == 0:
		return v.all[:v.ends[0]]
	}
	return v.all[v.ends[i-1]:v.ends[i]]
}

// Dictionary returns the dictionary that the strings of a page come from, and the place of each; nil if the page has none.
// Pages of one column in one row group share their dictionary.
func (v *Values) Dictionary() (dict *Values, index []int32) { return v.dict, v.index }

// look takes values from a dictionary. Strings stay in the dictionary.
func (v *Values) look(dict *Values, index []int32) {
	switch v.kind {
	case Float:
		v.Floats = gather(v.Floats, dict.Floats, index)
	case Double:
		v.Doubles = gather(v.Doubles, dict.Doubles, index)
	case ByteArray:
		v.dict, v.index = dict, index
	default:
		v.Ints = gather(v.Ints, dict.Ints, index)
	}
}

func gather[T any](values, table []T, index []int32) []T {
	values = sized(values, int64(len(index)))
	for i, x := range index {
		values[i] = table[x]
	}
	return values
}

// decode reads n values, which must use all bytes of b.
func (v *Values) decode(b []byte, n int, e encoding) error {
	var err error
	switch {
	case e == plain:
		return v.decodePlain(b, n)
	case e == streamSplit && v.width() > 0:
		if b, err = unsplit(b, n, v.width()); err != nil {
			return err
		}
		return v.decodePlain(b, n)
	case e == deltaPacked && (v.kind == Int32 || v.kind == Int64):
		if v.Ints, _, err = deltas(v.Ints, b, n, 8*v.width()); err != nil {
			return err
		}
		v.sign()
		return nil
	case e == deltaLength && v.kind == ByteArray:
		return v.deltaLengths(b, n)
	case e == deltaBytes && v.kind == ByteArray:
		return v.deltaStrings(b, n)
	case e == rle && v.kind == Boolean:
		return v.truthRuns(b, n)
	}
	return unread(rewrite, "has %s values in encoding %s, which is not read", v.kind, e)
}

// width is the number of bytes per value, 0 if it varies.
func (v *Values) width() int {
	switch v.kind {
	case Int32, Float:
		return 4
	case Int64, Double:
		return 8
	case Int96:
		return 12
	}
	return 0
}

func (v *Values) decodePlain(b []byte, n int) error {
	if width := v.width(); width > 0 && len(b) != n*width {
		return fmt.Errorf("%d values of %d bytes in %d", n, width, len(b))
	}
	switch v.kind {
	case Float:
		v.Floats = sized(v.Floats, int64(n))
		for i := range v.Floats {
			v.Floats[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	case Double:
		v.Doubles = sized(v.Doubles, int64(n))
		for i := range v.Doubles {
			v.Doubles[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case Int32:
		v.Ints = sized(v.Ints, int64(n))
		for i := range v.Ints {
			v.Ints[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		}
		v.sign()
	case Int64:
		v.Ints = sized(v.Ints, int64(n))
		for i := range v.Ints {
			v.Ints[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case Int96:
		return v.oldTimes(b, n)
	case Boolean:
		if len(b) != (n+7)/8 {
			return fmt.Errorf("%d bits in %d bytes", n, len(b))
		}
		v.Ints = sized(v.Ints, int64(n))
		for i := range v.Ints {
			v.Ints[i] = int64(b[i/8] >> (i % 8) & 1)
		}
	case ByteArray:
		return v.lengthPrefixed(b, n)
	}
	return nil
}

// sign converts 32-bit unsigned integers, which are stored as signed.
func (v *Values) sign() {
	if v.kind == Int32 && v.unsigned {
		for i, x := range v.Ints {
			v.Ints[i] = int64(uint32(x))
		}
	}
}

// unsplit joins the bytes of each value, which BYTE_STREAM_SPLIT stores apart.
func unsplit(b []byte, n, width int) ([]byte, error) {
	if len(b) != n*width {
		return nil, fmt.Errorf("%d values of %d bytes in %d", n, width, len(b))
	}
	joined := make([]byte, len(b))
	for k := range width {
		for i, x := range b[k*n : (k+1)*n] {
			joined[i*width+k] = x
		}
	}
	return joined, nil
}

// truthRuns reads booleans in runs, after their length in four bytes.
func (v *Values) truthRuns(b []byte, n int) error {
	if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
		return errors.New("its runs end early")
	}
	bits := make([]byte, n)
	if err := unpackRuns(bits, b[4:4+binary.LittleEndian.Uint32(b)], 1); err != nil {
		return err
	}
	v.Ints = sized(v.Ints, int64(n))
	for i, x := range bits {
		v.Ints[i] = int64(x)
	}
	return nil
}
