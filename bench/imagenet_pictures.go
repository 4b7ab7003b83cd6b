package bench

import (
	"slices"

	"pipe/pipeline/methods"
	"pipe/pipeline/replay"
	"pipe/pipeline/report"
)

// routedPictures picks instances, evenly over the reported rows, for every pair that a composite method chooses. The
// first policy of each lambda is used.
func routedPictures(j *judged, c pictureConfig, trained []float64) []report.PairPictures {
	if c.PerPair == 0 {
		return nil
	}
	var out []report.PairPictures
	for _, lambda := range c.lambdas(trained) {
		for _, method := range methods.Composite() {
			at := slices.IndexFunc(j.learned, func(l replay.Decisions) bool { return l.Info.Method == method && l.Info.Lambda == lambda })
			if at >= 0 {
				out = append(out, j.pictures(&j.learned[at], c.PerPair)...)
			}
		}
	}
	return out
}

// pictures are the pictures of one policy.
func (j *judged) pictures(l *replay.Decisions, most int) []report.PairPictures {
	byAction := make([][]int, j.t.Actions.Len())
	for i, action := range l.Action {
		byAction[action] = append(byAction[action], j.rows[i])
	}
	var out []report.PairPictures
	for action, rows := range byAction {
		if len(rows) == 0 {
			continue
		}
		expert, advice := j.t.Actions.Pair(action)
		p := report.PairPictures{
			Method: l.Info.Method, Lambda: l.Info.Lambda, Expert: j.t.Actions.Experts[expert].Name, Advice: j.t.Actions.Advice[advice].Name,
			Routed: float64(len(rows)) / float64(len(j.rows)),
		}
		n := min(most, len(rows))
		for i := range n {
			p.Shown = append(p.Shown, j.picture(rows[i*len(rows)/n], action))
		}
		out = append(out, p)
	}
	return out
}

func (j *judged) picture(row, action int) report.Picture {
	cell := row*j.t.Actions.Len() + action
	p := report.Picture{ID: j.t.IDs[row], Loss: float64(j.t.Loss[cell])}
	if j.t.Labels != nil {
		p.Label = j.t.Labels[row]
	}
	if j.t.Predictions != nil {
		p.Answer = j.t.Predictions[cell]
	}
	return p
}
