package parquetfile

import (
	"encoding/binary"
	"math"
)

// oldTimes reads n timestamps of INT96: the nanosecond of the day in 8 bytes, and the number of the day, counted as
// astronomers do, in 4. Parts of a microsecond are cut off.
func (v *Values) oldTimes(b []byte, n int) error {
	const day1970, microsPerDay = 2440588, 24 * 3600 * 1_000_000
	v.Ints = sized(v.Ints, int64(n))
	for i := range v.Ints {
		nanos := binary.LittleEndian.Uint64(b[12*i:])
		day := int64(binary.LittleEndian.Uint32(b[12*i+8:])) - day1970
		if nanos >= 1000*microsPerDay || day >= math.MaxInt64/microsPerDay || day <= math.MinInt64/microsPerDay {
			return unread("write such times as null", "has a time that is none: nanosecond %d of day %d since 1970", nanos, day)
		}
		v.Ints[i] = day*microsPerDay + int64(nanos/1000)
	}
	return nil
}
