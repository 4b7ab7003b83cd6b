package prices

import (
	"encoding/json"
	"strings"
	"testing"
)

const most = 100_000_000

func TestStatedUsage(t *testing.T) {
	for in, want := range map[string]Tokens{
		`{"prompt_tokens":10,"completion_tokens":2}`:                                                                                                 {10, 0, 2},
		`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":null}`:                                                                             {10, 0, 2},
		`{"prompt_tokens":1e1,"completion_tokens":2.0,"prompt_tokens_details":{"cached_tokens":4}}`:                                                  {10, 4, 2},
		`{"prompt_tokens":10,"completion_tokens":0,"prompt_tokens_details":null}`:                                                                    {10, 0, 0},
		`{"prompt_tokens":10,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":null,"x":1}}`:                                            {10, 0, 0},
		`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12,"audio_tokens":0,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0}}`: {10, 0, 2},
		// reasoning within the completion, and beside it
		`{"prompt_tokens":1000,"completion_tokens":400,"total_tokens":1400,"completion_tokens_details":{"reasoning_tokens":300}}`: {1000, 0, 400},
		`{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1400,"completion_tokens_details":{"reasoning_tokens":300}}`: {1000, 0, 400},
		`{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1400,"reasoning_tokens":300}`:                               {1000, 0, 400},
		`{"prompt_tokens":1000,"completion_tokens":400,"reasoning_tokens":300}`:                                                   {1000, 0, 400},
		// cached tokens in every spelling
		`{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100,"prompt_cache_hit_tokens":400,"prompt_cache_miss_tokens":600}`:                            {1000, 400, 100},
		`{"prompt_tokens":1000,"completion_tokens":100,"prompt_cache_hit_tokens":400,"prompt_tokens_details":{"cached_tokens":400}}`:                                 {1000, 400, 100},
		`{"prompt_tokens":1000,"completion_tokens":100,"cached_tokens":400}`:                                                                                         {1000, 400, 100},
		`{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100,"cache_read_input_tokens":400,"cache_creation_input_tokens":0}`:                           {1000, 400, 100},
		`{"prompt_tokens":600,"completion_tokens":100,"total_tokens":1100,"cache_read_input_tokens":400}`:                                                            {1000, 400, 100},
		`{"input_tokens":600,"output_tokens":100,"cache_read_input_tokens":400}`:                                                                                     {1000, 400, 100},
		`{"input_tokens":1000,"output_tokens":100,"total_tokens":1100,"input_tokens_details":{"cached_tokens":400},"output_tokens_details":{"reasoning_tokens":60}}`: {1000, 400, 100},
		`{"prompt_tokens":600,"completion_tokens":100,"total_tokens":1150,"cached_tokens":400,"reasoning_tokens":50}`:                                                {1000, 400, 150},
	} {
		stated := strings.Contains(in, "cache") && !strings.Contains(in, `"cached_tokens":null`)
		if got := ReadStated(json.RawMessage(in), most); got != (Stated{Tokens: want, Known: true, CachedKnown: stated}) {
			t.Errorf("%s: %+v", in, got)
		}
	}
}

func TestUsageThatIsNotBelieved(t *testing.T) {
	for _, in := range []string{
		`{}`, `{"prompt_tokens":10}`, `{"prompt_tokens":-1,"completion_tokens":2}`, `{"prompt_tokens":1.5,"completion_tokens":2}`, `7`,
		`{"prompt_tokens":1,"completion_tokens":1e300}`, `{"prompt_tokens":"1","completion_tokens":1}`, `{"prompt_tokens":200000000,"completion_tokens":1}`,
		`{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":2}}`, `{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":-1}}`,
		`{"prompt_tokens":0,"completion_tokens":0}`, `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, `{"prompt_tokens":0,"completion_tokens":5}`,
		`{"prompt_tokens":5,"completion_tokens":3,"total_tokens":1}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1400}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100,"reasoning_tokens":300}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1400,"reasoning_tokens":300,"cached_tokens":300}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"cached_tokens":300,"prompt_cache_hit_tokens":400}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"prompt_cache_hit_tokens":400,"prompt_cache_miss_tokens":500}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"cache_creation_input_tokens":300}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"audio_tokens":300}}`,
		`{"Prompt_Tokens":10,"completion_tokens":2}`,
	} {
		if got := ReadStated(json.RawMessage(in), most); got.Known || got.Tokens != (Tokens{}) || got.Reason == "" {
			t.Errorf("%s: %+v", in, got)
		}
	}
	for _, none := range []string{"", "null"} {
		if got := ReadStated(json.RawMessage(none), most); got != (Stated{}) {
			t.Errorf("%q: %+v", none, got)
		}
	}
}

// No tokens of a completion are believed only of an answer without content.
func TestUsageOfContent(t *testing.T) {
	u := ReadStated(json.RawMessage(`{"prompt_tokens":10,"completion_tokens":0}`), most)
	if !u.For(false).Known || u.For(true).Known || u.For(true).Reason == "" {
		t.Errorf("%+v, %+v", u.For(false), u.For(true))
	}
}
