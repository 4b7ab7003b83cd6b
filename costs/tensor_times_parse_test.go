package costs

import "testing"

func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{
		"1970-01-01T00:00:01Z": 1_000_000, "2026-01-31T13:00:00.25+01:00": 1769860800_250_000, "1769860800000000": 1769860800_000_000,
		"1769860800": -1, "2026-01-31": -1, "2026-01-31T12:00:00": -1, "": -1, "now": -1, "9223372036854775807": -1, "0000-01-01T00:00:00Z": -1,
	} {
		got, err := ParseTime(text)
		if want < 0 != (err != nil) || err == nil && got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
}
