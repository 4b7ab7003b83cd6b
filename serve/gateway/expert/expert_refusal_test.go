package expert

import "testing"

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
			if got := ownRefusal(code, []byte(text)); got != want {
				t.Errorf("%d %s: %q, want %q", code, text, got, want)
			}
		}
	}
	if ownRefusal(413, nil) == "" || ownRefusal(415, []byte("context length")) != "" || ownRefusal(451, nil) != "" {
		t.Error("other statuses")
	}
}
