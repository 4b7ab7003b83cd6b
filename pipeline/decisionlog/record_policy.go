package decisionlog

import (
	"encoding/json"
	"fmt"
	"maps"

	"pipe/costs"
)

// PolicyInfo describes one version of a policy: what its records need to be read.
type PolicyInfo struct {
	Name     string
	Digest   string         // of the file
	Actions  *costs.Actions // names and fees of experts and advice
	Lambda   float64        // multiplier of the advice fees in the file
	Dim      int            // features of a row; 0: not known
	AnyPrice bool           // prices are inputs
	// Meta is what a tensor of the decisions has in common with the one that the policy was trained on, such as the names of
	// features, by keys of its metadata. nil: not known, as in logs of earlier versions. What is too long is not logged.
	Meta map[string]string
}

type policyJSON struct {
	Name     string          `json:"name"`
	Digest   string          `json:"digest"`
	Lambda   float64         `json:"lambda"`
	Dim      int             `json:"dim"`
	AnyPrice bool            `json:"any_price"`
	Actions  json.RawMessage `json:"actions"`

	Meta map[string]string `json:"meta,omitempty"`
}

// MarshalJSON is the form in the segments.
func (p *PolicyInfo) MarshalJSON() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return json.Marshal(policyJSON{p.Name, p.Digest, p.Lambda, p.Dim, p.AnyPrice, p.Actions.JSON(), p.meta()})
}

// maxMeta keeps the line of a policy far below maxLine: a line that cannot be read would cost all records of the policy.
const maxMeta = 1 << 19

// meta is Meta without what is too long.
func (p *PolicyInfo) meta() map[string]string {
	short := maps.Clone(p.Meta)
	maps.DeleteFunc(short, func(_, value string) bool { return len(value) > maxMeta })
	return short
}

// UnmarshalJSON reads the form in the segments, and checks it.
func (p *PolicyInfo) UnmarshalJSON(b []byte) error {
	var in policyJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	actions, err := costs.ParseActions(in.Actions)
	if err != nil {
		return err
	}
	*p = PolicyInfo{in.Name, in.Digest, actions, in.Lambda, in.Dim, in.AnyPrice, in.Meta}
	return p.check()
}

func (p *PolicyInfo) check() error {
	switch {
	case p.Digest == "" || len(p.Digest) > maxText:
		return fmt.Errorf("policy %q has no digest, or one of more than %d bytes", p.Name, maxText)
	case len(p.Name) > maxText:
		return fmt.Errorf("the name of policy %s has more than %d bytes", p.Digest, maxText)
	case p.Actions == nil:
		return fmt.Errorf("policy %q has no actions", p.Name)
	case p.Dim < 0 || p.Dim > maxDim:
		return fmt.Errorf("policy %q has %d features; at most %d are logged", p.Name, p.Dim, maxDim)
	}
	return p.Actions.Validate()
}
