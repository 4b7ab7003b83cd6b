package parquetfile

import (
	"errors"
	"fmt"
	"math"
)

// IsTimestamp reports whether a leaf has points in time that Micros converts.
func (c *Column) IsTimestamp() bool {
	return c.Meaning == Timestamp && c.Unit != UnknownUnit && (c.Kind == Int64 || c.Kind == Int96)
}

// FindTime returns the column of values at or below a top-level column of points in time: timestamps in UTC, or plain
// int64. INT96 is in UTC, as Spark writes it. The error states what to do about other types. Timestamps without a time zone are refused, because the same
// number is a different time in each place.
func (c *Column) FindTime() (*Column, error) {
	const wanted = "a timestamp in UTC, or int64 microseconds since 1970"
	c, _, err := c.onlyLeaf(false, wanted)
	switch {
	case err != nil:
		return nil, err
	case c.IsTimestamp() && c.UTC:
		return c, nil
	case c.IsTimestamp():
		return nil, errors.New("holds timestamps without a time zone; write them in UTC " +
			`(pandas: .dt.tz_localize("UTC"), polars: .dt.replace_time_zone("UTC"), DuckDB: timezone('UTC', column))`)
	case c.Meaning == Nothing && c.Kind == Int64:
		return c, nil
	}
	return nil, fmt.Errorf("has values of type %s, expected %s", c.Kind, wanted)
}

// Micros converts a value of a column that FindTime returned to microseconds since 1970-01-01 UTC. Nanoseconds are
// rounded down. Plain integers are microseconds already.
func (c *Column) Micros(v int64) (int64, error) {
	switch c.Unit {
	case Millisecond:
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return 0, fmt.Errorf("%d milliseconds are beyond the years that can be stored", v)
		}
		return v * 1000, nil
	case Nanosecond:
		micros := v / 1000
		if v%1000 < 0 {
			micros--
		}
		return micros, nil
	}
	return v, nil
}
