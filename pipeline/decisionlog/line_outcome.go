package decisionlog

import (
	"encoding/json"
)

func appendOutcome(dst []byte, o *Outcome) ([]byte, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return dst, err
	}
	from := len(dst)
	return seal(append(dst, b[:len(b)-1]...), from), nil
}

func readOutcome(body []byte) (*Outcome, error) {
	var o Outcome
	if err := json.Unmarshal(closed(body), &o); err != nil {
		return nil, err
	}
	return &o, o.checkForm()
}
