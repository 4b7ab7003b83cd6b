package protocol

import "testing"

func TestLimitsOf(t *testing.T) {
	for text, want := range map[string]Limits{
		`{"messages":[]}`:                                  {15, -1, ""},
		`{"max_tokens":7}`:                                 {16, 7, "max_tokens"},
		`{"max_completion_tokens":7,"n":3}`:                {33, 21, "max_completion_tokens"},
		`{"max_tokens":5,"max_completion_tokens":7}`:       {42, 7, "max_completion_tokens"},
		`{"max_tokens":-1}`:                                {17, -1, "max_tokens"},
		`{"max_tokens":"9"}`:                               {18, -1, "max_tokens"},
		`{"max_tokens":1e99}`:                              {19, -1, "max_tokens"},
		`{"max_tokens":null}`:                              {19, -1, "max_tokens"},
		`{"max_output_tokens":3}`:                          {23, -1, ""},
		`{"type":"image_url","image_url":{"url":""}}`:      {43 + 2*mostOfMedia, -1, ""},
		`{"tools":[]}`:                                     {12 + mostOfTools, -1, ""},
		`{"max_tokens":7,"tools":[{"type":"function"}]}`:   {46 + mostOfTools, 7, "max_tokens"},
		`{"max_tokens":7,"tools":[{"type":"web_search"}]}`: {-1, 7, "max_tokens"},
		`no JSON`: {-1, -1, ""},
	} {
		if got := LimitsOf(Chat, []byte(text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
	for f, text := range map[Format]string{
		Messages: `{"max_tokens":7,"n":3}`, Responses: `{"max_output_tokens":7,"max_tokens":9}`, Completions: `{"max_tokens":7}`,
		Gemini.Format: `{"generationConfig":{"maxOutputTokens":7}}`, Ollama.Format: `{"options":{"num_predict":7}}`, Bedrock.Format: `{"inferenceConfig":{"maxTokens":7}}`,
	} {
		if got := LimitsOf(f, []byte(text)); got.Out != 7 || got.In != int64(len(text)) {
			t.Errorf("%s %s: %+v", f.Name(), text, got)
		}
	}
	if got := LimitField(Gemini.Format); got != "generationConfig.maxOutputTokens" {
		t.Error(got)
	}
	if got := LimitsOf(Responses, []byte(`{"max_output_tokens":7,"previous_response_id":"a"}`)); got.In != -1 || got.Out != 7 {
		t.Errorf("a prompt that the service keeps: %+v", got)
	}
	if got := LimitsOf(Embeddings, []byte(`{"input":"a"}`)); got.Out != 0 || got.In != 13 {
		t.Errorf("an embedding: %+v", got)
	}
}
