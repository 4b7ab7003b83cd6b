package expert

import (
	"strings"

	"pipe/costs/grade"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
)

// labelReader reads one of the labels.
type labelReader struct {
	labels      []string
	unparseable float32 // loss of an answer without a label
}

func (r *labelReader) key(text string) (string, bool) {
	label, _, ok := grade.ParseLabel(text, r.labels)
	return label, ok
}

// read gives an answer without a label the loss unparseable_loss.
func (r *labelReader) read(text string) (part.Prediction, chat.AnswerCount) {
	label, strict, ok := grade.ParseLabel(text, r.labels)
	switch {
	case strict:
		return part.Prediction{Label: label}, chat.AnswerCount{Strict: 1}
	case ok:
		return part.Prediction{Label: label}, chat.AnswerCount{Lenient: 1}
	}
	return part.Prediction{Judged: true, Loss: r.unparseable}, chat.AnswerCount{Unparseable: 1}
}

// openReader keeps the whole answer, which the task loss judges.
type openReader struct{ loss part.OpenLoss }

func (r *openReader) key(text string) (string, bool) { return r.loss.Key(text) }

func (r *openReader) read(text string) (part.Prediction, chat.AnswerCount) {
	p := part.Prediction{Label: strings.TrimSpace(grade.WithoutThoughts(text))}
	if _, ok := r.loss.Key(p.Label); !ok {
		return p, chat.AnswerCount{Unreadable: 1}
	}
	return p, chat.AnswerCount{Open: 1}
}
