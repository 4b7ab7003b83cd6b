package retrieval

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/costs/grade"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/language"
)

// Reformulator lets a chat model turn instances into queries. It is safe for
// concurrent use.
type Reformulator struct {
	chat.Model
	part string // of the configuration
}

// OpenReformulator makes the reformulator of a part from settings of the reformulator: the
// kind of a chat model, and the settings of that kind. The caller closes it.
func OpenReformulator(ctx context.Context, of *part.Setup, settings map[string]any) (*Reformulator, error) {
	s := of.Subpart("reformulator")
	c, err := chat.Open(ctx, s, settings)
	if err != nil {
		return nil, fmt.Errorf("reformulator: %w", err)
	}
	if err := chat.CountAnswers(s); err != nil {
		return nil, errors.Join(fmt.Errorf("reformulator: %w", err), c.Close())
	}
	return &Reformulator{c, s.Part}, s.InputJSON("prompt", queryConversation(&part.Instance{}))
}

// Queries returns a query per instance: the model's, or the instance's text where
// the model's answer is empty.
func (r *Reformulator) Queries(ctx context.Context, batch []part.Instance) ([]string, error) {
	asked := make([]language.Conversation, len(batch))
	for n := range batch {
		asked[n] = queryConversation(&batch[n])
	}
	answers, err := r.Complete(ctx, asked)
	if err != nil {
		return nil, fmt.Errorf("reformulate: %w", chat.NameInstance(err, batch))
	}
	queries := make([]string, len(batch))
	for n, a := range answers {
		if queries[n] = cleanQuery(a.Text); queries[n] != "" {
			chat.TallyOf(ctx).Add(r.part, chat.AnswerCount{Queries: 1})
			continue
		}
		queries[n] = batch[n].Text
		chat.TallyOf(ctx).Add(r.part, chat.AnswerCount{Empty: 1})
	}
	return queries, nil
}

// queryConversation asks for a search query for an instance's text.
func queryConversation(in *part.Instance) language.Conversation {
	return language.Conversation{
		{Role: "system", Content: "You turn claims into search queries for Wikipedia. Your whole reply is one short query."},
		{Role: "user", Content: "CLAIM\n" + in.Text + "\n\nReply with a concise Wikipedia search query that would find the pages which settle this claim, and nothing else."},
	}
}

// cleanQuery is the first meaningful line of an answer, without the punctuation
// that models put around it.
func cleanQuery(answer string) string {
	const marks = " \t\r\"'`*_“”‘’«»#-"
	for line := range strings.Lines(grade.WithoutThoughts(answer)) {
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
