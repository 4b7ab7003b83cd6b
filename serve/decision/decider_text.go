package decision

import "pipe/pipeline/decisionlog"

// KeepTexts has the decider call keep with the text of every decision on a text, and its record, which keep must not change. It
// must be called before the first decision.
func (d *Decider) KeepTexts(keep func(r *decisionlog.Record, text string)) { d.texts = keep }

// keepTexts gives away the texts of a result.
func (d *Decider) keepTexts(r *Result) {
	if d.texts == nil || len(r.request.Inputs.Texts) != len(r.Records) {
		return
	}
	for i, text := range r.request.Inputs.Texts {
		d.texts(r.Records[i], text)
	}
}
