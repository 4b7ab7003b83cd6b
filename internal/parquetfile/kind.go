package parquetfile

import "fmt"

// Kind is how values are stored.
type Kind int

// The kinds, by their numbers in the format.
const (
	Boolean Kind = iota
	Int32
	Int64
	Int96
	Float
	Double
	ByteArray
	FixedLenByteArray
)

var kindNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

// String returns the name that the format has for the kind.
func (k Kind) String() string {
	if k >= 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("number %d", int(k))
}

// Meaning is what the schema says that stored values stand for, as far as a
// reader has to know.
type Meaning uint8

// The meanings. Nothing is said of signed integers and of plain numbers.
const (
	Nothing  Meaning = iota
	Text             // strings in UTF-8
	Unsigned         // integers without a sign
	Decimal
	Date
	Time // times of day and points in time
)
