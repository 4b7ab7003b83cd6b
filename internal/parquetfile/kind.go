package parquetfile

import "fmt"

// Kind is the physical type of values.
type Kind int

// The kinds, by their numbers in the format.
const (
	Boolean Kind = iota
	Int32
	Int64
	Int96 // old timestamps, whose Values are microseconds since 1970
	Float
	Double
	ByteArray
	FixedLenByteArray
)

var kindNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

// String returns the name of the kind in the format.
func (k Kind) String() string {
	if k >= 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("number %d", int(k))
}

// Meaning is the logical type of stored values, as far as readers need it.
type Meaning uint8

// The meanings. Signed integers and plain numbers have none.
const (
	Nothing  Meaning = iota
	Text             // strings in UTF-8
	Unsigned         // integers without a sign
	Decimal
	Date
	Time      // times of day
	Timestamp // points in time, counted in a TimeUnit
)

// TimeUnit is the unit in which a column counts points in time.
type TimeUnit uint8

// The units of the format. A timestamp without one of these, from a newer format, has UnknownUnit.
const (
	UnknownUnit TimeUnit = iota
	Millisecond
	Microsecond
	Nanosecond
)
