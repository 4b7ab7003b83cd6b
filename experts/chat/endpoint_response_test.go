package chat

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"pipe/experts/service"
)

// TestHowAnswersEnd: a short word is a reason, and nothing else is. A reason that holds the key is none.
func TestHowAnswersEnd(t *testing.T) {
	key := service.Secret("sk-0123456789abcdef0123456789")
	for stated, want := range map[string]string{
		`"stop"`: "stop", `"length"`: "length", `"content_filter"`: "content_filter", `"SAFETY"`: "SAFETY",
		``: "", `null`: "", `""`: "", `7`: "", `{"reason":"stop"}`: "", `["stop"]`: "", `"two words"`: "", `"line\nbreak"`: "", `"é"`: "", `"\ud800"`: "",
		`"` + strings.Repeat("x", 41) + `"`: "", `"` + string(key) + `"`: "",
	} {
		if got := finishOf(key, json.RawMessage(stated)); got != want {
			t.Errorf("%s: got %q, want %q", stated, got, want)
		}
	}
}

// TestLogProbabilitiesOfTokens adds them, and takes none where one is missing or cannot be.
func TestLogProbabilitiesOfTokens(t *testing.T) {
	none := math.NaN()
	for stated, want := range map[string]float64{
		`{"content":[{"logprob":-0.25},{"token":"a","logprob":-1.5,"top_logprobs":[]}]}`: -1.75,
		`{"content":[{"logprob":0}]}`:                         0,
		`{"content":[{"logprob":-9999.0}]}`:                   -9999,
		`{"content":[{"logprob":-0.25},{"token":"a"}]}`:       none,
		`{"content":[{"logprob":-0.25},{"logprob":null}]}`:    none,
		`{"content":[{"logprob":0.25}]}`:                      none,
		`{"content":[{"logprob":"-1"}]}`:                      none,
		`{"content":[{"logprob":-1e308},{"logprob":-1e308}]}`: none,
		`{"content":[{"logprob":-1e400}]}`:                    none,
		`{"content":[]}`:                                      none, `{"content":null}`: none, `{}`: none, `[]`: none, `null`: none, `7`: none, ``: none,
	} {
		got := logProbOf(json.RawMessage(stated))
		if (got == nil) != (want != want) || got != nil && *got != want {
			t.Errorf("%s: got %v, want %v", stated, got, want)
		}
	}
}
