package language

import (
	"fmt"
	"strings"

	"pipe/costs/grade"
	"pipe/experts/builder/part"
)

// ClaimConversation asks for exactly one of the labels for an instance's text,
// given the passages that are shown for it.
func ClaimConversation(labels []string, in *part.Instance, shown part.AdvicePayload) Conversation {
	names := make([]string, len(labels))
	for i, l := range labels {
		names[i] = grade.Spelled(l)
	}
	choice := strings.Join(names, ", ")
	return Conversation{
		{Role: "system", Content: "You judge claims by the evidence that comes with them. Your whole reply is exactly one of these labels: " + choice + "."},
		{Role: "user", Content: fmt.Sprintf("CLAIM\n%s\n\nEVIDENCE\n%s\n\nReply with exactly one of these labels and nothing else: %s.",
			in.Text, evidence(shown.Passages), choice)},
	}
}

// ClaimWording is the prompt for an empty instance, with passages that show how
// pages are named. Builds that use the prompt depend on it.
func ClaimWording(labels []string) Conversation {
	return ClaimConversation(labels, &part.Instance{}, part.AdvicePayload{Passages: []part.Passage{{Page: "page_-LRB-a-RRB-"}, {}}})
}

// evidence lists the passages, or states that there are none.
func evidence(passages []part.Passage) string {
	if len(passages) == 0 {
		return "EMPTY"
	}
	lines := make([]string, len(passages))
	for i, p := range passages {
		lines[i] = fmt.Sprintf("[%d] %s: %s", i+1, p.Title(), p.Text)
	}
	return strings.Join(lines, "\n")
}

// Conversation is the turns before an answer, in order.
type Conversation []Message

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"` // system, user or assistant
	Content string `json:"content"`
}
