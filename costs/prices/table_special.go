package prices

import (
	"fmt"
	"slices"
	"time"

	"pipe/internal/config"
)

// Special are prices of a million tokens of special kinds, each a part of the input or the output tokens. A price that is nil
// is not known, but see [Period.Cost] for what stands in for it.
type Special struct {
	CacheWrite     *float64 `yaml:"cache_write" json:"cache_write,omitempty"`       // of the prompt, written to the cache of the service
	CacheWriteHour *float64 `yaml:"cache_write_1h" json:"cache_write_1h,omitempty"` // the same, to be kept for an hour
	Image          *float64 `yaml:"image" json:"image,omitempty"`                   // of the prompt; nil: images cost what text costs
	Audio          *float64 `yaml:"audio" json:"audio,omitempty"`                   // of the prompt
	Reasoning      *float64 `yaml:"reasoning" json:"reasoning,omitempty"`           // of the answer; nil: reasoning costs what text costs
	AudioOut       *float64 `yaml:"audio_out" json:"audio_out,omitempty"`           // of the answer
}

// priceOf is a price and its key in files.
type priceOf struct {
	key   string
	price *float64
	whole string // the key of the tokens that these are part of
}

func (s *Special) list() []priceOf {
	return []priceOf{
		{"cache_write", s.CacheWrite, "in"},
		{"cache_write_1h", s.CacheWriteHour, "in"},
		{"image", s.Image, "in"},
		{"audio", s.Audio, "in"},
		{"reasoning", s.Reasoning, "out"},
		{"audio_out", s.AudioOut, "out"},
	}
}

// Parts are tokens of a call of special kinds. No token is in two of them. Services state them as whole numbers.
type Parts struct {
	Written     int64 // of the prompt, written to the cache of the service for the time that is usual there
	WrittenHour int64 // of the prompt, written to the cache of the service for an hour
	Image       int64 // of the prompt
	Audio       int64 // of the prompt
	Reasoning   int64 // of the answer
	AudioOut    int64 // of the answer
}

// List is the parts in the order of the fields, nil where all are 0. It is what a record of a decision log has.
func (p Parts) List() (list []float64) {
	if p == (Parts{}) {
		return nil
	}
	for _, n := range p.each() {
		list = append(list, float64(*n))
	}
	return list
}

// PartsOf reads what List wrote; a shorter list lacks the last parts.
func PartsOf(list []float64) (p Parts) {
	for i, n := range p.each() {
		if i < len(list) {
			*n = int64(list[i])
		}
	}
	return p
}

func (p *Parts) each() []*int64 {
	return []*int64{&p.Written, &p.WrittenHour, &p.Image, &p.Audio, &p.Reasoning, &p.AudioOut}
}

// tokensOf are tokens of one price.
type tokensOf struct {
	key    string
	tokens float64
	price  *float64
}

// split divides a usage into tokens of one price each. Images and reasoning without a price of their own cost what other tokens
// cost. A service does not say which tokens of sound or of images were cached, so both together are an error where they have
// different prices.
func (p Period) split(u Usage) ([]tokensOf, error) {
	if p.Image == nil {
		u.Image = 0
	}
	if p.Reasoning == nil {
		u.Reasoning = 0
	}
	kept, media := u.Cached+float64(u.Written+u.WrittenHour), float64(u.Image+u.Audio)
	in, out := u.In-kept-media, u.Out-float64(u.Reasoning+u.AudioOut)
	switch {
	case kept > 0 && media > 0:
		return nil, &UsageError{"cached", "it is not known how many of the tokens of images and sound were cached or written to a cache, which have other prices"}
	case in < 0:
		return nil, &UsageError{"in", fmt.Sprintf("its parts are more than the %v input tokens", u.In)}
	case out < 0:
		return nil, &UsageError{"out", fmt.Sprintf("its parts are more than the %v output tokens", u.Out)}
	}
	return []tokensOf{
		{"in", in, p.In},
		{"cached", u.Cached, p.Cached},
		{"cache_write", float64(u.Written), p.CacheWrite},
		{"cache_write_1h", float64(u.WrittenHour), p.CacheWriteHour},
		{"image", float64(u.Image), p.Image},
		{"audio", float64(u.Audio), p.Audio},
		{"out", out, p.Out},
		{"reasoning", float64(u.Reasoning), p.Reasoning},
		{"audio_out", float64(u.AudioOut), p.AudioOut},
	}, nil
}

// ReasoningApart reports whether tokens of reasoning have another price than others of an answer, so that a fee cannot be known
// without their number.
func (p Period) ReasoningApart() bool {
	return p.Reasoning != nil && (p.Out == nil || *p.Reasoning != *p.Out) || slices.ContainsFunc(p.Above, func(t Tier) bool { return t.Reasoning != nil && (t.Out == nil || *t.Reasoning != *t.Out) })
}

// ValidateSpecial reports every problem of the special prices, of batch and of cache_ttl, each beginning with a key.
func (p Period) ValidateSpecial() error {
	var problems config.Problems
	for _, s := range p.list() {
		checkPrice(&problems, s.key, s.price)
		base := p.In
		if s.whole == "out" {
			base = p.Out
		}
		problems.Check(s.price == nil || base != nil, "%s is set, but %s is not", s.key, s.whole)
	}
	problems.Check(p.Batch == nil || *p.Batch >= 0 && *p.Batch <= 1, "batch is %v; it must be the part of the prices that calls of a batch pay, 0 to 1", orNaN(p.Batch))
	const longest = 30 * 24 * time.Hour
	life, err := time.ParseDuration(p.CacheTTL)
	problems.Check(p.CacheTTL == "" || err == nil && life > 0 && life <= longest, "cache_ttl is %q; it must be a time such as 5m, at most %v", p.CacheTTL, longest)
	return problems.Err()
}

// sameKeys reports every price that one of two lists has and the other has not: one that is left out could mean the lower
// price, or none.
func sameKeys(problems *config.Problems, at string, values, base []priceOf) {
	for i, v := range values {
		problems.Check((v.price == nil) == (base[i].price == nil), "%s has other prices than those below it: %q must be in both, or in neither", at, v.key)
		problems.Check(v.price == nil || *v.price >= 0 && *v.price <= mostMoney, "%s.%s must be 0 to %v", at, v.key, float64(mostMoney))
	}
}

// tokenPrices are all prices of tokens.
func tokenPrices(in, cached, out *float64, s Special) []priceOf {
	return append([]priceOf{{key: "in", price: in}, {key: "cached", price: cached}, {key: "out", price: out}}, s.list()...)
}

// CacheLife is how long a service keeps what was written to its cache, by cache_ttl. 0: not known.
func (p Period) CacheLife() time.Duration {
	life, _ := time.ParseDuration(p.CacheTTL) // checked; 0 for ""
	return life
}
