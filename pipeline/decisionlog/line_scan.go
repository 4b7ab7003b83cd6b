package decisionlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// readRecord reads what appendRecord wrote. The caller checks the record against its policy.
func readRecord(body []byte) (*Record, error) {
	r := &Record{}
	return r, readRecordTo(r, body, nil)
}

// readRecordTo is readRecord into an empty record, with what is remembered of the line before; nil: nothing.
func readRecordTo(r *Record, body []byte, last *repeats) error {
	s := scan{rest: body}
	r.ID = s.text(`{"id":`)
	r.Time = s.int(`,"time":`)
	r.Request = s.text(`,"request":`)
	s.part(last, callerPart, r, readCaller, takeCaller)
	s.part(last, pricesPart, r, readPrices, takePrices)
	r.Action = int(s.int(`,"action":`))
	r.Greedy = int(s.int(`,"greedy":`))
	s.part(last, propensityPart, r, readPropensity, takePropensity)
	r.ExpectedLoss = s.floats(`,"expected_loss":`)
	r.ExpectedCost = s.floats(`,"expected_cost":`)
	r.Guarded = s.bool(`,"guarded":`)
	r.Keep = s.number(`,"keep":`)
	r.Executed = int(s.int(`,"executed":`))
	r.Attempts = s.attempts()
	r.Stages = s.stages()
	s.part(last, servedPart, r, readServed, takeServed)
	r.FeaturesDigest = s.text(`,"features_digest":`)
	var memory []float32
	if last != nil {
		memory = last.features[:0]
	}
	r.Features = s.features(memory)
	if s.err == nil && len(s.rest) > 0 {
		s.fail("the end")
	}
	return s.err
}

// scan reads keys and values in the order in which lineWriter wrote them, and keeps the first error.
type scan struct {
	rest []byte
	err  error
}

func (s *scan) fail(wanted string) {
	if s.err == nil {
		s.err = fmt.Errorf("expected %s at %q", wanted, s.rest[:min(len(s.rest), 40)])
	}
	s.rest = nil
}

// has skips a text if it comes next.
func (s *scan) has(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

func (s *scan) key(text string) {
	if !s.has(text) {
		s.fail(text)
	}
}

func (s *scan) text(key string) string {
	s.key(key)
	if s.err != nil || len(s.rest) == 0 || s.rest[0] != '"' {
		s.fail("a string")
		return ""
	}
	end := 1
	for plain := true; end < len(s.rest); end++ {
		switch c := s.rest[end]; {
		case c == '\\':
			plain = false
			end++
		case c == '"' && plain:
			out := string(s.rest[1:end])
			s.rest = s.rest[end+1:]
			return out
		case c == '"':
			return s.escaped(end + 1)
		}
	}
	s.fail("the end of a string")
	return ""
}

func (s *scan) escaped(end int) (out string) {
	if err := json.Unmarshal(s.rest[:end], &out); err != nil {
		s.fail("a string")
		return ""
	}
	s.rest = s.rest[end:]
	return out
}

// token is the text until the next mark of JSON.
func (s *scan) token() []byte {
	end := 0
	for end < len(s.rest) && s.rest[end] != ',' && s.rest[end] != ']' && s.rest[end] != '}' {
		end++
	}
	out := s.rest[:end]
	s.rest = s.rest[end:]
	return out
}

func (s *scan) int(key string) int64 {
	s.key(key)
	token := s.token()
	if len(token) == 1 && token[0] >= '0' && token[0] <= '9' {
		return int64(token[0] - '0')
	}
	v, err := strconv.ParseInt(string(token), 10, 64)
	if err != nil {
		s.fail("an integer")
	}
	return v
}

func (s *scan) bool(key string) bool {
	s.key(key)
	switch {
	case s.has("true"):
		return true
	case !s.has("false"):
		s.fail("true or false")
	}
	return false
}

// number returns NaN for null.
func (s *scan) number(key string) float64 {
	s.key(key)
	return s.value(64)
}

func (s *scan) value(bits int) float64 {
	if s.has("null") {
		return math.NaN()
	}
	token := s.token()
	if len(token) == 1 && token[0] >= '0' && token[0] <= '9' { // such as most propensities
		return float64(token[0] - '0')
	}
	v, err := strconv.ParseFloat(string(token), bits)
	if err != nil || v != v || math.IsInf(v, 0) {
		s.fail("a number")
	}
	return v
}

// list calls element for each element of a list.
func (s *scan) list(key string, element func()) {
	s.key(key)
	s.key("[")
	if s.has("]") {
		return
	}
	for s.err == nil {
		element()
		if s.has("]") {
			return
		}
		s.key(",")
	}
}

func (s *scan) numbers(key string) []float64 {
	out := make([]float64, 0, 16)
	s.list(key, func() { out = append(out, s.value(64)) })
	return out
}

func (s *scan) bools(key string) []bool {
	out := make([]bool, 0, 16)
	s.list(key, func() { out = append(out, s.bool("")) })
	return out
}

// floats returns nil for null, and NaN for an element that is null.
func (s *scan) floats(key string) []float32 {
	s.key(key)
	if s.has("null") {
		return nil
	}
	out := make([]float32, 0, 16)
	s.list("", func() { out = append(out, float32(s.value(32))) })
	return out
}

func (s *scan) attempts() (out []Attempt) {
	s.list(`,"attempts":`, func() {
		a := Attempt{Action: int(s.int(`{"action":`)), Status: int(s.int(`,"status":`)), Micros: s.int(`,"us":`), Error: s.text(`,"error":`)}
		s.key("}")
		out = append(out, a)
	})
	return out
}

func (s *scan) stages() Stages {
	out := Stages{
		Decode: s.int(`,"stages_us":{"decode":`), Encode: s.int(`,"encode":`), Decide: s.int(`,"decide":`),
		Advise: s.int(`,"advise":`), Expert: s.int(`,"expert":`), FirstByte: s.int(`,"first_byte":`),
	}
	s.key("}")
	return out
}

func (s *scan) usage() Usage {
	if s.has(`,"usage":null`) {
		return Usage{}
	}
	u := Usage{Known: true, In: s.int(`,"usage":{"in":`), Cached: s.int(`,"cached":`), Out: s.int(`,"out":`)}
	s.key("}")
	return u
}

func (s *scan) shadows() (out []Shadow) {
	s.list(`,"shadows":`, func() {
		x := Shadow{Policy: s.text(`{"policy":`), Digest: s.text(`,"digest":`), Action: int(s.int(`,"action":`)), ExpectedCost: s.number(`,"expected_cost":`)}
		s.key("}")
		out = append(out, x)
	})
	return out
}

// features appends to memory, which may be nil.
func (s *scan) features(memory []float32) []float32 {
	s.key(`,"features":"`)
	end := bytes.IndexByte(s.rest, '"')
	if end < 0 {
		s.fail("the end of the features")
		return nil
	}
	text := s.rest[:end]
	if len(text) == 0 {
		s.rest = s.rest[end+1:]
		return nil
	}
	if memory == nil {
		memory = make([]float32, 0, len(text)/4*3/4)
	}
	out, ok := readFloats64(memory, text)
	if !ok {
		s.fail("features in base64")
		return nil
	}
	s.rest = s.rest[end+1:]
	return out
}
