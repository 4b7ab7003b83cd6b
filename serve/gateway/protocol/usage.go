package protocol

import (
	"encoding/json"

	"pipe/costs/prices"
	"pipe/serve/gateway/protocol/middle"
)

// usageFields are the counts of tokens as OpenAI's two protocols and Anthropic's have them.
type usageFields struct {
	Prompt     *int64 `json:"prompt_tokens"`
	Completion *int64 `json:"completion_tokens"`
	In         *int64 `json:"input_tokens"`
	Out        *int64 `json:"output_tokens"`
	Read       int64  `json:"cache_read_input_tokens"`
	Written    int64  `json:"cache_creation_input_tokens"`
	PromptMore struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	InMore struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	CompletionMore struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	OutMore struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// readUsage reads a usage in one of the three protocols. Anthropic counts tokens of a cache beside those of the prompt.
func readUsage(v json.RawMessage) middle.Usage {
	if len(v) == 0 || string(v) == "null" {
		return middle.Usage{}
	}
	u := middle.Usage{Stated: prices.ReadStated(v, middle.MaxTokens)}
	var f usageFields
	if json.Unmarshal(v, &f) != nil {
		return u
	}
	switch {
	case f.Prompt != nil && f.Completion != nil:
		u.In, u.Cached, u.Written, u.Out, u.Reasoning = *f.Prompt, f.PromptMore.Cached, f.PromptMore.Written, *f.Completion, f.CompletionMore.Reasoning
	case f.In != nil && f.Out != nil:
		u.In, u.Cached, u.Written, u.Out, u.Reasoning = *f.In+f.Read+f.Written, f.InMore.Cached+f.Read, f.Written, *f.Out, f.OutMore.Reasoning
	default:
		return u
	}
	u.Reported = true
	return u
}

// chatUsage writes a usage for chat completions.
func chatUsage(u middle.Usage) object {
	return object{
		"prompt_tokens": u.In, "completion_tokens": u.Out, "total_tokens": u.In + u.Out,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}
