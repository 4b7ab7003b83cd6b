package chat

import (
	"context"
	"fmt"
	"io"
	"sync"

	"pipe/internal/safetext"
)

// AnswerCount counts the answers of one part that asks a chat model: an expert,
// or the reformulator of an advice. Asked, Cached and Spent are for this run;
// the other counts are for the whole tensor, over all runs.
type AnswerCount struct {
	Part   string  `json:"part"`
	Asked  int64   `json:"asked"`  // answers that were requested from the service
	Cached int64   `json:"cached"` // answers that were already stored
	Spent  float64 `json:"spent"`  // money, with the possible cost of answers that were lost

	Strict      int64 `json:"strict"`      // answers that are a label and nothing else
	Lenient     int64 `json:"lenient"`     // answers in which one label occurs
	Unparseable int64 `json:"unparseable"` // other answers of an expert, and replies of a judge without a score
	Queries     int64 `json:"queries"`     // answers of a reformulator with a query
	Empty       int64 `json:"empty"`       // answers of a reformulator without one

	Open       int64 `json:"open,omitempty"`       // open answers that the grader could read
	Unreadable int64 `json:"unreadable,omitempty"` // open answers without what the grader looks for
	Graded     int64 `json:"graded,omitempty"`     // replies of a judge with a score
	Truncated  int64 `json:"truncated,omitempty"`  // answers that max_tokens ended
	ToolCalls  int64 `json:"tool_calls,omitempty"` // answers that call a tool, which count as empty

	PromptTokens     int64   `json:"prompt_tokens"`
	CompletionTokens int64   `json:"completion_tokens"`
	Estimated        int64   `json:"estimated"` // answers whose tokens were not counted by the service
	Money            float64 `json:"money"`     // cost of all answers at the prices of the configuration
}

// plus returns the sum of two counts of the same part.
func (c AnswerCount) plus(d AnswerCount) AnswerCount {
	return AnswerCount{
		Part:  c.Part,
		Asked: c.Asked + d.Asked, Cached: c.Cached + d.Cached, Spent: c.Spent + d.Spent,
		Strict: c.Strict + d.Strict, Lenient: c.Lenient + d.Lenient, Unparseable: c.Unparseable + d.Unparseable,
		Queries: c.Queries + d.Queries, Empty: c.Empty + d.Empty,
		Open: c.Open + d.Open, Unreadable: c.Unreadable + d.Unreadable, Graded: c.Graded + d.Graded,
		Truncated: c.Truncated + d.Truncated, ToolCalls: c.ToolCalls + d.ToolCalls,
		PromptTokens: c.PromptTokens + d.PromptTokens, CompletionTokens: c.CompletionTokens + d.CompletionTokens,
		Estimated: c.Estimated + d.Estimated, Money: c.Money + d.Money,
	}
}

// mostCounted is the largest count that is accepted from a file, so that sums are exact.
const mostCounted = 1 << 50

// Possible reports whether every number is from 0 to 2^50, so that sums of counts are exact.
func (c AnswerCount) Possible() bool {
	for _, n := range []int64{c.Asked, c.Cached, c.Strict, c.Lenient, c.Unparseable, c.Queries, c.Empty, c.Open, c.Unreadable, c.Graded, c.Truncated, c.ToolCalls, c.PromptTokens, c.CompletionTokens, c.Estimated} {
		if n < 0 || n > mostCounted {
			return false
		}
	}
	return c.Spent >= 0 && c.Spent <= mostCounted && c.Money >= 0 && c.Money <= mostCounted
}

// Tally counts answers by part. It is safe for concurrent use; a nil tally counts nothing.
type Tally struct {
	mu    sync.Mutex
	parts map[string]AnswerCount
}

// Add adds to the count of a part.
func (t *Tally) Add(part string, c AnswerCount) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.parts == nil {
		t.parts = make(map[string]AnswerCount)
	}
	c.Part = part
	t.parts[part] = c.plus(t.parts[part])
}

// AddAll adds other counts.
func (t *Tally) AddAll(counts []AnswerCount) {
	for _, c := range counts {
		t.Add(c.Part, c)
	}
}

// of returns the counts of parts, in their order.
func (t *Tally) Of(parts []string) []AnswerCount {
	t.mu.Lock()
	defer t.mu.Unlock()
	var counts []AnswerCount
	for _, part := range parts {
		c := t.parts[part]
		c.Part = part
		counts = append(counts, c)
	}
	return counts
}

type tallyKey struct{}

// WithTally returns a context under which answers are counted in a tally.
func WithTally(ctx context.Context, t *Tally) context.Context {
	return context.WithValue(ctx, tallyKey{}, t)
}

// TallyOf returns the tally of a context, nil if there is none.
func TallyOf(ctx context.Context) *Tally {
	t, _ := ctx.Value(tallyKey{}).(*Tally)
	return t
}

type runKey struct{}

// WithRun returns a context under which a tally counts what was asked, kept from before, and spent.
func WithRun(ctx context.Context, t *Tally) context.Context {
	return context.WithValue(ctx, runKey{}, t)
}

func runOf(ctx context.Context) *Tally {
	t, _ := ctx.Value(runKey{}).(*Tally)
	return t
}

// WriteCounts writes how answers of chat models were parsed, and what they cost.
func WriteCounts(w io.Writer, counts []AnswerCount) error {
	for _, c := range counts {
		fmt.Fprintf(w, "\nanswers of %s: %d asked, %d kept from before\n", safetext.Line(c.Part), c.Asked, c.Cached)
		share := func(n, all int64) string { return fmt.Sprintf("%d (%.1f%%)", n, 100*float64(n)/float64(max(1, all))) }
		if all := c.Strict + c.Lenient + c.Unparseable; all > 0 {
			fmt.Fprintf(w, "  labels: %s strict, %s lenient, %s unparseable\n", share(c.Strict, all), share(c.Lenient, all), share(c.Unparseable, all))
		}
		if all := c.Open + c.Unreadable; all > 0 {
			fmt.Fprintf(w, "  open answers: %d, %s without what the grader looks for\n", all, share(c.Unreadable, all))
		}
		if c.Graded > 0 {
			fmt.Fprintf(w, "  verdicts: %d\n", c.Graded)
		}
		if c.Truncated+c.ToolCalls > 0 {
			fmt.Fprintf(w, "  ended by max_tokens: %d; calls of tools, which count as empty: %d\n", c.Truncated, c.ToolCalls)
		}
		if all := c.Queries + c.Empty; all > 0 {
			fmt.Fprintf(w, "  queries: %d, %s empty\n", c.Queries, share(c.Empty, all))
		}
		if c.PromptTokens+c.CompletionTokens > 0 {
			fmt.Fprintf(w, "  tokens: %d of prompts, %d of answers (%d answers estimated)\n", c.PromptTokens, c.CompletionTokens, c.Estimated)
		}
		if _, err := fmt.Fprintf(w, "  money: %.6g for all, %.6g spent by this run\n", c.Money, c.Spent); err != nil {
			return err
		}
	}
	return nil
}
