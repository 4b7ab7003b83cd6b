package panels

import (
	"encoding/json"

	"pipe/costs/grade"
	"pipe/serve/gateway/protocol"
)

// Said is an answer of a panel.
type Said struct{ Pair, Text string }

// Reference returns what the answers of a panel of some pairs are compared with: the answer of the pair named of, or what a [Majority]
// says; nothing for "". ok is false if there is none: the pair did not answer, its answer can be no reference, or no answer has a
// majority.
func Reference(g grade.Grader, of string, all []Said, pairs int) (references []string, ok bool) {
	if of == "" {
		return nil, true
	}
	if of == Majority {
		return majority(g, all, pairs)
	}
	for _, a := range all {
		if a.Pair == of {
			return reference(g, a.Text)
		}
	}
	return nil, false
}

func reference(g grade.Grader, text string) (references []string, ok bool) {
	text = grade.WithoutThoughts(text)
	return []string{text}, g.Check(text) == nil
}

// majority is what more than half of the pairs say, by what the grader judges. A pair that failed agrees with none.
func majority(g grade.Grader, all []Said, pairs int) (references []string, ok bool) {
	count := map[string]int{}
	for _, a := range all {
		key, ok := g.Key(a.Text)
		if !ok {
			continue
		}
		if count[key]++; count[key] > 1 && 2*count[key] > pairs {
			return reference(g, a.Text)
		}
	}
	return nil, false
}

// JudgeRequest is a question to a judge as a request for a chat completion by a model.
func JudgeRequest(model string, r grade.Request) (*protocol.Incoming, error) {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages []message
	if r.System != "" {
		messages = append(messages, message{"system", r.System})
	}
	text, err := json.Marshal(map[string]any{"model": model, "messages": append(messages, message{"user", r.User})})
	if err != nil {
		return nil, err
	}
	return protocol.Chat.ReadRequest(text)
}
