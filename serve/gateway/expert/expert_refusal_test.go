package expert

import (
	"encoding/json"
	"testing"
)

// Refusals that only one expert has, in the words of services, and those of the caller's making.
func TestOwnRefusals(t *testing.T) {
	for text, want := range map[string]string{
		`{"error":{"message":"x","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`:                                                                           "the conversation is too long for it",
		`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000","type":"BadRequestError","code":400}`:                                     "the conversation is too long for it",
		`{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`:                                                "the conversation is too long for it",
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`:                                                               "the conversation is too long for it",
		`[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`:                               "the conversation is too long for it",
		`{"error":{"message":"The response was filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`:                                                         "its filter of contents",
		`{"error":{"message":"Output blocked by content filtering policy"}}`:                                                                                                                     "its filter of contents",
		`{"error":"registry.example/library/tiny does not support tools"}`:                                                                                                                       "it has no tools",
		`{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}`:                                                                                 "it has no tools",
		`{"error":{"message":"Invalid content type. image_url is only supported by certain models."}}`:                                                                                           "it sees no pictures",
		`{"message":"At most 0 image(s) may be provided in one request."}`:                                                                                                                       "it sees no pictures",
		`{"error":{"message":"Failed to deserialize the JSON body into the target type: messages[0]: unknown variant ` + "`image_url`, expected `text`" + `"}}`:                                  "it sees no pictures",
		`{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.","param":"temperature","code":"unsupported_value"}}`: "it does not take a setting of the request",
		`{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}`: "it does not take a setting of the request",
		`prompt is too long`: "the conversation is too long for it",
		// The caller's.
		`{"error":{"message":"Invalid type for 'temperature': expected a number","code":"invalid_type"}}`:                                                 "",
		`{"error":{"message":"temperature must be at most 2","code":"decimal_above_max_value"}}`:                                                          "",
		`{"error":{"message":"[] is too short - 'messages'"}}`:                                                                                            "",
		`{"error":{"message":"Invalid schema for function 'f'","param":"tools[0].function.parameters","code":"invalid_function_parameters"}}`:             "",
		`{"error":{"message":"Failed to parse the image: it is not a PNG"}}`:                                                                              "",
		`{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required","input":{"user":"what is a context window? a content filter?"}}]}`: "",
		`{}`: "", ``: "", `null`: "",
	} {
		for _, code := range []int{400, 422} {
			if got := expertRefusal(code, []byte(text)); got != want {
				t.Errorf("%d %s: %q, want %q", code, text, got, want)
			}
		}
	}
	for code, want := range map[int]bool{413: true, 414: true, 431: true, 451: true, 405: false, 406: false, 415: false} {
		if got := expertRefusal(code, []byte("context length")); (got != "") != want {
			t.Errorf("%d: %q", code, got)
		}
	}
}

// More words of services, each in the field message, as it is and as a text alone.
func TestOwnRefusalsByWords(t *testing.T) {
	for want, all := range map[string][]string{
		"the conversation is too long for it": {
			"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000",
			"Input is too long for requested model.",
			"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
			"The decoder prompt (length 40000) is longer than the maximum model length of 32768.",
			"too many tokens: total number of tokens in the prompt cannot exceed 4081",
		},
		"it does not take a setting of the request": {
			"max_tokens is too large: 20000. This model supports at most 16384 completion tokens, whereas you provided 20000.",
			"`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
		},
		"it has no tools": {
			"`tool calling` is not supported with this model",
			"Unsupported parameter: 'tools' is not supported with this model.",
		},
		"it sees no pictures": {
			"Image input is not enabled for this model",
			"'messages.0' : for 'role:user' the following must be satisfied[('messages.0.content' : value must be a string)]",
		},
		"its filter of contents": {
			"Your request was rejected as a result of our safety system.",
		},
		"": { // the caller's
			"`temperature` must be a number",
			"'messages.0.role' : value must be a string",
			"'messages.0.name' : value must be a string",
			"max_tokens is too small: 0. It must be at least 1.",
			"Input validation error: `max_new_tokens` must be strictly positive",
			"Input validation error: `inputs` cannot be empty",
			"Invalid value for 'content': expected a string, got null.",
			"`tools` must not be empty",
			"Invalid 'user': string too long. Expected at most 64 characters.",
			"prompt cannot be empty",
		},
	} {
		for _, said := range all {
			quoted, err := json.Marshal(map[string]any{"error": map[string]string{"message": said, "type": "invalid_request_error"}})
			if err != nil {
				t.Fatal(err)
			}
			for _, code := range []int{400, 422} {
				if got, plain := expertRefusal(code, quoted), expertRefusal(code, []byte(said)); got != want || plain != want {
					t.Errorf("%d %s: %q and %q, want %q", code, said, got, plain, want)
				}
			}
		}
	}
	if got := expertRefusal(400, []byte(`{"error":{"message":"no","code":"moderation_blocked"}}`)); got != "its filter of contents" {
		t.Errorf("a code: %q", got)
	}
}
