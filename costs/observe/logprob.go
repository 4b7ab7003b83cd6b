package observe

import (
	"encoding/json"
	"math"
)

// TokenLogProb sums the log-probabilities of the tokens of an answer, as the field logprobs of a chat completion's choice states them.
// It is NaN if they are not there, or cannot be.
func TokenLogProb(stated json.RawMessage) float64 {
	var list struct {
		Content []struct {
			LogProb *float64 `json:"logprob"`
		} `json:"content"`
	}
	if json.Unmarshal(stated, &list) != nil || len(list.Content) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, token := range list.Content {
		if token.LogProb == nil || *token.LogProb > 0 {
			return math.NaN()
		}
		sum += *token.LogProb
	}
	if math.IsInf(sum, 0) {
		return math.NaN()
	}
	return sum
}
