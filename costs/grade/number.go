package grade

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"pipe/internal/config"
)

// Which of several numbers or matches counts.
const (
	takeFirst = "first"
	takeLast  = "last"
	takeOnly  = "only"
)

// number compares the number of an answer with that of the reference.
type number struct {
	form               numberForm
	take, after        string
	absolute, relative *big.Rat
}

type numberSettings struct {
	Take      string  `json:"take"`      // which number of an answer: last, first or only
	After     string  `json:"after"`     // a text; where it occurs, the first number after its last occurrence counts
	Decimal   string  `json:"decimal"`   // the decimal sign, . or ,
	Fractions bool    `json:"fractions"` // 3/4 is one number, not two
	Percent   string  `json:"percent"`   // of a number with a percent sign: ignore the sign, or divide by 100
	Absolute  float64 `json:"absolute"`  // accepted difference
	Relative  float64 `json:"relative"`  // the same as a share of the reference; the larger one counts
}

func newNumber(_ context.Context, settings map[string]any, _ Models) (Grader, error) {
	cfg := numberSettings{Take: takeLast, Decimal: ".", Fractions: true, Percent: "ignore"}
	if err := config.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return texts{number{
		form: numberForm{comma: cfg.Decimal == ",", fractions: cfg.Fractions, hundredths: cfg.Percent == "divide"},
		take: cfg.Take, after: cfg.After, absolute: decimal(cfg.Absolute), relative: decimal(cfg.Relative),
	}}, nil
}

func (cfg *numberSettings) validate() error {
	var problems []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	add(cfg.Take != takeLast && cfg.Take != takeFirst && cfg.Take != takeOnly, "take is %q; it must be last, first or only", cfg.Take)
	add(cfg.Decimal != "." && cfg.Decimal != ",", "decimal is %q; it must be a point or a comma", cfg.Decimal)
	add(cfg.Percent != "ignore" && cfg.Percent != "divide", "percent is %q; it must be ignore or divide", cfg.Percent)
	add(!(cfg.Absolute >= 0), "absolute is %v; it must not be negative", cfg.Absolute)
	add(!(cfg.Relative >= 0 && cfg.Relative < 1), "relative is %v; it must be at least 0 and below 1", cfg.Relative)
	return errors.Join(problems...)
}

// decimal is a number as a configuration writes it, exactly: 0.1 is one tenth.
func decimal(v float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(v, 'g', -1, 64))
	return r
}

// read returns the number of a text and how many there are to choose from, of which it stops counting at two.
func (g number) read(text, take string) (*big.Rat, int) {
	if at := strings.LastIndex(text, g.after); g.after != "" && at >= 0 {
		text = text[at+len(g.after):]
		if take == takeLast {
			take = takeFirst
		}
	}
	var chosen literal
	count := 0
	g.form.each(text, func(l literal) bool {
		if count++; count == 1 || take == takeLast {
			chosen = l
		}
		return take == takeLast || take == takeOnly && count < 2
	})
	if count == 0 || take == takeOnly && count > 1 {
		return nil, count
	}
	return chosen.value(g.form), count
}

// check requires exactly one number, so that it is clear which one is meant.
func (g number) check(reference string) error {
	switch v, count := g.read(reference, takeOnly); {
	case v != nil:
		return nil
	case count == 0:
		return errors.New("has no number")
	}
	return errors.New("has more than one number; name the text before the one that counts (after), or put the number alone into the column")
}

func (g number) key(answer string) (string, bool) {
	v, _ := g.read(answer, g.take)
	if v == nil {
		return "", false
	}
	return v.RatString(), true
}

func (g number) score(answer, reference string) float64 {
	given, _ := g.read(answer, g.take)
	wanted, _ := g.read(reference, takeOnly)
	if given == nil || wanted == nil {
		return 0
	}
	difference := new(big.Rat).Sub(given, wanted)
	difference.Abs(difference)
	accepted := new(big.Rat).Mul(g.relative, new(big.Rat).Abs(wanted))
	if accepted.Cmp(g.absolute) < 0 {
		accepted = g.absolute
	}
	if difference.Cmp(accepted) <= 0 {
		return 1
	}
	return 0
}
