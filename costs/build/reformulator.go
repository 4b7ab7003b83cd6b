package build

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/costs/builder/part"
)

// reformulator lets a chat model turn instances into queries. It is safe for
// concurrent use.
type reformulator struct {
	chatModel
	part string // of the configuration
}

// newReformulator makes the reformulator of the part in the making from its own
// settings: the kind of a chat model, and the settings of that kind.
func newReformulator(ctx context.Context, of *part.Setup, settings map[string]any) (*reformulator, error) {
	s := of.Subpart("reformulator")
	c, err := openChat(ctx, s, settings)
	if err != nil {
		return nil, fmt.Errorf("reformulator: %w", err)
	}
	if err := countAnswers(s); err != nil {
		return nil, errors.Join(fmt.Errorf("reformulator: %w", err), c.Close())
	}
	return &reformulator{c, s.Part}, s.InputJSON("prompt", queryConversation(&part.Instance{}))
}

// Queries returns a query per instance: the model's, or the instance's text where
// the model's answer is empty.
func (r *reformulator) Queries(ctx context.Context, batch []part.Instance) ([]string, error) {
	asked := make([]conversation, len(batch))
	for n := range batch {
		asked[n] = queryConversation(&batch[n])
	}
	answers, err := r.Complete(ctx, asked)
	if err != nil {
		return nil, fmt.Errorf("reformulate: %w", nameInstance(err, batch))
	}
	queries := make([]string, len(batch))
	for n, a := range answers {
		if queries[n] = cleanQuery(a.Text); queries[n] != "" {
			tallyOf(ctx).add(r.part, AnswerCount{Queries: 1})
			continue
		}
		queries[n] = batch[n].Text
		tallyOf(ctx).add(r.part, AnswerCount{Empty: 1})
	}
	return queries, nil
}

// queryConversation asks for a search query for an instance's text.
func queryConversation(in *part.Instance) conversation {
	return conversation{
		{Role: "system", Content: "You turn claims into search queries for Wikipedia. Your whole reply is one short query."},
		{Role: "user", Content: "CLAIM\n" + in.Text + "\n\nReply with a concise Wikipedia search query that would find the pages which settle this claim, and nothing else."},
	}
}

// cleanQuery is the first line of an answer that says something, without the
// marks that models put around it.
func cleanQuery(answer string) string {
	const marks = " \t\r\"'`*_“”‘’«»#-"
	for line := range strings.Lines(withoutThoughts(answer)) {
		line = strings.Trim(line, marks+"\n")
		if before, after, ok := strings.Cut(line, ":"); ok && strings.HasSuffix(strings.ToLower(before), "query") {
			line = strings.Trim(after, marks)
		}
		if line != "" {
			return line
		}
	}
	return ""
}
