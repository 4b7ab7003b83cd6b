package auto

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"pipe/costs"
)

// HalfLife is the age at which a row counts half; 0: all rows count alike. As text it is a number and a unit: 30d, 12h,
// 2w; minutes are m and seconds s.
type HalfLife time.Duration

// halfLifeUnits are the units of the text, the largest first.
var halfLifeUnits = []struct {
	name string
	is   time.Duration
}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}

// String writes it in the largest unit that divides it, "" for 0.
func (h HalfLife) String() string {
	if h == 0 {
		return ""
	}
	for _, u := range halfLifeUnits {
		if time.Duration(h)%u.is == 0 {
			return strconv.FormatInt(int64(time.Duration(h)/u.is), 10) + u.name
		}
	}
	return strconv.FormatFloat(time.Duration(h).Seconds(), 'g', -1, 64) + "s"
}

// Set reads the text.
func (h *HalfLife) Set(text string) error {
	const most = 100 * 365 * 24 * time.Hour
	for _, u := range halfLifeUnits {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		span := v * float64(u.is)
		if err != nil || !(span >= float64(time.Second) && span <= float64(most)) {
			break
		}
		*h = HalfLife(math.Round(span))
		return nil
	}
	return fmt.Errorf("%q is not a span from 1s to 100 years; write a number and w, d, h, m or s, such as 30d", text)
}

// Type names the kind of value in the help of a flag.
func (*HalfLife) Type() string { return "span" }

// MarshalText is String.
func (h HalfLife) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText is Set; the empty text is 0.
func (h *HalfLife) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*h = 0
		return nil
	}
	return h.Set(string(text))
}

// leastWeight keeps the weights of very old rows above 0: those of rows that are older than 20 half-lives.
const leastRowWeight = 1.0 / (1 << 20)

// Weights are those of rows by their age before the latest of them: 2^(-age/half-life). nil: all rows count alike.
func (h HalfLife) Weights(t *costs.Tensor, rows []int) []float64 {
	if h == 0 {
		return nil
	}
	latest := int64(math.MinInt64)
	for _, n := range rows {
		latest = max(latest, t.Times[n])
	}
	out, alike := make([]float64, len(rows)), true
	for i, n := range rows {
		age := float64(latest-t.Times[n]) * 1e3 / float64(h) // of nanoseconds
		out[i] = max(leastRowWeight, math.Exp2(-age))
		alike = alike && out[i] == 1
	}
	if alike {
		return nil
	}
	return out
}
