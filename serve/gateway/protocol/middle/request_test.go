package middle

import "testing"

func TestToolLoops(t *testing.T) {
	user := Message{Role: User, Parts: []Part{{Kind: Text, Text: "x"}}}
	call := Message{Role: Assistant, Parts: []Part{{Kind: Text, Text: "x"}, {Kind: Call, ID: "c"}}}
	result := Message{Role: ToolRole, Parts: []Part{{Kind: Result, ID: "c"}}}
	said := Message{Role: Assistant, Parts: []Part{{Kind: Text, Text: "x"}}}
	for name, c := range map[string]struct {
		messages []Message
		open     bool
	}{
		"none":               {nil, false},
		"a question":         {[]Message{user}, false},
		"a call":             {[]Message{user, call}, true},
		"a result":           {[]Message{user, call, result}, true},
		"a result and words": {[]Message{user, call, result, user}, true},
		"an answer":          {[]Message{user, call, result, said}, false},
		"after an answer":    {[]Message{user, call, result, said, user}, false},
		"a second call":      {[]Message{user, call, result, said, user, call}, true},
		"left":               {[]Message{user, call, user}, false},
	} {
		if got := (&Request{Messages: c.messages}).ToolLoopOpen(); got != c.open {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestToolsWithoutPartners(t *testing.T) {
	r := &Request{Messages: []Message{
		{Parts: []Part{{Kind: Call, ID: "a"}, {Kind: Call, ID: "a"}}}, {Parts: []Part{{Kind: Result, ID: "a"}, {Kind: Result, ID: "b"}}},
	}}
	r.CheckTools(func(i, k int) string { return string(rune('0'+i)) + string(rune('0'+k)) })
	if len(r.Malformed) != 2 || r.Malformed[0].Param != "01" || r.Malformed[1].Param != "11" {
		t.Errorf("%v", r.Malformed)
	}
}
