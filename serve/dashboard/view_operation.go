package dashboard

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/report/page"
)

// Loaded is a policy that is served.
type Loaded struct {
	Name    string
	Digest  string
	Default bool
	Input   string   // what it takes besides features
	Columns []string // of raw rows
	Since   time.Time
	Info    *policy.Info
}

// estimates reports whether the policy estimates losses.
func (l Loaded) estimates() bool { return l.Info.Decoder == policy.DecoderEstimate }

// Breaker is the state of the circuit breaker of an expert.
type Breaker struct {
	Expert   string    `json:"expert"`
	State    string    `json:"state"` // closed, open or half open
	Since    time.Time `json:"since"`
	Failures int       `json:"failures"` // in a row
}

// The states of circuit breakers that need attention.
const (
	breakerOpen     = "open"
	breakerHalfOpen = "half open"
)

// LogState is the state of the decision log.
type LogState struct {
	Records int64   `json:"records"`
	Bytes   int64   `json:"bytes"`
	Lag     float64 `json:"lag_seconds"` // age of the oldest record that is not on disk yet
	Errors  int64   `json:"errors"`
	Stopped bool    `json:"stopped"` // it accepts no more records
}

// MonitorState has the findings of the monitor of a policy.
type MonitorState struct {
	Policy    string   `json:"policy"`
	Verdict   string   `json:"verdict"` // ok, warning, alarm or untested
	Inputs    string   `json:"inputs"`
	Decisions string   `json:"decisions"`
	Outcomes  string   `json:"outcomes"`
	Rows      int64    `json:"rows"`
	Notes     []string `json:"notes,omitempty"`
}

// byShare returns pairs in descending order of their share.
func byShare(pairs []PairState) []PairState {
	pairs = slices.Clone(pairs)
	slices.SortStableFunc(pairs, func(a, b PairState) int { return cmp.Compare(b.Chosen, a.Chosen) })
	return pairs
}

// served lists the loaded policies, and earlier versions that decided in the window.
func (v *view) served() page.Section {
	t := &page.Table{Head: head("policy", "<version", "<takes", "<prices", "decisions", "<loaded", "<guard"), Caption: fmt.Sprintf("Decisions are of %s.", v.window())}
	decided := map[string]*PolicyState{}
	for i := range v.state.Policies {
		p := &v.state.Policies[i]
		decided[versionKey(p.Name, p.Digest)] = p
	}
	for _, l := range v.loaded {
		label := l.Name
		if l.Default {
			label += " (default)"
		}
		n := int64(0)
		if p := decided[versionKey(l.Name, l.Digest)]; p != nil {
			n = p.Decisions
		}
		delete(decided, versionKey(l.Name, l.Digest))
		t.Rows = append(t.Rows, []page.Cell{
			name(label), word(shortDigest(l.Digest)), word(takes(l)), word(pricesOf(l.Info)), cell(whole(n)), word(ago(v.state.Time.Sub(l.Since).Seconds()) + " ago"), long(guardOf(l.Info)),
		})
	}
	for i := range v.state.Policies {
		if p := &v.state.Policies[i]; decided[versionKey(p.Name, p.Digest)] != nil && p.Decisions > 0 {
			t.Rows = append(t.Rows, []page.Cell{name(p.Name), word(shortDigest(p.Digest)), word(""), word(""), cell(whole(p.Decisions)), word("no longer"), long("")})
		}
	}
	blocks := []page.Block{{Table: t}}
	if c := v.versionsTable(); c != nil {
		blocks = append(blocks, page.Block{Table: c})
	}
	if s := v.shadows(); s != nil {
		blocks = append(blocks, page.Block{Table: s})
	}
	return page.Section{ID: "policies", Title: "Policies", Blocks: blocks}
}

func takes(l Loaded) string {
	if l.Input == "features" {
		return fmt.Sprintf("%d features", l.Info.Dim)
	}
	return l.Input + ", features"
}

func pricesOf(info *policy.Info) string {
	if info.Prices == nil {
		return fmt.Sprintf("fixed, lambda %g", info.Lambda)
	}
	return fmt.Sprintf("any; lambda %g by default", info.Lambda)
}

// guardOf describes the verdict of the guard of the training.
func guardOf(info *policy.Info) string {
	switch g := info.Guard; {
	case g == nil && info.Fixed >= 0:
		return "none; always " + info.Actions.Name(info.Fixed)
	case g == nil:
		return "none"
	case g.Fallback:
		return "exported the best fixed pair, " + g.Fixed
	case g.Deployed != "":
		return fmt.Sprintf("passed, gain %s over %s", cost(g.Gain), g.Against())
	default:
		return fmt.Sprintf("passed, gain %s over %s", cost(g.Gain), g.Fixed)
	}
}

