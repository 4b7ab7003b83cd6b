package calibrate

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"pipe/costs"
	"pipe/internal/safetext"
	"pipe/models/policy"
	"pipe/models/risk"
)

// Report says what was promised and what else could be. It is the JSON object of pipe calibrate --json.
type Report struct {
	Format    int              `json:"format"`
	Policy    string           `json:"policy,omitempty"`
	Tensor    string           `json:"tensor,omitempty"`
	Out       string           `json:"out,omitempty"`
	Rows      int              `json:"rows"`
	Reach     []risk.Reach     `json:"reach"`
	Guarantee policy.Guarantee `json:"guarantee"`
}

// levels are the risks of which a report says how much can be accepted, as shares of the largest loss.
func levels(s risk.Settings) []float64 {
	out := []float64{s.Risk}
	for _, share := range []float64{0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5} {
		level, err := strconv.ParseFloat(strconv.FormatFloat(share*s.Bound, 'g', 12, 64), 64) // 0.3, not 0.30000000000000004
		if err == nil {
			out = append(out, level)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// WriteText writes the report for a terminal: first what can be reached, then what is promised.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "a risk of at most %g cannot be promised on this table with more than %s accepted.\n\n", r.Guarantee.Risk, r.share())
	writeReach(&b, r.Reach, r.Rows)
	b.WriteString("\n")
	for _, line := range r.Guarantee.Promise() {
		fmt.Fprintf(&b, "%s\n", safetext.Line(line))
	}
	if r.Out != "" {
		fmt.Fprintf(&b, "\n%s\n", safetext.Line(r.Out))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// share is the largest accepted share under the promise.
func (r *Report) share() string {
	i := slices.IndexFunc(r.Reach, func(v risk.Reach) bool { return v.Risk == r.Guarantee.Risk })
	return accepted(r.Reach[i])
}

// writeReach writes how much can be accepted at every risk.
func writeReach(b *strings.Builder, reach []risk.Reach, rows int) {
	fmt.Fprintf(b, "what can be accepted of %d rows:\n", rows)
	tab := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "risk\taccepted at most\tseen, without a promise")
	for _, v := range reach {
		fmt.Fprintf(tab, "%g\t%s\t%.1f%%\n", v.Risk, accepted(v), 100*v.Seen)
	}
	_ = tab.Flush() // a strings.Builder takes everything
}

func accepted(v risk.Reach) string {
	if v.Accepted == nil {
		return "none"
	}
	return fmt.Sprintf("%.1f%%", 100**v.Accepted)
}

// InfeasibleError says that no threshold keeps the promise.
type InfeasibleError struct {
	Risk, Confidence float64
	Rows             int
	Reach            []risk.Reach // what could be promised
	Why              string       // it is impossible for any policy; "": for this one
}

func (e *InfeasibleError) Error() string {
	with := ""
	if e.Confidence > 0 {
		with = fmt.Sprintf(" with a confidence of %g%%", 100*e.Confidence)
	}
	if e.Why != "" {
		return fmt.Sprintf("a risk of at most %g cannot be promised%s, whatever is learned: %s", e.Risk, with, e.Why)
	}
	return fmt.Sprintf("a risk of at most %g cannot be promised%s for any share of the decisions on these %d rows", e.Risk, with, e.Rows)
}

// Unwrap makes it an error of the table.
func (e *InfeasibleError) Unwrap() error { return &costs.DataError{Msg: e.Error()} }

// Hint says which risks can be promised.
func (e *InfeasibleError) Hint() string {
	var list []string
	for _, v := range e.Reach {
		if v.Accepted != nil {
			list = append(list, fmt.Sprintf("%g with %s accepted", v.Risk, accepted(v)))
		}
	}
	if e.Why != "" {
		return "more calibration rows, better experts, or a larger risk"
	}
	if len(list) == 0 {
		return "more calibration rows, or better experts: no risk up to half of the largest loss can be promised"
	}
	return "what can be promised: " + strings.Join(list, ", ")
}
