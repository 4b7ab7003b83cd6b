package prices

import (
	"encoding/json"
	"errors"
	"math"
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
		if got := ReadStated(json.RawMessage(in), most); got != (Stated{Tokens: want, Parts: got.Parts, Known: true, CachedKnown: stated}) {
			t.Errorf("%s: %+v", in, got)
		}
	}
}

// What is billed apart is read in the forms of the services.
func TestStatedParts(t *testing.T) {
	for in, want := range map[string]Stated{
		// Anthropic counts what its cache had and got beside the input
		`{"input_tokens":100,"output_tokens":50,"cache_read_input_tokens":400,"cache_creation_input_tokens":300,"cache_creation":{"ephemeral_5m_input_tokens":200,"ephemeral_1h_input_tokens":100},"service_tier":"standard"}`: {
			Tokens: Tokens{800, 400, 50}, Parts: Parts{Written: 200, WrittenHour: 100}, CachedKnown: true,
		},
		`{"input_tokens":100,"output_tokens":50,"cache_creation_input_tokens":300,"service_tier":"batch"}`: {Tokens: Tokens{400, 0, 50}, Parts: Parts{Written: 300}, Batch: true},
		`{"input_tokens":0,"output_tokens":50,"cache_read_input_tokens":400,"cache_creation_input_tokens":0,"server_tool_use":{"web_search_requests":0}}`: {
			Tokens: Tokens{400, 400, 50}, CachedKnown: true,
		},
		// a proxy that puts Anthropic's counts into OpenAI's form: within the prompt, or beside it by the total
		`{"prompt_tokens":800,"completion_tokens":50,"total_tokens":850,"cache_read_input_tokens":400,"cache_creation_input_tokens":300}`: {
			Tokens: Tokens{800, 400, 50}, Parts: Parts{Written: 300}, CachedKnown: true,
		},
		`{"prompt_tokens":100,"completion_tokens":50,"total_tokens":850,"cache_read_input_tokens":400,"cache_creation_input_tokens":300}`: {
			Tokens: Tokens{800, 400, 50}, Parts: Parts{Written: 300}, CachedKnown: true,
		},
		// OpenAI's details
		`{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":300,"image_tokens":200},"completion_tokens_details":{"reasoning_tokens":60,"audio_tokens":10}}`: {
			Tokens: Tokens{1000, 0, 100}, Parts: Parts{Image: 200, Audio: 300, Reasoning: 60, AudioOut: 10}, CachedKnown: true,
		},
		// Google counts thoughts, and what its tools read, beside
		`{"promptTokenCount":1000,"candidatesTokenCount":100,"thoughtsTokenCount":40,"toolUsePromptTokenCount":7,"totalTokenCount":1147,"cachedContentTokenCount":400,"promptTokensDetails":[{"modality":"TEXT","tokenCount":990},{"modality":"IMAGE","tokenCount":10}]}`: {
			Tokens: Tokens{1007, 400, 140}, Parts: Parts{Image: 10, Reasoning: 40}, CachedKnown: true,
		},
		// Bedrock, with the cache beside
		`{"inputTokens":100,"outputTokens":50,"totalTokens":850,"cacheReadInputTokens":400,"cacheWriteInputTokens":300}`: {Tokens: Tokens{800, 400, 50}, Parts: Parts{Written: 300}, CachedKnown: true},
		`{"inputTokens":100,"outputTokens":50,"cacheReadInputTokens":400,"cacheWriteInputTokens":300}`:                   {Tokens: Tokens{800, 400, 50}, Parts: Parts{Written: 300}, CachedKnown: true},
		// Ollama
		`{"model":"m","done":true,"prompt_eval_count":26,"eval_count":298,"eval_duration":4709213000}`: {Tokens: Tokens{26, 0, 298}},
	} {
		want.Known = true
		if got := ReadStated(json.RawMessage(in), most); got != want {
			t.Errorf("%s: %+v", in, got)
		}
	}
}

// FuzzStated: a usage that is known has parts that are not more than the whole, and a cost wherever every kind has a price.
func FuzzStated(f *testing.F) {
	f.Add([]byte(`{"input_tokens":100,"output_tokens":50,"cache_read_input_tokens":400,"cache_creation_input_tokens":300,"cache_creation":{"ephemeral_1h_input_tokens":100}}`))
	f.Add([]byte(`{"promptTokenCount":1000,"candidatesTokenCount":100,"thoughtsTokenCount":40,"totalTokenCount":1140,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":10}]}`))
	one := 1.0
	all := Period{In: &one, Cached: &one, Out: &one, Batch: &one, Special: Special{&one, &one, &one, &one, &one, &one}}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := ReadStated(b, most)
		if !s.Known {
			if s.Tokens != (Tokens{}) || s.Parts != (Parts{}) {
				t.Fatalf("%+v", s)
			}
			return
		}
		money, err := all.Cost(s.Usage())
		var usage *UsageError
		if errors.As(err, &usage) && usage.Key == "cached" && s.Image+s.Audio > 0 {
			return // which of these were cached is not known
		}
		if want := float64(s.In+s.Out) / 1e6; err != nil || math.Abs(money-want) > 1e-9*want {
			t.Fatalf("%+v costs %v, not %v: %v", s, money, want, err)
		}
	})
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
		`{"prompt_tokens":1000,"completion_tokens":100,"cache_creation_input_tokens":1300}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"cache_creation_input_tokens":300,"cache_creation":{"ephemeral_1h_input_tokens":301}}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"audio_tokens":1300}}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"completion_tokens_details":{"audio_tokens":80,"reasoning_tokens":80}}`,
		`{"prompt_tokens":1000,"completion_tokens":100,"completion_tokens_details":{"image_tokens":80}}`,
		`{"input_tokens":1000,"output_tokens":100,"server_tool_use":{"web_search_requests":1}}`,
		`{"promptTokenCount":10,"candidatesTokenCount":5,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":-1}]}`,
		`{"promptTokenCount":10,"candidatesTokenCount":5,"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":5}]}`,
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
