package parquetfile

import "fmt"

// encoding is how the values of a page are written.
type encoding int64

// The encodings, by their numbers in the format.
const (
	plain           encoding = 0
	plainDictionary encoding = 2
	rle             encoding = 3
	deltaPacked     encoding = 5
	deltaLength     encoding = 6
	deltaBytes      encoding = 7
	rleDictionary   encoding = 8
	streamSplit     encoding = 9
)

func (e encoding) String() string {
	names := [...]string{
		"PLAIN", "", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY",
		"DELTA_BYTE_ARRAY", "RLE_DICTIONARY", "BYTE_STREAM_SPLIT",
	}
	if e >= 0 && int(e) < len(names) && names[e] != "" {
		return names[e]
	}
	return fmt.Sprintf("number %d", int64(e))
}
