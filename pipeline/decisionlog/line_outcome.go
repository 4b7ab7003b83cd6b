package decisionlog

import (
	"encoding/json"
)

// outcomeLine is an outcome in a segment.
type outcomeLine struct {
	ID      string   `json:"id"`
	Time    int64    `json:"time"`
	Loss    *float64 `json:"loss"`
	Score   *float64 `json:"score"`
	Correct *bool    `json:"correct"`
	Label   string   `json:"label"`
	Comment string   `json:"comment"`
	Client  string   `json:"client"`
}

func appendOutcome(dst []byte, o *Outcome) ([]byte, error) {
	b, err := json.Marshal(outcomeLine(*o))
	if err != nil {
		return dst, err
	}
	from := len(dst)
	return seal(append(dst, b[:len(b)-1]...), from), nil
}

func readOutcome(body []byte) (*Outcome, error) {
	var in outcomeLine
	if err := json.Unmarshal(closed(body), &in); err != nil {
		return nil, err
	}
	o := Outcome(in)
	return &o, o.Check()
}
