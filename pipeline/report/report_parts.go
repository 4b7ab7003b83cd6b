package report

import (
	"slices"

	"pipe/experts/builder"
)

// AnswerQuality is, for one part that uses a chat model, how the answers could be parsed and what they cost. It counts
// the answers that the costs are computed from, whether this run or an earlier one requested them.
type AnswerQuality struct {
	Setting          string  `json:"setting,omitempty"`
	Part             string  `json:"part"`
	Answers          int64   `json:"answers"`
	Strict           int64   `json:"strict"`      // a label and nothing else
	Lenient          int64   `json:"lenient"`     // one label occurs
	Unparseable      int64   `json:"unparseable"` // other answers of an expert
	Queries          int64   `json:"queries"`     // answers of a reformulator that contain a query
	Empty            int64   `json:"empty"`       // answers of a reformulator without a query: the claim is searched for instead
	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	Estimated        int64   `json:"estimated,omitempty"` // answers whose tokens the service did not count
	Money            float64 `json:"money"`               // at the prices of the configuration
}

// ExpertQuality has quality measures of one expert under one advice on the reported rows, independent of the task loss.
type ExpertQuality struct {
	Setting string  `json:"setting,omitempty"`
	Rate    float64 `json:"rate,omitempty"` // share of the positive label, beside the mean probability
	builder.ExpertFigures
}

// Figures lists the measures of an ExpertQuality, in the order of the table.
func (q *ExpertQuality) Figures() []**float64 {
	return []**float64{
		&q.Threshold, &q.Accuracy, &q.BalancedAccuracy, &q.AUC, &q.Recall, &q.Precision, &q.Brier, &q.CalibrationError, &q.MeanProbability,
	}
}

// Disclosure is, for one method in one regime, how often a sensitive group of columns was opened and the benefit of
// that. Shares lie in [0, 1], benefits are in the unit of the task loss.
type Disclosure struct {
	Setting string  `json:"setting,omitempty"`
	Method  string  `json:"method"`
	Lambda  float64 `json:"lambda"`
	Group   string  `json:"group"`
	Opened  float64 `json:"opened"` // share of the rows whose advice opened the group
	// Over the rows that were opened: the cost of the same expert at the deepest level that keeps the group closed,
	// minus the cost of the chosen pair. Gross counts the task loss only, net also the fees; a negative value means
	// that opening did not pay. Absent if nothing was opened.
	Gross    *float64 `json:"gross,omitempty"`
	Net      *float64 `json:"net,omitempty"`
	TrueLoss float64  `json:"true_loss"`
	// True loss if the group could never be opened: the same policy chooses among the remaining pairs by its scores.
	// Absent if no pair remains.
	Without *float64 `json:"true_loss_without,omitempty"`
}

// PairPictures are some of the instances that one method sends to one pair, of those with images.
type PairPictures struct {
	Setting string    `json:"setting,omitempty"`
	Method  string    `json:"method"`
	Lambda  float64   `json:"lambda"`
	Expert  string    `json:"expert"`
	Advice  string    `json:"advice"`
	Routed  float64   `json:"routed"` // share of the reported rows that go to the pair
	Shown   []Picture `json:"shown"`
}

// Picture is an instance and the answer of the pair. The image itself is in the report's album.
type Picture struct {
	ID     string  `json:"id"`
	Label  string  `json:"label"`
	Answer string  `json:"answer"`
	Loss   float64 `json:"loss"` // task loss
}

// PictureIDs are the instances whose pictures the report needs, sorted.
func (r *Report) PictureIDs() []string {
	var ids []string
	for _, p := range r.Pictures {
		for _, s := range p.Shown {
			ids = append(ids, s.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
