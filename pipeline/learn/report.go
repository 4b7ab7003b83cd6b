package learn

import (
	"fmt"
	"io"
	"strings"

	"pipe/internal/safetext"
	"pipe/pipeline/gate"
	"pipe/pipeline/ope"
	"pipe/pipeline/report/page"
	"pipe/pipeline/train"
)

// Verdict is what a run did.
type Verdict string

// The verdicts.
const (
	Nothing  Verdict = "nothing"   // there was nothing to do, or nothing to gain
	Placed   Verdict = "candidate" // a new candidate is in its place
	Promoted Verdict = "promoted"  // a policy is in the place of the deployed one
	Refused  Verdict = "refused"   // the log cannot carry learning
)

// Report is the result of Run. It is the JSON object of pipe learn.
type Report struct {
	Format    int           `json:"format"`
	Verdict   Verdict       `json:"verdict"`
	Sentence  string        `json:"sentence"` // the line of status: what was done, and why
	DryRun    bool          `json:"dry_run,omitempty"`
	At        string        `json:"at"` // time of the run, in RFC 3339
	Log       string        `json:"log"`
	Deployed  Version       `json:"deployed"`            // before the run
	Candidate *Version      `json:"candidate,omitempty"` // after the run; nil: none, or it is the deployed policy
	Survey    *Survey       `json:"survey"`
	Problems  []Problem     `json:"problems,omitempty"`
	Trial     *gate.Status  `json:"trial,omitempty"` // of the candidate before the run
	Training  *train.Report `json:"training,omitempty"`
	Gain      *ope.Report   `json:"gain,omitempty"` // of the new policy over the deployed one, on decisions that did not train it
	Pages     []string      `json:"pages,omitempty"`
}

// Version is a policy file and the digest of the policy in it.
type Version struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
}

func (r *Report) conclude(v Verdict, format string, args ...any) *Report {
	r.Verdict, r.Sentence = v, fmt.Sprintf(format, args...)
	return r
}

// line is the line of status.
func (r *Report) line() string {
	would := ""
	if r.DryRun {
		would = " (dry run: nothing was written)"
	}
	return fmt.Sprintf("%s: %s%s", r.Verdict, safetext.Line(r.Sentence), would)
}

// lines say what the run saw.
func (r *Report) lines() []string {
	s := r.Survey
	lines := []string{fmt.Sprintf("log: %d decisions%s, %d with an outcome, %d of these new; %d were draws", s.Decisions, r.span(), s.Outcomes, s.New, s.Explored)}
	if s.Cascades > 0 {
		lines = append(lines, fmt.Sprintf("left out: %d decisions of cascades, from which nothing can be learned", s.Cascades))
	}
	lines = append(lines, fmt.Sprintf("deployed: %s, %s", r.Deployed.File, r.Deployed.Digest))
	if c := r.Candidate; c != nil {
		lines = append(lines, fmt.Sprintf("candidate: %s, %s", c.File, c.Digest))
	}
	if t := r.Trial; t != nil {
		lines = append(lines, fmt.Sprintf("trial: %s. %s", t.Verdict, t.Next))
	}
	for _, p := range r.Problems {
		kind := "note"
		if p.Fatal {
			kind = "problem"
		}
		lines = append(lines, fmt.Sprintf("%s: %s: %s", kind, p.Name, p.Text))
	}
	if g := r.Gain; g != nil {
		lines = append(lines, fmt.Sprintf("gain: %s (%d decisions that did not train it)", g.Sentence, g.Rows))
	}
	return lines
}

func (r *Report) span() string {
	if r.Survey.Decisions == 0 {
		return ""
	}
	return fmt.Sprintf(", %s to %s", r.Survey.First, r.Survey.Last)
}

// WriteText writes the report for a terminal; the first line is the line of status.
func (r *Report) WriteText(w io.Writer) error {
	text := r.line() + "\n"
	for _, line := range r.lines() {
		text += safetext.Line(line) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// WriteHTML writes the report as one self-contained page.
func (r *Report) WriteHTML(w io.Writer) error {
	tone := map[Verdict]string{Nothing: page.Keep, Placed: page.Good, Promoted: page.Good, Refused: page.Bad}[r.Verdict]
	p := &page.Page{
		Title: "Learning from " + r.Log, Kind: "What a run of pipe learn did at " + r.At,
		Answers:  []page.Answer{{Tone: tone, Text: r.line()}},
		Sections: []page.Section{{ID: "seen", Title: "What it saw", Blocks: []page.Block{{List: r.lines()}}}},
	}
	if t := r.Training; t != nil {
		var text strings.Builder
		if err := t.WriteText(&text); err != nil {
			return err
		}
		p.Sections = append(p.Sections, page.Section{ID: "training", Title: "Training", Blocks: []page.Block{{List: nonEmpty(text.String())}}})
	}
	if len(r.Pages) > 0 {
		p.Sections = append(p.Sections, page.Section{ID: "pages", Title: "Pages beside this one", Blocks: []page.Block{{List: r.Pages}}})
	}
	return p.Write(w)
}

func nonEmpty(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}
