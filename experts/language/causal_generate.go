package language

import (
	"context"
	"fmt"
	"slices"

	"pipe/onnx"
)

// Answer returns the greedy continuation of a conversation, with at most the given
// number of tokens. A prompt that leaves no room for an answer is an error.
func (c *Causal) Answer(ctx context.Context, talk Conversation, most int) (string, error) {
	prompt, err := c.Prompt(talk)
	if err != nil {
		return "", err
	}
	ids, err := c.generate(ctx, prompt, most)
	return c.tokens.Decode(ids), err
}

// generate takes the most likely next token repeatedly. It stops at the given
// number of tokens, at the model's limit, or at an end token, which is not part of
// the answer. Rows are not batched: so an answer depends, bit for bit, only on its
// prompt, and the caches of any export have no gaps.
func (c *Causal) generate(ctx context.Context, prompt []int32, most int) ([]int32, error) {
	if len(prompt) >= c.limit {
		return nil, fmt.Errorf("the prompt has %d tokens; the limit is %d including the answer", len(prompt), c.limit)
	}
	var answer []int32
	var past map[string]*onnx.Tensor
	unread, seen := slices.Clone(prompt), 0
	for len(answer) < most && len(prompt)+len(answer) < c.limit {
		logits, now, err := c.run(ctx, &call{rows: [][]int32{unread}, past: past, seen: seen, picks: [][2]int{{0, len(unread) - 1}}})
		if err != nil {
			return nil, err
		}
		token := int32(slices.Index(logits, slices.Max(logits))) // the first one on ties
		if slices.Contains(c.end, token) {
			break
		}
		answer = append(answer, token)
		if !c.cached {
			unread = append(unread, token)
			continue
		}
		seen, past, unread = seen+len(unread), now, []int32{token}
	}
	return answer, nil
}
