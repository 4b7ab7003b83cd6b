package fit

import (
	"pipe/models/auto"
	"pipe/models/cascade"
	"pipe/models/policy"
)

// Report is the result of the training of a cascade. Losses are mean costs per row, in the unit of the task loss.
type Report struct {
	Lambda    float64            `json:"lambda"`           // of an any-price cascade: 1
	Prices    *policy.PriceRange `json:"prices,omitempty"` // of an any-price cascade
	Rows      int                `json:"rows"`             // training rows
	Clusters  int                `json:"clusters"`         // sets of rows that belong together
	Stages    int                `json:"stages"`
	Pairs     []string           `json:"pairs"`                // that may be executed after another one
	FirstOnly []string           `json:"first_only,omitempty"` // that may not, since the number of states is limited
	States    []StateReport      `json:"states,omitempty"`     // absent with Guard.Fallback
	OneShot   auto.Report        `json:"one_shot"`             // of the policy on the features alone
	Guard     cascade.Guard      `json:"guard"`
	// Calibration compares expected losses of accepted answers with what came true, on the guarded rows, for what is exported. Estimates
	// are those of the folds; nil if nothing could be held out.
	Calibration *policy.Calibration `json:"calibration,omitempty"`
}

// StateReport is about one state.
type StateReport struct {
	Executed []string        `json:"executed"`
	Rows     int             `json:"rows"`    // on which the cost of every action is known
	Guard    policy.Guard    `json:"guard"`   // of the state, against its best fixed action
	Members  []policy.Member `json:"members"` // with their weights
}
