package costs

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pipe/internal/strictjson"
)

// actionsFormat is the version of the JSON form of Actions.
const actionsFormat = 1

// ActionsKey is the key of the JSON form in the metadata of a Parquet file.
const ActionsKey = "pipe.actions"

// actionsFile is the name of the file next to a tensor that holds the JSON form
// where the tensor's own metadata does not.
const actionsFile = "actions.json"

type actionsJSON struct {
	Format      int               `json:"format"`
	Experts     []entryJSON       `json:"experts"`
	Advice      []entryJSON       `json:"advice"`
	Unavailable []pairJSON        `json:"unavailable,omitempty"`
	Features    *FeatureSource    `json:"features,omitempty"`
	Digests     map[string]string `json:"digests,omitempty"`
}

// entryJSON distinguishes a missing fee from a fee of zero.
type entryJSON struct {
	Name string   `json:"name"`
	Fee  *float64 `json:"fee"`
}

type pairJSON struct {
	Expert string `json:"expert"`
	Advice string `json:"advice"`
}

// ParseActions reads the JSON form:
//
//	{"format": 1,
//	 "experts": [{"name": "small", "fee": 0}, {"name": "large", "fee": 0.05}],
//	 "advice":  [{"name": "none", "fee": 0}, {"name": "search", "fee": 0.01}],
//	 "unavailable": [{"expert": "small", "advice": "search"}],
//	 "features": {"name": "all-MiniLM-L6-v2", "dim": 384},
//	 "digests": {"table.csv": "sha256:..."}}
//
// The last three keys are optional, and so is the fee of the first advice. An
// unknown key is an error, since it may be a misspelt fee.
func ParseActions(b []byte) (*Actions, error) {
	var version struct {
		Format *int `json:"format"`
	}
	if err := strictjson.Unmarshal(b, &version); err != nil {
		return nil, fmt.Errorf("parse actions: %w", strictjson.Plain(err))
	}
	switch {
	case version.Format == nil:
		return nil, fmt.Errorf(`parse actions: no "format"; this version writes format %d`, actionsFormat)
	case *version.Format > actionsFormat:
		return nil, fmt.Errorf("parse actions: format %d is newer than %d, the newest this version reads",
			*version.Format, actionsFormat)
	case *version.Format < 1:
		return nil, fmt.Errorf("parse actions: format %d does not exist", *version.Format)
	}
	var in actionsJSON
	if err := strictjson.UnmarshalAll(b, &in); err != nil {
		return nil, fmt.Errorf("parse actions: %w", strictjson.Plain(err))
	}
	a, err := in.actions()
	if err == nil {
		err = a.Validate()
	}
	if err != nil {
		return nil, fmt.Errorf("parse actions: %w", err)
	}
	return a, nil
}

func (in *actionsJSON) actions() (*Actions, error) {
	a := &Actions{Digests: in.Digests}
	for _, e := range in.Experts {
		if e.Fee == nil {
			return nil, fmt.Errorf("expert %q has no fee", e.Name)
		}
		a.Experts = append(a.Experts, Expert{e.Name, *e.Fee})
	}
	for k, v := range in.Advice {
		fee := 0.0
		switch {
		case v.Fee != nil:
			fee = *v.Fee
		case k > 0:
			return nil, fmt.Errorf("advice %q has no fee", v.Name)
		}
		a.Advice = append(a.Advice, Advice{v.Name, fee})
	}
	experts, advice := make(map[string]int), make(map[string]int)
	for j, e := range a.Experts {
		experts[e.Name] = j
	}
	for k, v := range a.Advice {
		advice[v.Name] = k
	}
	for _, u := range in.Unavailable {
		expert, known := experts[u.Expert]
		level, known2 := advice[u.Advice]
		p := Pair{expert, level}
		if !known || !known2 {
			return nil, fmt.Errorf("unavailable pair %q/%q names no known expert or advice", u.Expert, u.Advice)
		}
		a.Unavailable = append(a.Unavailable, p)
	}
	if in.Features != nil {
		a.Features = *in.Features
	}
	return a, nil
}

// JSON returns the JSON form that ParseActions reads. Equal descriptions give
// equal bytes. It panics if a fee is not finite or a pair is outside the set;
// Validate rejects both.
func (a *Actions) JSON() []byte {
	out := actionsJSON{Format: actionsFormat, Digests: a.Digests}
	for _, e := range a.Experts {
		out.Experts = append(out.Experts, entryJSON{e.Name, &e.Fee})
	}
	for _, v := range a.Advice {
		out.Advice = append(out.Advice, entryJSON{v.Name, &v.Fee})
	}
	for i, available := range a.Mask() {
		if !available {
			j, k := a.Pair(i)
			out.Unavailable = append(out.Unavailable, pairJSON{a.Experts[j].Name, a.Advice[k].Name})
		}
	}
	if a.Features != (FeatureSource{}) {
		out.Features = &a.Features
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		panic(fmt.Sprintf("costs: actions cannot be written as JSON: %v", err))
	}
	return bytes.TrimSpace(buf.Bytes())
}

// MarshalJSON is JSON with an error instead of a panic.
func (a *Actions) MarshalJSON() ([]byte, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	return a.JSON(), nil
}

// UnmarshalJSON is ParseActions.
func (a *Actions) UnmarshalJSON(b []byte) error {
	parsed, err := ParseActions(b)
	if err == nil {
		*a = *parsed
	}
	return err
}
