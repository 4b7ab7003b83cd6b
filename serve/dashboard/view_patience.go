package dashboard

import (
	"fmt"
	"slices"

	"pipe/pipeline/report/page"
)

// PatienceState is what the gateway has learned about the times of one class of calls of an expert.
type PatienceState struct {
	Expert    string  `json:"expert"`
	Stream    bool    `json:"stream"`                // until the first content of a stream, not until a whole answer
	Tokens    int     `json:"tokens"`                // prompts of at most this many; 0: all longer ones
	Answers   int     `json:"answers"`               // that were learned from
	Median    float64 `json:"median_s,omitempty"`    // seconds until the answer begins; 0 without answers
	P95       float64 `json:"p95_s,omitempty"`       //
	P99       float64 `json:"p99_s,omitempty"`       //
	Allowance float64 `json:"allowance_s,omitempty"` // of silence, after which a call is cut; 0: the flat timeouts hold
	Known     bool    `json:"known"`                 // the allowance was learned
	Slow      int64   `json:"cut_slow"`              // calls of the expert that were cut for their own silence
	Silent    int64   `json:"cut_silent"`            // calls of the expert that were cut for the silence of all newer calls
}

// patienceSection shows what was learned about the times of experts.
func patienceSection(all []PatienceState) page.Section {
	t := &page.Table{
		Head:    head("expert", "<answers", "<prompt", "answers", "median", "95%", "99%", "<cut after a silence of"),
		Caption: "Times until an answer begins: the first content of a stream, or the whole answer. A call is cut only while another pair could answer.",
	}
	var cuts []string
	for i, s := range all {
		kind := "whole"
		if s.Stream {
			kind = "streams"
		}
		prompt := "longer"
		if s.Tokens > 0 {
			prompt = fmt.Sprintf("up to %s tokens", whole(int64(s.Tokens)))
		}
		t.Rows = append(t.Rows, []page.Cell{
			name(s.Expert), word(kind), word(prompt), cell(whole(int64(s.Answers))), cell(secondsOf(s.Median)), cell(secondsOf(s.P95)), cell(secondsOf(s.P99)), word(allowance(s)),
		})
		if first := slices.IndexFunc(all, func(o PatienceState) bool { return o.Expert == s.Expert }); first == i && s.Slow+s.Silent > 0 {
			cuts = append(cuts, fmt.Sprintf("%s: %s cut for its own silence, %s because the expert was silent on all newer calls too", s.Expert, countWas(s.Slow, "call"), whole(s.Silent)))
		}
	}
	blocks := []page.Block{{Table: t}}
	if len(cuts) > 0 {
		blocks = append(blocks, page.Block{List: cuts})
	}
	return page.Section{ID: "patience", Title: "Patience", Blocks: blocks}
}

// secondsOf is a time that is unknown if it is 0.
func secondsOf(s float64) string {
	if s == 0 {
		return unknown
	}
	return seconds(s)
}

func allowance(s PatienceState) string {
	switch {
	case s.Allowance == 0:
		return "the flat timeouts"
	case !s.Known:
		return seconds(s.Allowance) + ", not learned yet"
	}
	return seconds(s.Allowance)
}
