package chatjson

import "testing"

func TestLimitsOf(t *testing.T) {
	for text, want := range map[string]Limits{
		`{"messages":[]}`:                             {15, 0, ""},
		`{"max_tokens":7}`:                            {16, 7, "max_tokens"},
		`{"max_completion_tokens":7,"n":3}`:           {33, 21, "max_completion_tokens"},
		`{"max_tokens":5,"max_completion_tokens":7}`:  {42, 7, "max_completion_tokens"},
		`{"max_tokens":-1}`:                           {17, 0, "max_tokens"},
		`{"max_tokens":"9"}`:                          {18, 0, "max_tokens"},
		`{"max_tokens":1e99}`:                         {19, 0, "max_tokens"},
		`{"max_tokens":null}`:                         {19, 0, "max_tokens"},
		`{"type":"image_url","image_url":{"url":""}}`: {43 + 2*mostOfMedia, 0, ""},
		`{"tools":[]}`:                                {12 + mostOfTools, 0, ""},
		`no JSON`:                                     {7, 0, ""},
	} {
		if got := LimitsOf([]byte(text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
