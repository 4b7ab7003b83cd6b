package expert

import (
	"testing"

	"pipe/experts/chat"
)

// TestVotes: the most frequent key wins, ties go to the first, and answers without a key do not vote.
func TestVotes(t *testing.T) {
	r := &labelReader{labels: []string{"YES", "NO"}}
	for _, c := range []struct {
		said        []string
		want, votes int
	}{
		{[]string{"no", "YES", "It is yes."}, 1, 2},
		{[]string{"yes", "NO", "no", "YES"}, 0, 2},
		{[]string{"?", "?", "?", "NO"}, 3, 1},
		{[]string{"?", "!"}, 0, 0},
		{[]string{"<think>YES</think> no", "yes", "NO"}, 0, 2},
	} {
		var answers []chat.Completion
		for _, text := range c.said {
			answers = append(answers, chat.Completion{Text: text})
		}
		for range 20 { // whatever the order of a map
			if got, votes := vote(answers, r.key); got != c.want || votes != c.votes {
				t.Errorf("%q: %d with %d votes, not %d with %d", c.said, got, votes, c.want, c.votes)
			}
		}
	}
}
