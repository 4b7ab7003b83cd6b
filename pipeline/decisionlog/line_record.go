package decisionlog

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// appendRecord writes a record that was checked. The keys have a fixed order, which readRecord relies on.
func appendRecord(dst []byte, r *Record) []byte { return appendRecordWith(dst, r, &prices{}) }

// appendRecordWith is appendRecord with what is remembered of the last record.
func appendRecordWith(dst []byte, r *Record, last *prices) []byte {
	from := len(dst)
	b := lineWriter{dst}
	b.text(`{"id":`, r.ID)
	b.int(`,"time":`, r.Time)
	b.text(`,"request":`, r.Request)
	b.text(`,"source":`, r.Source)
	b.text(`,"client":`, r.Client)
	b.text(`,"user":`, r.User)
	last.append(&b, r)
	b.int(`,"action":`, int64(r.Action))
	b.int(`,"greedy":`, int64(r.Greedy))
	if r.OwnPropensity != nil {
		b.numbers(ownKey, r.OwnPropensity)
	}
	b.numbers(`,"propensity":`, r.Propensity)
	b.floats(`,"expected_loss":`, r.ExpectedLoss, r.Available)
	b.floats(`,"expected_cost":`, r.ExpectedCost, r.Available)
	b.bool(`,"guarded":`, r.Guarded)
	b.number(`,"keep":`, r.Keep)
	b.int(`,"executed":`, int64(r.Executed))
	b.attempts(r.Attempts)
	b.stages(r.Stages)
	b.usage(r.Usage)
	b.text(`,"model":`, r.Model)
	fee := r.Fee
	if !r.FeeKnown {
		fee = math.NaN()
	}
	b.number(`,"fee":`, fee)
	b.text(`,"price_date":`, r.PriceDate)
	b.shadows(r.Shadows)
	b.text(`,"error":`, cut(r.Error))
	b.text(`,"features_digest":`, r.FeaturesDigest)
	b.features(r.Features)
	return seal(b.dst, from)
}

// Keys that lines may lack. None is the last one of a part of [repeats].
const (
	pairFeesKey = `,"pair_fees":`      // few requests have such fees
	shareKey    = `,"share":`          // lines of earlier versions, whose share is not known
	ownKey      = `,"own_propensity":` // few policies have a canary
)

// lineWriter appends keys with their values.
type lineWriter struct{ dst []byte }

// prices writes the policy, its prices, and the pairs that are available.
func (b *lineWriter) prices(r *Record) {
	b.text(`,"policy":`, r.Policy)
	b.text(`,"digest":`, r.Digest)
	b.bool(`,"canary":`, r.Canary)
	if r.Share != ShareUnknown {
		b.number(shareKey, r.Share)
	}
	b.number(`,"lambda":`, r.Lambda)
	b.numbers(`,"expert_fees":`, r.ExpertFees)
	b.numbers(`,"advice_fees":`, r.AdviceFees)
	if r.hasPairFees() {
		b.numbers(pairFeesKey, r.PairFees)
	}
	b.bools(`,"available":`, r.Available)
}

func (b *lineWriter) text(key, s string) {
	b.dst = appendText(append(b.dst, key...), s)
}

func (b *lineWriter) int(key string, v int64) {
	b.dst = strconv.AppendInt(append(b.dst, key...), v, 10)
}

func (b *lineWriter) bool(key string, v bool) {
	b.dst = strconv.AppendBool(append(b.dst, key...), v)
}

// number writes null for NaN.
func (b *lineWriter) number(key string, v float64) {
	b.dst = appendNumber(append(b.dst, key...), v, 64)
}

func appendNumber(dst []byte, v float64, bits int) []byte {
	switch {
	case v != v:
		return append(dst, "null"...)
	case v == 1:
		return append(dst, '1')
	case v == 0 && !math.Signbit(v):
		return append(dst, '0')
	}
	return strconv.AppendFloat(dst, v, 'g', -1, bits)
}

func (b *lineWriter) numbers(key string, list []float64) {
	b.dst = append(append(b.dst, key...), '[')
	for i, v := range list {
		b.comma(i)
		b.dst = appendNumber(b.dst, v, 64)
	}
	b.dst = append(b.dst, ']')
}

func (b *lineWriter) comma(i int) {
	if i > 0 {
		b.dst = append(b.dst, ',')
	}
}

// floats writes null for no list, and for the elements of pairs that are not available.
func (b *lineWriter) floats(key string, list []float32, available []bool) {
	b.dst = append(b.dst, key...)
	if list == nil {
		b.dst = append(b.dst, "null"...)
		return
	}
	b.dst = append(b.dst, '[')
	for i, v := range list {
		b.comma(i)
		if !available[i] {
			b.dst = append(b.dst, "null"...)
			continue
		}
		b.dst = appendNumber(b.dst, float64(v), 32)
	}
	b.dst = append(b.dst, ']')
}

func (b *lineWriter) bools(key string, list []bool) {
	b.dst = append(append(b.dst, key...), '[')
	for i, v := range list {
		b.comma(i)
		b.dst = strconv.AppendBool(b.dst, v)
	}
	b.dst = append(b.dst, ']')
}

func (b *lineWriter) attempts(list []Attempt) {
	b.dst = append(b.dst, `,"attempts":[`...)
	for i, a := range list {
		b.comma(i)
		b.int(`{"action":`, int64(a.Action))
		b.int(`,"status":`, int64(a.Status))
		b.int(`,"us":`, a.Micros)
		b.text(`,"error":`, cut(a.Error))
		b.dst = append(b.dst, '}')
	}
	b.dst = append(b.dst, ']')
}

func (b *lineWriter) stages(s Stages) {
	b.int(`,"stages_us":{"decode":`, s.Decode)
	b.int(`,"encode":`, s.Encode)
	b.int(`,"decide":`, s.Decide)
	b.int(`,"advise":`, s.Advise)
	b.int(`,"expert":`, s.Expert)
	b.int(`,"first_byte":`, s.FirstByte)
	b.dst = append(b.dst, '}')
}

func (b *lineWriter) usage(u Usage) {
	if !u.Known {
		b.dst = append(b.dst, `,"usage":null`...)
		return
	}
	b.int(`,"usage":{"in":`, u.In)
	b.int(`,"cached":`, u.Cached)
	b.int(`,"out":`, u.Out)
	b.dst = append(b.dst, '}')
}

func (b *lineWriter) shadows(list []Shadow) {
	b.dst = append(b.dst, `,"shadows":[`...)
	for i, s := range list {
		b.comma(i)
		b.text(`{"policy":`, s.Policy)
		b.text(`,"digest":`, s.Digest)
		b.int(`,"action":`, int64(s.Action))
		b.number(`,"expected_cost":`, s.ExpectedCost)
		b.dst = append(b.dst, '}')
	}
	b.dst = append(b.dst, ']')
}

// features writes the numbers as base64 of their little-endian bytes: a tenth of the time that digits need.
func (b *lineWriter) features(list []float32) {
	b.dst = append(b.dst, `,"features":"`...)
	b.dst = appendFloats64(b.dst, list)
	b.dst = append(b.dst, '"')
}

// appendText writes a JSON string.
func appendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(strings.ToValidUTF8(s, "\uFFFD")) // of a string: never fails
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// floatBytes appends the little-endian bytes of numbers.
func floatBytes(dst []byte, list []float32) []byte {
	for _, v := range list {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
	}
	return dst
}
