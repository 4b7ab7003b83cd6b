package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"pipe/costs"
	"pipe/internal/strictjson"
)

const keyPrefix = "pipe."

// Metadata reads the metadata of a file that decides, such as a policy, and keeps the first error. Keys are without the prefix
// "pipe.". After an error all values are zero.
type Metadata struct {
	Values map[string]string // of the ONNX file, by key with the prefix
	err    error
}

// Err is the first error.
func (m *Metadata) Err() error { return m.err }

func (m *Metadata) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// Has reports whether there is such a key.
func (m *Metadata) Has(key string) bool {
	_, ok := m.Values[keyPrefix+key]
	return ok
}

// Text is the value of a key that must be there.
func (m *Metadata) Text(key string) string {
	if !m.Has(key) {
		m.fail("metadata has no %s%s", keyPrefix, key)
	}
	if m.err != nil {
		return ""
	}
	return m.Values[keyPrefix+key]
}

// Integer is a whole number from low to high.
func (m *Metadata) Integer(key string, low, high int) int {
	s := m.Text(key)
	v, err := strconv.Atoi(s)
	if err != nil || v < low || v > high {
		m.fail("metadata %s%s is %q, not a number from %d to %d", keyPrefix, key, s, low, high)
		return 0
	}
	return v
}

// Number is a finite number of at least 0.
func (m *Metadata) Number(key string) float64 {
	s := m.Text(key)
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 1) || math.Signbit(v) {
		m.fail("metadata %s%s is %q, not a finite number of at least 0", keyPrefix, key, s)
		return 0
	}
	return v
}

// JSON reads a value into a variable.
func (m *Metadata) JSON(key string, into any) {
	text := m.Text(key)
	if m.err != nil {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		m.fail("metadata %s%s: %w", keyPrefix, key, strictjson.Plain(err))
	}
}

// Actions are the experts and the advice; nil after an error.
func (m *Metadata) Actions() *costs.Actions {
	text := m.Text("actions")
	if m.err != nil {
		return nil
	}
	a, err := costs.ParseActions([]byte(text))
	if err != nil {
		m.fail("metadata %sactions: %w", keyPrefix, err)
		return nil
	}
	return a
}
