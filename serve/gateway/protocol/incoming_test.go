package protocol

import "testing"

// A loop of tools is open while a call waits for its result, or a result for the model.
func TestToolLoopOpen(t *testing.T) {
	for messages, want := range map[string]bool{
		`[{"role":"user","content":"a"}]`: false,
		`[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"x"}]`:      true,
		`[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]`:                                                       true,
		`[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"x"},{"role":"user","content":"b"}]`:      true,
		`[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":"x"},{"role":"assistant","content":"y"}]`: false,
		`[{"role":"assistant","content":"y","tool_calls":null}]`: false,
	} {
		in, err := Chat.ReadRequest([]byte(`{"model":"m","messages":` + messages + `}`))
		if err != nil {
			t.Fatal(messages, err)
		}
		if got := in.ToolLoopOpen(); got != want {
			t.Errorf("%s: %v", messages, got)
		}
	}
}
