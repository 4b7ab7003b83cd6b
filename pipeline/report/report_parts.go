package report

import (
	"slices"

	"pipe/costs/builder"
)

// AnswerQuality tells how the answers of one part that asks a chat model could be read, and what they cost: those that
// the costs are made of, whether this run asked for them or an earlier one.
type AnswerQuality struct {
	Setting          string  `json:"setting,omitempty"`
	Part             string  `json:"part"`
	Answers          int64   `json:"answers"`
	Strict           int64   `json:"strict"`      // a label and nothing else
	Lenient          int64   `json:"lenient"`     // one label occurs
	Unparseable      int64   `json:"unparseable"` // other answers of an expert
	Queries          int64   `json:"queries"`     // answers of a reformulator that hold one
	Empty            int64   `json:"empty"`       // answers of a reformulator that hold no query: the claim is searched for
	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	Estimated        int64   `json:"estimated,omitempty"` // answers whose tokens the service did not count
	Money            float64 `json:"money"`               // at the prices of the configuration
}

// ExpertQuality tells how good one expert is under one advice on the reported rows, whatever the task loss hides.
type ExpertQuality struct {
	Setting string  `json:"setting,omitempty"`
	Rate    float64 `json:"rate,omitempty"` // share of the positive label, beside the mean probability
	builder.ExpertFigures
}

// Figures lists what an ExpertQuality measures, in the order of the table.
func (q *ExpertQuality) Figures() []**float64 {
	return []**float64{
		&q.Threshold, &q.Accuracy, &q.BalancedAccuracy, &q.AUC, &q.Recall, &q.Precision, &q.Brier, &q.CalibrationError, &q.MeanProbability,
	}
}

// Disclosure tells, for one method in one regime, how often a sensitive group of columns was opened and what that was
// worth. Shares lie in [0, 1], worths are in the unit of the task loss.
type Disclosure struct {
	Setting string  `json:"setting,omitempty"`
	Method  string  `json:"method"`
	Lambda  float64 `json:"lambda"`
	Group   string  `json:"group"`
	Opened  float64 `json:"opened"` // share of the rows whose advice opened the group
	// Over the rows that were opened: the same expert at the deepest level that keeps the group closed, minus the chosen
	// pair. Gross counts task loss only, net the fees too; negative: it was not worth it. Absent if nothing was opened.
	Gross    *float64 `json:"gross,omitempty"`
	Net      *float64 `json:"net,omitempty"`
	TrueLoss float64  `json:"true_loss"`
	// True loss if the group could never be opened: the same policy choosing among the remaining pairs by its scores.
	// Absent where no pair remains.
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

// Picture is an instance, and what the pair says of it. The picture itself is in the report's album.
type Picture struct {
	ID     string  `json:"id"`
	Label  string  `json:"label"`
	Answer string  `json:"answer"`
	Loss   float64 `json:"loss"` // task loss
}

// PictureIDs are the instances whose pictures the report wants, sorted.
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
