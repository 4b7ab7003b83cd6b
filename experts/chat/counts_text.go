package chat

import (
	"fmt"
	"io"

	"pipe/internal/safetext"
)

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
