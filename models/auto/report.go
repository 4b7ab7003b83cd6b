package auto

import (
	"encoding/json"
	"slices"

	"pipe/costs"
	"pipe/models/policy"
)

// Report is the result of the recipe for one policy. Losses are mean costs per row, in the unit of the task loss.
type Report struct {
	Lambda      float64             `json:"lambda"`             // of an any-price policy: 1
	Prices      *policy.PriceRange  `json:"prices,omitempty"`   // of an any-price policy
	Rows        int                 `json:"rows"`               // training rows
	Clusters    int                 `json:"clusters"`           // sets of rows that belong together; Rows if none repeat
	Ties        *costs.Ties         `json:"ties,omitempty"`     // rows with equal features, if their losses decided whether they are copies
	Complete    int                 `json:"complete,omitempty"` // of the training rows, those with every outcome; absent if all have
	Logged      int                 `json:"logged,omitempty"`   // of the training rows, those on which one pair was executed with known probabilities
	Unknown     int                 `json:"unknown,omitempty"`  // unknown outcomes of the training rows
	Support     []policy.Support    `json:"support,omitempty"`  // on how many training rows a log executed every pair; absent without propensities
	HalfLife    HalfLife            `json:"half_life,omitempty"`
	Folds       int                 `json:"folds"`   // 1: one inner split; 0: nothing could be held out, and there is no choice
	Blends      []policy.Member     `json:"blends"`  // rules by which members can be blended; the weight of the chosen one is 1
	Members     []policy.Member     `json:"members"` // with their weights in the chosen blend
	Margin      float64             `json:"margin"`  // of the gate
	Calibration *policy.Calibration `json:"calibration,omitempty"`
	Guard       policy.Guard        `json:"guard"`
	Warm        *WarmReport         `json:"warm,omitempty"` // of the older policy, at its lambda
	Held        [][]Decided         `json:"-"`              // decisions on the held-out rows: of a policy for one price, or by point of [TrainAt]
}

// Decided is the decision on a row by what the other folds learned: neither members nor their weights and margin have seen
// the row.
type Decided struct{ Row, Action int } // of the tensor

// info is the metadata of a policy file about its training.
func (r Report) info(s Settings) map[string]string {
	out := map[string]string{
		policy.GuardKey: r.Guard.JSON(),
		policy.SettingsKey: jsonOf(struct {
			Margin float64 `json:"margin"`
			Folds  int     `json:"folds"`
			Seeds  int     `json:"seeds"`
			Seed   uint64  `json:"seed"` // the first
			Steps  int     `json:"steps"`
			// How rows counted, and how many were complete. Absent where all counted alike, and where all were.
			HalfLife HalfLife `json:"half_life,omitempty"`
			Complete int      `json:"complete,omitempty"`
			Unknown  int      `json:"unknown,omitempty"`
			// How logged rows counted; absent where there were none.
			Logged  int     `json:"logged,omitempty"`
			Weights string  `json:"weights,omitempty"`
			Clip    float64 `json:"clip,omitempty"`
		}{r.Margin, r.Folds, s.Seeds, s.Seed, s.Steps, r.HalfLife, r.Complete, r.Unknown, r.Logged, ofLog(r, s.Weights), ofLog(r, s.Clip)}),
	}
	if r.Support != nil {
		out[policy.SupportKey] = jsonOf(r.Support)
	}
	if r.Warm != nil {
		out[policy.WarmKey] = jsonOf(r.Warm)
	}
	members, blends := r.Members, r.Blends
	if r.Guard.Fallback && !s.KeepEstimates { // none of them is in the file
		members, blends = unweighted(members), unweighted(blends)
	}
	if len(members) > 0 {
		out[policy.BlendKey], out[policy.BlendsKey] = jsonOf(members), jsonOf(blends)
	}
	if r.Calibration != nil && (!r.Guard.Fallback || s.KeepEstimates) {
		c := *r.Calibration
		c.Bins = nil
		out[policy.CalibrationKey] = jsonOf(c)
	}
	return out
}

// ofLog is a setting of logged rows; zero without such rows.
func ofLog[T any](r Report, setting T) (none T) {
	if r.Logged == 0 {
		return none
	}
	return setting
}

// unweighted is a copy without weights.
func unweighted(members []policy.Member) []policy.Member {
	out := slices.Clone(members)
	for i := range out {
		out[i].Weight = 0
	}
	return out
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain numbers and strings
	}
	return string(b)
}

// WarmReport compares an older policy with what is exported otherwise, on held-out rows that neither learned from. Gains
// are mean costs per row, positive where the older policy is cheaper; bounds are one-sided, with the confidence of the
// guard.
type WarmReport struct {
	Rows            int     `json:"rows"` // complete rows later than all that the older policy learned from, none of them with an earlier row that belongs to it
	Gain            float64 `json:"gain"` // over what is exported otherwise
	LowerBound      float64 `json:"lower_bound"`
	FixedGain       float64 `json:"fixed_gain"` // over the best fixed pair
	FixedLowerBound float64 `json:"fixed_lower_bound"`
	Used            bool    `json:"used"`
	Reason          string  `json:"reason"`
}