// versionsTable compares the versions that decided, including canaries; nil if there is only one.
func (v *view) versionsTable() *page.Table {
	t := &page.Table{
		Title: "Versions that decided", Head: head("version", "measured cost [95% interval]", "outcomes", "expected cost", "decisions", "as a canary"),
		Caption: "Costs are means per decision. They can be compared where the versions decided on the same kind of requests, as a canary and the policy that it stands in for do. " + intervalNote,
	}
	for i := range v.state.Policies {
		p := &v.state.Policies[i]
		if p.Decisions > 0 {
			t.Rows = append(t.Rows, []page.Cell{
				name(p.Name + "@" + shortDigest(p.Digest)), cell(interval(p.Costs.MeasuredCost)), cell(whole(p.Costs.Outcomes)), cell(costOr(p.Costs.ExpectedCost)), cell(whole(p.Decisions)), cell(whole(p.Canary)),
			})
		}
	}
	if len(t.Rows) < 2 {
		return nil
	}
	return t
}

// shadows compares shadow policies with the shown policy; nil if there are none.
func (v *view) shadows() *page.Table {
	if v.policy == nil || len(v.policy.Shadows) == 0 {
		return nil
	}
	t := &page.Table{
		Title: "Shadows", Head: head("shadow", "<same pair", "decisions", "expected saving per decision [95% interval]"),
		Caption: "A shadow decides on the same rows and is never executed. The saving is the expected cost of the live choice minus that of the choice of the shadow. Each policy states the cost of what it chose, with measured fees if it was trained on them: two that differ in this do not compare. " + intervalNote,
	}
	for _, s := range v.policy.Shadows {
		t.Rows = append(t.Rows, []page.Cell{name(shortKey(s.Shadow)), {Text: percent(s.Agreement), Word: true, Bar: page.Bar(s.Agreement)}, cell(whole(s.N)), cell(interval(s.Cheaper))})
	}
	return t
}

// shortKey returns name@digest with a short digest.
func shortKey(key string) string {
	at := strings.LastIndexByte(key, '@')
	return key[:at+1] + shortDigest(key[at+1:])
}

// operation returns the sections about experts, the log and the monitor, if there are any.
func (v *view) operation() (all []page.Section) {
	if s := v.experts(); s != nil {
		all = append(all, *s)
	}
	if len(v.patience) > 0 {
		all = append(all, patienceSection(v.patience))
	}
	if len(v.candidates) > 0 {
		all = append(all, candidatesSection(v.candidates))
	}
	if v.exploration != nil {
		all = append(all, v.exploration.section())
	}
	if len(v.budgets) > 0 {
		all = append(all, budgetsSection(v.budgets))
	}
	if v.sessions != nil {
		all = append(all, v.sessions.section())
	}
	if v.log != nil {
		state := "takes records"
		if v.log.Stopped {
			state = "stopped: records are not kept any more"
		}
		all = append(all, page.Section{ID: "log", Title: "Decision log", Blocks: []page.Block{{Terms: []page.Term{
			{Name: "state", About: state},
			{Name: "records", About: fmt.Sprintf("%s since the start, %s", whole(v.log.Records), size(v.log.Bytes))},
			{Name: "lag", About: lag(v.log.Lag)},
			{Name: "errors", About: whole(v.log.Errors)},
		}}}})
	}
	if len(v.monitor) > 0 {
		t := &page.Table{Head: head("policy", "<verdict", "<inputs", "<decisions", "<outcomes", "rows")}
		var notes []string
		for _, m := range v.monitor {
			t.Rows = append(t.Rows, []page.Cell{name(m.Policy), word(m.Verdict), word(m.Inputs), word(m.Decisions), word(m.Outcomes), cell(whole(m.Rows))})
			notes = append(notes, m.Notes...)
		}
		blocks := []page.Block{{Table: t}}
		if len(notes) > 0 {
			blocks = append(blocks, page.Block{List: notes})
		}
		all = append(all, page.Section{ID: "monitor", Title: "Monitor", Blocks: blocks})
	}
	return all
}

func lag(s float64) string {
	if s <= 0 {
		return "all records are on disk"
	}
	return "the oldest record that is not on disk is " + seconds(s) + " old"
}

// experts shows circuit breakers and failed calls; nil if there are none.
func (v *view) experts() *page.Section {
	var blocks []page.Block
	if len(v.breakers) > 0 {
		t := &page.Table{Title: "Breakers", Head: head("expert", "<breaker", "<since", "failures in a row")}
		for _, b := range v.breakers {
			since := ""
			if !b.Since.IsZero() {
				since = b.Since.UTC().Format("15:04:05 UTC")
			}
			t.Rows = append(t.Rows, []page.Cell{name(b.Expert), word(b.State), word(since), cell(whole(int64(b.Failures)))})
		}
		blocks = append(blocks, page.Block{Table: t})
	}
	if v.policy != nil && len(v.policy.Failures) > 0 {
		t := &page.Table{Title: "Calls that failed", Head: head("expert", "<reason", "calls"), Caption: fmt.Sprintf("In %s. %s answered by another pair than the chosen one.", v.window(), countWas(v.policy.FellBack, "decision"))}
		for _, f := range v.policy.Failures {
			t.Rows = append(t.Rows, []page.Cell{name(f.Expert), word(f.Reason), cell(whole(f.N))})
		}
		blocks = append(blocks, page.Block{Table: t})
	}
	if len(blocks) == 0 {
		return nil
	}
	return &page.Section{ID: "experts", Title: "Experts", Blocks: blocks}
}
