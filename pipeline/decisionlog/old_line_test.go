package decisionlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// oldAppendRecord writes a record that was checked. The keys have a fixed order, which oldReadRecord relies on.
func oldAppendRecord(dst []byte, r *Record) []byte { return oldAppendRecordWith(dst, r, &oldPrices{}) }

// oldAppendRecordWith is oldAppendRecord with what is remembered of the last record.
func oldAppendRecordWith(dst []byte, r *Record, last *oldPrices) []byte {
	from := len(dst)
	b := oldLineWriter{dst}
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
		b.numbers(oldOwnKey, r.OwnPropensity)
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

// Keys that lines may lack. None is the last one of a part of [oldRepeats].
const (
	oldPairFeesKey = `,"pair_fees":`      // few requests have such fees
	oldShareKey    = `,"share":`          // lines of earlier versions, whose share is not known
	oldOwnKey      = `,"own_propensity":` // few policies have a canary
)

// oldLineWriter appends keys with their values.
type oldLineWriter struct{ dst []byte }

// prices writes the policy, its prices, and the pairs that are available.
func (b *oldLineWriter) prices(r *Record) {
	b.text(`,"policy":`, r.Policy)
	b.text(`,"digest":`, r.Digest)
	b.bool(`,"canary":`, r.Canary)
	if r.Share != ShareUnknown {
		b.number(oldShareKey, r.Share)
	}
	b.number(`,"lambda":`, r.Lambda)
	b.numbers(`,"expert_fees":`, r.ExpertFees)
	b.numbers(`,"advice_fees":`, r.AdviceFees)
	if r.hasPairFees() {
		b.numbers(oldPairFeesKey, r.PairFees)
	}
	b.bools(`,"available":`, r.Available)
}

func (b *oldLineWriter) text(key, s string) {
	b.dst = oldAppendText(append(b.dst, key...), s)
}

func (b *oldLineWriter) int(key string, v int64) {
	b.dst = strconv.AppendInt(append(b.dst, key...), v, 10)
}

func (b *oldLineWriter) bool(key string, v bool) {
	b.dst = strconv.AppendBool(append(b.dst, key...), v)
}

// number writes null for NaN.
func (b *oldLineWriter) number(key string, v float64) {
	b.dst = oldAppendNumber(append(b.dst, key...), v, 64)
}

func oldAppendNumber(dst []byte, v float64, bits int) []byte {
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

func (b *oldLineWriter) numbers(key string, list []float64) {
	b.dst = append(append(b.dst, key...), '[')
	for i, v := range list {
		b.comma(i)
		b.dst = oldAppendNumber(b.dst, v, 64)
	}
	b.dst = append(b.dst, ']')
}

func (b *oldLineWriter) comma(i int) {
	if i > 0 {
		b.dst = append(b.dst, ',')
	}
}

// floats writes null for no list, and for the elements of pairs that are not available.
func (b *oldLineWriter) floats(key string, list []float32, available []bool) {
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
		b.dst = oldAppendNumber(b.dst, float64(v), 32)
	}
	b.dst = append(b.dst, ']')
}

func (b *oldLineWriter) bools(key string, list []bool) {
	b.dst = append(append(b.dst, key...), '[')
	for i, v := range list {
		b.comma(i)
		b.dst = strconv.AppendBool(b.dst, v)
	}
	b.dst = append(b.dst, ']')
}

func (b *oldLineWriter) attempts(list []Attempt) {
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

func (b *oldLineWriter) stages(s Stages) {
	b.int(`,"stages_us":{"decode":`, s.Decode)
	b.int(`,"encode":`, s.Encode)
	b.int(`,"decide":`, s.Decide)
	b.int(`,"advise":`, s.Advise)
	b.int(`,"expert":`, s.Expert)
	b.int(`,"first_byte":`, s.FirstByte)
	b.dst = append(b.dst, '}')
}

func (b *oldLineWriter) usage(u Usage) {
	if !u.Known {
		b.dst = append(b.dst, `,"usage":null`...)
		return
	}
	b.int(`,"usage":{"in":`, u.In)
	b.int(`,"cached":`, u.Cached)
	b.int(`,"out":`, u.Out)
	b.dst = append(b.dst, '}')
}

func (b *oldLineWriter) shadows(list []Shadow) {
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
func (b *oldLineWriter) features(list []float32) {
	b.dst = append(b.dst, `,"features":"`...)
	b.dst = appendFloats64(b.dst, list)
	b.dst = append(b.dst, '"')
}

// oldAppendText writes a JSON string.
func oldAppendText(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(strings.ToValidUTF8(s, "\uFFFD")) // of a string: never fails
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

// oldReadRecord reads what oldAppendRecord wrote. The caller checks the record against its policy.
func oldReadRecord(body []byte) (*Record, error) {
	r := &Record{}
	return r, oldReadRecordTo(r, body, nil)
}

// oldReadRecordTo is oldReadRecord into an empty record, with what is remembered of the line before; nil: nothing.
func oldReadRecordTo(r *Record, body []byte, last *oldRepeats) error {
	s := oldScan{rest: body}
	r.ID = s.text(`{"id":`)
	r.Time = s.int(`,"time":`)
	r.Request = s.text(`,"request":`)
	s.part(last, oldCallerPart, r, oldReadCaller, oldTakeCaller)
	s.part(last, oldPricesPart, r, oldReadPrices, oldTakePrices)
	r.Action = int(s.int(`,"action":`))
	r.Greedy = int(s.int(`,"greedy":`))
	s.part(last, oldPropensityPart, r, oldReadPropensity, oldTakePropensity)
	r.ExpectedLoss = s.floats(`,"expected_loss":`)
	r.ExpectedCost = s.floats(`,"expected_cost":`)
	r.Guarded = s.bool(`,"guarded":`)
	r.Keep = s.number(`,"keep":`)
	r.Executed = int(s.int(`,"executed":`))
	r.Attempts = s.attempts()
	r.Stages = s.stages()
	s.part(last, oldServedPart, r, oldReadServed, oldTakeServed)
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

// oldScan reads keys and values in the order in which oldLineWriter wrote them, and keeps the first error.
type oldScan struct {
	rest []byte
	err  error
}

func (s *oldScan) fail(wanted string) {
	if s.err == nil {
		s.err = fmt.Errorf("expected %s at %q", wanted, s.rest[:min(len(s.rest), 40)])
	}
	s.rest = nil
}

// has skips a text if it comes next.
func (s *oldScan) has(text string) bool {
	if len(s.rest) < len(text) || string(s.rest[:len(text)]) != text {
		return false
	}
	s.rest = s.rest[len(text):]
	return true
}

func (s *oldScan) key(text string) {
	if !s.has(text) {
		s.fail(text)
	}
}

func (s *oldScan) text(key string) string {
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

func (s *oldScan) escaped(end int) (out string) {
	if err := json.Unmarshal(s.rest[:end], &out); err != nil {
		s.fail("a string")
		return ""
	}
	s.rest = s.rest[end:]
	return out
}

// token is the text until the next mark of JSON.
func (s *oldScan) token() []byte {
	end := 0
	for end < len(s.rest) && s.rest[end] != ',' && s.rest[end] != ']' && s.rest[end] != '}' {
		end++
	}
	out := s.rest[:end]
	s.rest = s.rest[end:]
	return out
}

func (s *oldScan) int(key string) int64 {
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

func (s *oldScan) bool(key string) bool {
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
func (s *oldScan) number(key string) float64 {
	s.key(key)
	return s.value(64)
}

func (s *oldScan) value(bits int) float64 {
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
func (s *oldScan) list(key string, element func()) {
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

func (s *oldScan) numbers(key string) []float64 {
	out := make([]float64, 0, 16)
	s.list(key, func() { out = append(out, s.value(64)) })
	return out
}

func (s *oldScan) bools(key string) []bool {
	out := make([]bool, 0, 16)
	s.list(key, func() { out = append(out, s.bool("")) })
	return out
}

// floats returns nil for null, and NaN for an element that is null.
func (s *oldScan) floats(key string) []float32 {
	s.key(key)
	if s.has("null") {
		return nil
	}
	out := make([]float32, 0, 16)
	s.list("", func() { out = append(out, float32(s.value(32))) })
	return out
}

func (s *oldScan) attempts() (out []Attempt) {
	s.list(`,"attempts":`, func() {
		a := Attempt{Action: int(s.int(`{"action":`)), Status: int(s.int(`,"status":`)), Micros: s.int(`,"us":`), Error: s.text(`,"error":`)}
		s.key("}")
		out = append(out, a)
	})
	return out
}

func (s *oldScan) stages() Stages {
	out := Stages{
		Decode: s.int(`,"stages_us":{"decode":`), Encode: s.int(`,"encode":`), Decide: s.int(`,"decide":`),
		Advise: s.int(`,"advise":`), Expert: s.int(`,"expert":`), FirstByte: s.int(`,"first_byte":`),
	}
	s.key("}")
	return out
}

func (s *oldScan) usage() Usage {
	if s.has(`,"usage":null`) {
		return Usage{}
	}
	u := Usage{Known: true, In: s.int(`,"usage":{"in":`), CachedKnown: true, Cached: s.int(`,"cached":`), Out: s.int(`,"out":`)}
	s.key("}")
	return u
}

func (s *oldScan) shadows() (out []Shadow) {
	s.list(`,"shadows":`, func() {
		x := Shadow{Policy: s.text(`{"policy":`), Digest: s.text(`,"digest":`), Action: int(s.int(`,"action":`)), ExpectedCost: s.number(`,"expected_cost":`)}
		s.key("}")
		out = append(out, x)
	})
	return out
}

// features appends to memory, which may be nil.
func (s *oldScan) features(memory []float32) []float32 {
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

// oldRepeats remembers parts of the line that was read before. Most lines state the same there, such as the prices, and then
// the part is compared and not parsed. The lists of records that are read with it are shared and must not be changed.
type oldRepeats struct {
	parts    [4]oldRepeat
	features []float32 // memory for the features of the next record, with its capacity; nil: they get new memory
}

// oldRepeat is a part as it was last: its text, and a record that has its fields.
type oldRepeat struct {
	text []byte
	from Record
}

// The parts. Each ends with a mark of JSON, so that no longer value has its text as a beginning.
const (
	oldCallerPart = iota
	oldPricesPart
	oldPropensityPart
	oldServedPart
)

// part reads a part by read, or if its text is that of the last record, by take.
func (s *oldScan) part(last *oldRepeats, which int, r *Record, read func(s *oldScan, r *Record), take func(to, from *Record)) {
	if last == nil {
		read(s, r)
		return
	}
	at := &last.parts[which]
	if len(at.text) > 0 && bytes.HasPrefix(s.rest, at.text) {
		s.rest = s.rest[len(at.text):]
		take(r, &at.from)
		return
	}
	before := s.rest
	read(s, r)
	if s.err != nil {
		return
	}
	at.text = append(at.text[:0], before[:len(before)-len(s.rest)]...)
	take(&at.from, r)
}

func oldReadCaller(s *oldScan, r *Record) {
	r.Source = s.text(`,"source":`)
	r.Client = s.text(`,"client":`)
	r.User = s.text(`,"user":`)
}

func oldTakeCaller(to, from *Record) {
	to.Source, to.Client, to.User = from.Source, from.Client, from.User
}

func oldReadPrices(s *oldScan, r *Record) {
	r.Policy = s.text(`,"policy":`)
	r.Digest = s.text(`,"digest":`)
	r.Canary = s.bool(`,"canary":`)
	r.Share = ShareUnknown
	if bytes.HasPrefix(s.rest, []byte(oldShareKey)) {
		r.Share = s.number(oldShareKey)
	}
	r.Lambda = s.number(`,"lambda":`)
	r.ExpertFees = s.numbers(`,"expert_fees":`)
	r.AdviceFees = s.numbers(`,"advice_fees":`)
	if bytes.HasPrefix(s.rest, []byte(oldPairFeesKey)) {
		r.PairFees = s.numbers(oldPairFeesKey)
	}
	r.Available = s.bools(`,"available":`)
}

func oldTakePrices(to, from *Record) {
	to.Policy, to.Digest, to.Canary, to.Share, to.Lambda = from.Policy, from.Digest, from.Canary, from.Share, from.Lambda
	to.ExpertFees, to.AdviceFees, to.PairFees, to.Available = from.ExpertFees, from.AdviceFees, from.PairFees, from.Available
}

func oldReadPropensity(s *oldScan, r *Record) {
	if bytes.HasPrefix(s.rest, []byte(oldOwnKey)) {
		r.OwnPropensity = s.numbers(oldOwnKey)
	}
	r.Propensity = s.numbers(`,"propensity":`)
}

func oldTakePropensity(to, from *Record) {
	to.Propensity, to.OwnPropensity = from.Propensity, from.OwnPropensity
}

// oldReadServed reads what is the same for all decisions that the service does not execute.
func oldReadServed(s *oldScan, r *Record) {
	r.Usage = s.usage()
	r.Model = s.text(`,"model":`)
	r.Fee, r.FeeKnown = 0, false
	if fee := s.number(`,"fee":`); fee == fee {
		r.Fee, r.FeeKnown = fee, true
	}
	r.PriceDate = s.text(`,"price_date":`)
	r.Shadows = s.shadows()
	r.Error = s.text(`,"error":`)
}

func oldTakeServed(to, from *Record) {
	to.Usage, to.Model, to.Fee, to.FeeKnown = from.Usage, from.Model, from.Fee, from.FeeKnown
	to.PriceDate, to.Shadows, to.Error = from.PriceDate, from.Shadows, from.Error
}

// oldPrices remembers the text of the prices of the last record that was encoded. Most records state the same there.
type oldPrices struct {
	text []byte
	of   Record // a copy, which the caller's slices do not share
}

// append writes the policy, the prices and the pairs that are available.
func (last *oldPrices) append(b *oldLineWriter, r *Record) {
	if len(last.text) > 0 && last.same(r) {
		b.dst = append(b.dst, last.text...)
		return
	}
	from := len(b.dst)
	b.prices(r)
	last.text = append(last.text[:0], b.dst[from:]...)
	of := &last.of
	of.Policy, of.Digest, of.Canary, of.Share, of.Lambda = r.Policy, r.Digest, r.Canary, r.Share, r.Lambda
	of.ExpertFees = append(of.ExpertFees[:0], r.ExpertFees...)
	of.AdviceFees = append(of.AdviceFees[:0], r.AdviceFees...)
	of.PairFees = append(of.PairFees[:0], r.PairFees...)
	of.Available = append(of.Available[:0], r.Available...)
}

func (last *oldPrices) same(r *Record) bool {
	of := &last.of
	if of.Policy != r.Policy || of.Digest != r.Digest || of.Canary != r.Canary || len(of.Available) != len(r.Available) {
		return false
	}
	for i, ok := range r.Available {
		if ok != of.Available[i] {
			return false
		}
	}
	return oldSameBits(of.Share, r.Share) && oldSameBits(of.Lambda, r.Lambda) && oldSameList(of.ExpertFees, r.ExpertFees) && oldSameList(of.AdviceFees, r.AdviceFees) &&
		oldSameList(of.PairFees, r.PairFees)
}

func oldSameList(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i, v := range a {
		if !oldSameBits(v, b[i]) {
			return false
		}
	}
	return true
}

// oldSameBits tells 0 from -0, which have different texts.
func oldSameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
