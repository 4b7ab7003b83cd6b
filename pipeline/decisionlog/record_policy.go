package decisionlog

import (
	"encoding/json"
	"fmt"

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
}

type policyJSON struct {
	Name     string          `json:"name"`
	Digest   string          `json:"digest"`
	Lambda   float64         `json:"lambda"`
	Dim      int             `json:"dim"`
	AnyPrice bool            `json:"any_price"`
	Actions  json.RawMessage `json:"actions"`
}

// MarshalJSON is the form in the segments.
func (p *PolicyInfo) MarshalJSON() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return json.Marshal(policyJSON{p.Name, p.Digest, p.Lambda, p.Dim, p.AnyPrice, p.Actions.JSON()})
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
	*p = PolicyInfo{in.Name, in.Digest, actions, in.Lambda, in.Dim, in.AnyPrice}
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
