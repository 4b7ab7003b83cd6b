package decisionlog

import (
	"bytes"
	"math"
)

// repeats remembers parts of the line that was read before. Most lines state the same there, such as the prices, and then
// the part is compared and not parsed. The lists of records that are read with it are shared and must not be changed.
type repeats struct {
	parts    [4]repeat
	features []float32 // memory for the features of the next record, with its capacity; nil: they get new memory
}

// repeat is a part as it was last: its text, and a record that has its fields.
type repeat struct {
	text []byte
	from Record
}

// The parts. Each ends with a mark of JSON, so that no longer value has its text as a beginning.
const (
	callerPart = iota
	pricesPart
	propensityPart
	servedPart
)

// part reads a part by read, or if its text is that of the last record, by take.
func (s *scan) part(last *repeats, which int, r *Record, read func(s *scan, r *Record), take func(to, from *Record)) {
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

func readCaller(s *scan, r *Record) {
	r.Source = s.text(`,"source":`)
	r.Client = s.text(`,"client":`)
	r.User = s.text(`,"user":`)
}

func takeCaller(to, from *Record) {
	to.Source, to.Client, to.User = from.Source, from.Client, from.User
}

func readPrices(s *scan, r *Record) {
	r.Policy = s.text(`,"policy":`)
	r.Digest = s.text(`,"digest":`)
	r.Canary = s.bool(`,"canary":`)
	r.Share = ShareUnknown
	if bytes.HasPrefix(s.rest, []byte(shareKey)) {
		r.Share = s.number(shareKey)
	}
	r.Lambda = s.number(`,"lambda":`)
	r.ExpertFees = s.numbers(`,"expert_fees":`)
	r.AdviceFees = s.numbers(`,"advice_fees":`)
	if bytes.HasPrefix(s.rest, []byte(pairFeesKey)) {
		r.PairFees = s.numbers(pairFeesKey)
	}
	r.Available = s.bools(`,"available":`)
}

func takePrices(to, from *Record) {
	to.Policy, to.Digest, to.Canary, to.Share, to.Lambda = from.Policy, from.Digest, from.Canary, from.Share, from.Lambda
	to.ExpertFees, to.AdviceFees, to.PairFees, to.Available = from.ExpertFees, from.AdviceFees, from.PairFees, from.Available
}

func readPropensity(s *scan, r *Record) {
	if bytes.HasPrefix(s.rest, []byte(ownKey)) {
		r.OwnPropensity = s.numbers(ownKey)
	}
	r.Propensity = s.numbers(`,"propensity":`)
}

func takePropensity(to, from *Record) {
	to.Propensity, to.OwnPropensity = from.Propensity, from.OwnPropensity
}

// readServed reads what is the same for all decisions that the service does not execute.
func readServed(s *scan, r *Record) {
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

func takeServed(to, from *Record) {
	to.Usage, to.Model, to.Fee, to.FeeKnown = from.Usage, from.Model, from.Fee, from.FeeKnown
	to.PriceDate, to.Shadows, to.Error = from.PriceDate, from.Shadows, from.Error
}

// prices remembers the text of the prices of the last record that was encoded. Most records state the same there.
type prices struct {
	text []byte
	of   Record // a copy, which the caller's slices do not share
}

// append writes the policy, the prices and the pairs that are available.
func (last *prices) append(b *lineWriter, r *Record) {
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

func (last *prices) same(r *Record) bool {
	of := &last.of
	if of.Policy != r.Policy || of.Digest != r.Digest || of.Canary != r.Canary || len(of.Available) != len(r.Available) {
		return false
	}
	for i, ok := range r.Available {
		if ok != of.Available[i] {
			return false
		}
	}
	return sameBits(of.Share, r.Share) && sameBits(of.Lambda, r.Lambda) && sameList(of.ExpertFees, r.ExpertFees) && sameList(of.AdviceFees, r.AdviceFees) &&
		sameList(of.PairFees, r.PairFees)
}

func sameList(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i, v := range a {
		if !sameBits(v, b[i]) {
			return false
		}
	}
	return true
}

// sameBits tells 0 from -0, which have different texts.
func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
