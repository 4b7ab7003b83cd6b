package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pipe/costs"
)

// sentence is the verdict in words.
func (v *Verdict) sentence(m *costs.Money) string {
	at := fmt.Sprintf("At lambda %s ", fixed(v.Lambda, -1))
	if v.Setting != "" {
		at = fmt.Sprintf("%s: at lambda %s ", v.Setting, fixed(v.Lambda, -1))
	}
	var b strings.Builder
	switch {
	case v.Deploy == DeployPolicy:
		b.WriteString(at + "deploy " + v.Policy)
	case v.Deploy != DeployConstant:
		return at + "there is no verdict: " + v.because() + "."
	case slices.Contains(v.As, AgainstToday):
		b.WriteString(at + "keep today's choice, the constant " + v.Pair + ", because " + v.because())
	case len(v.Savings) > 0 && slices.Contains(v.Savings[0].Against, AgainstToday):
		b.WriteString(at + "use the constant " + v.Pair + " instead of " + v.Savings[0].Pair + ", because " + v.because())
	default:
		b.WriteString(at + "keep the constant " + v.Pair + ", because " + v.because())
	}
	b.WriteString(v.saved())
	if len(v.Savings) > 0 {
		b.WriteString(v.Savings[0].parts(m))
	}
	if v.Origin {
		fmt.Fprintf(&b, " But %s was trained on another table: it may have learned from some of these rows.", v.Policy)
	}
	return b.String()
}

// because is the reason in words, with the figures that it is about.
func (v *Verdict) because() string {
	switch v.Reason {
	case NoPolicy:
		return "no policy for this lambda was given"
	case GuardFell:
		return fmt.Sprintf("the guard of %s fell back to a constant in training", v.Policy)
	case OnePair:
		return fmt.Sprintf("%s chooses one pair for all %d rows", v.Policy, v.Rows)
	case TrainedOn:
		return "these rows were trained on, so they show nothing about new ones; evaluate another split"
	case OneDraw:
		return fmt.Sprintf("all %d rows belong together, and how much others would differ cannot be known", v.Rows)
	case NoComparison:
		return "there are no training rows to choose a constant on; name today's pair (--today) to compare with it"
	}
	s := v.doubt()
	switch {
	case s == nil:
		return fmt.Sprintf("%s is not certain to save anything", v.Policy)
	case v.Reason == Dearer:
		return fmt.Sprintf("%s costs more: %s per request", v.Policy, Amount(s.Cost.negative()))
	}
	return fmt.Sprintf("the saving of %s against %s is not certain: %s per request", v.Policy, s.Pair, Amount(s.Cost))
}

// doubt is the saving of the policy that is not certain: that against the recommended constant, or the first.
func (v *Verdict) doubt() *Saving {
	uncertain := func(s Saving) bool { return !(s.Cost.Low > 0) }
	if s := saving(v.PolicySavings, v.Pair); s != nil && uncertain(*s) {
		return s
	}
	if i := slices.IndexFunc(v.PolicySavings, uncertain); i >= 0 {
		return &v.PolicySavings[i]
	}
	return nil
}

// roles are the constants in words.
var roles = map[string]string{
	AgainstToday: "today's choice", AgainstFixed: "the best fixed pair of the training rows", AgainstStrongest: "the strongest expert",
}

// against names the constant and its roles.
func (s *Saving) against() string {
	var list []string
	for _, a := range s.Against {
		list = append(list, roles[a])
	}
	return fmt.Sprintf("%s (%s)", s.Pair, strings.Join(list, ", "))
}

// saved says what the recommendation saves against every other constant, and ends the sentence.
func (v *Verdict) saved() string {
	if len(v.Savings) == 0 {
		return "."
	}
	start := ": it "
	if v.Deploy == DeployConstant {
		start = ". This constant "
	}
	var parts []string
	for i := range v.Savings {
		parts = append(parts, v.Savings[i].words(i == 0))
	}
	return start + strings.Join(parts, "; it ") + "."
}

// words is the saving in words. The first one is also given per 1,000 requests.
func (s *Saving) words(first bool) string {
	verb, cost, share := "saves", s.Cost, s.Share
	if s.Cost.Mean < 0 {
		verb, cost = "costs", s.Cost.negative()
		if share != nil {
			share = new(s.Share.negative())
		}
	}
	out := fmt.Sprintf("%s %s per request against always calling %s", verb, Amount(cost), s.against())
	switch {
	case share != nil && verb == "saves":
		out = fmt.Sprintf("saves %s of the cost of always calling %s: %s per request", percents(*share), s.against(), Amount(cost))
	case verb == "costs":
		out = fmt.Sprintf("costs %s per request more than always calling %s", Amount(cost), s.against())
		if share != nil {
			out += ", " + percents(*share)
		}
	}
	if first {
		out += "; " + Amount(cost.times(1000)) + " per 1,000 requests"
	}
	return out
}

// parts says what the saving consists of.
func (s *Saving) parts(m *costs.Money) string {
	unit := ""
	if m != nil {
		unit = " " + m.Currency
	}
	return fmt.Sprintf(" Compared with %s, per 1,000 requests the task loss is %s, and the fees paid are %s.", s.Pair, lower(s.Loss, ""), lower(s.Money, unit))
}

// lower says how much lower or higher a mean is per 1,000 requests.
func lower(v Interval, unit string) string {
	switch {
	case v == Interval{}:
		return "the same"
	case v.Mean < 0:
		return Amount(v.negative().times(1000)) + unit + " higher"
	}
	return Amount(v.times(1000)) + unit + " lower"
}

func (v Interval) negative() Interval {
	return Interval{negative(v.Mean), negative(v.High), negative(v.Low)}
}

// negative has no negative zero.
func negative(v float64) float64 { return 0 - v }

func (v Interval) times(f float64) Interval { return Interval{v.Mean * f, v.Low * f, v.High * f} }

// Amount prints a mean with its interval, to as many decimals as its half width has in two digits.
func Amount(v Interval) string { return v.text(2, "") }

// percents prints shares in percent, to one digit of the half width.
func percents(v Interval) string { return v.times(100).text(1, "%") }

// text prints the three numbers with equal decimals: digits of the half width of the interval.
func (v Interval) text(digits int, unit string) string {
	half := (v.High - v.Low) / 2
	decimals := -1 // as many as are needed
	if half > 0 {
		decimals = min(max(0, digits-1-int(math.Floor(math.Log10(half)))), 12)
	}
	return fmt.Sprintf("%s%s [%s, %s]", fixed(v.Mean, decimals), unit, fixed(v.Low, decimals), fixed(v.High, decimals))
}

// fixed prints a number to some decimals, -1 for six digits, without a negative zero.
func fixed(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if decimals < 0 {
		s = strconv.FormatFloat(v, 'g', 6, 64)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == 0 {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}
