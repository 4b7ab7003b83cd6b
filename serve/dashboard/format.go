package dashboard

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// unknown is shown for values that are not known.
const unknown = "–"

// whole formats a count with commas, such as 1,234,567.
func whole(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// plural formats a count with its noun, which gets an s unless the count is 1.
func plural(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return whole(n) + " " + noun
}

// rate formats a number per second with about three digits.
func rate(v float64) string {
	switch {
	case math.IsNaN(v):
		return unknown
	case v >= 100:
		return whole(int64(math.Round(v)))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v == 0:
		return "0"
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// percent formats a share from 0 to 1. Only 0 and 1 are shown as 0% and 100%.
func percent(v float64) string {
	text := fmt.Sprintf("%.1f%%", 100*v)
	switch {
	case math.IsNaN(v):
		return unknown
	case v > 0 && text == "0.0%":
		return "< 0.1%"
	case v < 1 && text == "100.0%":
		return "> 99.9%"
	case v == 0 || v == 1:
		return fmt.Sprintf("%.0f%%", 100*v)
	}
	return text
}

// cost formats a cost or a loss with four decimals, and small ones with three significant digits.
func cost(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return unknown
	case a == 0:
		return "0"
	case a < 0.001:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a >= 1000:
		return strconv.FormatFloat(v, 'g', 6, 64)
	}
	return strconv.FormatFloat(v, 'f', 4, 64)
}

func costOr(v *float64) string {
	if v == nil {
		return unknown
	}
	return cost(*v)
}

// interval formats a mean with its 95% interval, such as 0.0312 [0.0288, 0.0336]. It has four decimals, and more if the
// interval is so narrow that they would not show two digits of its width.
func interval(m *Mean) string {
	switch {
	case m == nil:
		return unknown
	case m.Low == nil:
		return cost(m.Mean)
	}
	digits := 4
	if half := (*m.High - *m.Low) / 2; half > 0 {
		digits = min(max(digits, 1+int(math.Ceil(-math.Log10(half)))), 9)
	}
	return fmt.Sprintf("%.*f [%.*f, %.*f]", digits, m.Mean, digits, *m.Low, digits, *m.High)
}

// seconds formats a duration in a suitable unit, with three digits.
func seconds(s float64) string {
	three := func(v float64) string {
		switch {
		case v >= 100:
			return strconv.FormatFloat(v, 'f', 0, 64)
		case v >= 10:
			return strconv.FormatFloat(v, 'f', 1, 64)
		}
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	switch {
	case math.IsNaN(s):
		return unknown
	case s < 1e-3:
		return three(s*1e6) + " µs"
	case s < 1:
		return three(s*1e3) + " ms"
	}
	return three(s) + " s"
}

// ago formats an age in its largest unit or two.
func ago(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// size formats a number of bytes.
func size(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	v, i := float64(n), 0
	for v >= 1000 && i < len(units)-1 {
		v /= 1000
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + " " + units[i]
}

// shortDigest returns the start of a digest.
func shortDigest(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	return digest
}
