package prices

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v4"

	"pipe/internal/config"
)

// Hours are hours of every day, UTC, in which tokens have other prices. They have the prices that the period has.
type Hours struct {
	From    string   `yaml:"from" json:"from"`               // such as 16:30
	To      string   `yaml:"to" json:"to"`                   // the first minute after; before From: of the next day
	In      *float64 `yaml:"in" json:"in,omitempty"`         // these are as in Period
	Cached  *float64 `yaml:"cached" json:"cached,omitempty"` //
	Out     *float64 `yaml:"out" json:"out,omitempty"`       //
	Special `yaml:",inline"`

	// Other names of In and Out in files; nil after Read.
	Prompt     *float64 `yaml:"prompt" json:"-"`
	Completion *float64 `yaml:"completion" json:"-"`
}

// UnmarshalYAML reads the prices of tokens under either of their names.
func (h *Hours) UnmarshalYAML(n *yaml.Node) error {
	type plain Hours // avoids recursion into this method
	if err := n.Load((*plain)(h), yaml.WithKnownFields()); err != nil {
		return err
	}
	return OneName(&h.In, &h.Out, &h.Prompt, &h.Completion)
}

// dayMinutes are the minutes of a day.
const dayMinutes = 24 * 60

// minuteOf reads a time of the day. ok is false for another text.
func minuteOf(text string) (minute int, ok bool) {
	at, err := time.Parse("15:04", text)
	return at.Hour()*60 + at.Minute(), err == nil
}

// length is the number of minutes from From to To.
func (h Hours) length() int {
	from, _ := minuteOf(h.From)
	to, _ := minuteOf(h.To)
	return (to - from + dayMinutes) % dayMinutes
}

// hold reports whether the hours hold at a minute of the day.
func (h Hours) hold(minute int) bool {
	from, _ := minuteOf(h.From)
	return (minute-from+dayMinutes)%dayMinutes < h.length()
}

// atHour returns the prices of a period at a time in microseconds since 1970, which have no hours.
func (p Period) atHour(micros int64) Period {
	if p.Hours == nil {
		return p
	}
	const minute = int64(time.Minute / time.Microsecond)
	const day = dayMinutes * minute
	of := int((micros%day + day) % day / minute)
	for _, h := range p.Hours {
		if h.hold(of) {
			p.In, p.Cached, p.Out, p.Special = h.In, h.Cached, h.Out, h.Special
			break
		}
	}
	p.Hours = nil
	return p
}

// validateHours reports every problem of the hours.
func (p Period) validateHours(problems *config.Problems) {
	problems.Check(p.Hours == nil || p.Above == nil, "hours and above are both set; a period has one of them")
	var taken [dayMinutes]bool
	for i, h := range p.Hours {
		at := fmt.Sprintf("hours[%d]", i)
		for _, end := range []struct{ key, value string }{{"from", h.From}, {"to", h.To}} {
			_, ok := minuteOf(end.value)
			problems.Check(ok, "%s.%s is %q; it must be a time of the day in UTC, such as \"16:30\"", at, end.key, end.value)
		}
		problems.Check(h.From != h.To, "%s begins when it ends", at)
		sameKeys(problems, at, tokenPrices(h.In, h.Cached, h.Out, h.Special), tokenPrices(p.In, p.Cached, p.Out, p.Special))
		from, _ := minuteOf(h.From)
		twice := false
		for m := range h.length() {
			minute := (from + m) % dayMinutes
			twice, taken[minute] = twice || taken[minute], true
		}
		problems.Check(!twice, "%s holds at a time at which others hold", at)
	}
}
