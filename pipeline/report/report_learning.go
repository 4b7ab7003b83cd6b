package report

import "fmt"

// Learning says whether more training rows would help: the cost of policies that learned from parts of them.
type Learning struct {
	Setting  string          `json:"setting,omitempty"`
	Lambda   float64         `json:"lambda"`
	Sentence string          `json:"sentence"`           // made of the other fields when the report is written
	Method   string          `json:"method"`             // what was trained again
	Rows     int             `json:"rows"`               // that the costs are means over
	Points   []LearningPoint `json:"points"`             // by growing number of training rows
	Doubling *Interval       `json:"doubling,omitempty"` // cost with all training rows minus that with half of them, paired by row
}

// LearningPoint is the cost of policies from some of the training rows.
type LearningPoint struct {
	Rows  int      `json:"rows"`  // training rows
	Draws int      `json:"draws"` // policies, each from other rows, whose costs are averaged
	Cost  Interval `json:"cost"`  // task loss plus fees
}

// taught returns the learning curves with their sentences.
func (r *Report) taught() []Learning {
	var out []Learning
	for _, l := range r.Learning {
		l.Sentence = l.sentence()
		out = append(out, l)
	}
	return out
}

// littleShare is the share of the cost below which a change hardly matters.
const littleShare = 0.02

// sentence says what the last doubling of the rows did, and what that means for more.
func (l *Learning) sentence() string {
	if l.Doubling == nil || len(l.Points) < 2 {
		return ""
	}
	half, all := l.Points[len(l.Points)-2].Rows, l.Points[len(l.Points)-1].Rows
	d := *l.Doubling
	so := "whether more rows would help is not certain"
	switch {
	case d == Interval{}:
		so = "the same pairs were chosen, so this does not say whether more rows would help"
	case d.High < 0:
		so = "more rows would probably help"
	case d.Low > 0:
		so = "this is unusual: check whether the rows of training and of the report are alike"
	case max(d.High, -d.Low) <= littleShare*l.Points[len(l.Points)-1].Cost.Mean:
		so = "more rows would hardly help"
	}
	return fmt.Sprintf("At lambda %s, going from %d to %d training rows changed the cost by %s per request: %s.", fixed(l.Lambda, -1), half, all, Amount(d), so)
}
