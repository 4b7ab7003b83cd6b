package chatjson

import "testing"

func TestContent(t *testing.T) {
	for message, want := range map[string]bool{
		`{"content":"a"}`:                          true,
		`{"content":" \n a"}`:                      true,
		`{"content":"\u00e9"}`:                     true,
		`{"content":"\ud83d"}`:                     true, // half a character, as streams have it
		`{"content":"é"}`:                          true,
		`{"content":"\"\""}`:                       true,
		`{"content":[{"type":"text","text":"a"}]}`: true,
		`{"content":[{"type":"text","text":""},{"type":"image_url","image_url":{"url":"data:x"}}]}`: true,
		`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`:                true,
		`{"content":null,"refusal":"no"}`:                                                                true,
		`{"content":null,"reasoning":"hm"}`:                                                              true,
		`{"content":"","reasoning_content":"hm"}`:                                                        true,
		`{"reasoning_details":[{"type":"reasoning.encrypted","data":"AA=="}]}`:                           true,
		`{"thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"x"}]}`:                      true,
		`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`: true,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}`:                                      true,
		`{"function_call":{"name":"f","arguments":""}}`:                                                  true,
		`{"content":null,"audio":{"id":"a","expires_at":1}}`:                                             true,
		`{"content":"","images":[{"type":"image_url","image_url":{"url":"data:x"}}]}`:                    true,

		`{"role":"assistant","content":"","tool_calls":null,"prefix":false}`:                                            false,
		`{"content":[{"type":"text","text":""}]}`:                                                                       false,
		`{"content":[{"type":"text","text":" ","annotations":[{"url":"u"}]}]}`:                                          false,
		`{"content":null,"name":"x"}`:                                                                                   false,
		`{"content":null,"tool_calls":[{}]}`:                                                                            false,
		`{"content":null,"tool_calls":[{"index":0,"type":"function"}]}`:                                                 false,
		`{"content":"","annotations":[{"type":"url_citation"}]}`:                                                        false,
		`{"content":null,"provider_specific_fields":{"refusal":null,"a":"b"}}`:                                          false,
		`{"content":"","obfuscation":"abc"}`:                                                                            false,
		`{"content":" \n\t\u0020\u00a0"}`:                                                                               false,
		`{"content":"","reasoning_content":"\n","thinking_blocks":[{"type":"thinking","thinking":"","signature":"x"}]}`: false,
		`{"content":null,"function_call":{},"audio":{},"images":[{}],"refusal":""}`:                                     false,
		`{}`: false, `null`: false, `"a"`: false,
	} {
		for _, name := range []string{"message", "delta"} {
			a, err := ReadAnswer([]byte(`{"choices":[{"` + name + `": ` + message + `}]}`))
			if err != nil || a.Content != want {
				t.Errorf("%s %s: %v, %v", name, message, a.Content, err)
			}
		}
	}
}
