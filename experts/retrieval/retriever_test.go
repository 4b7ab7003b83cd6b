package retrieval

import (
	"context"
	"fmt"
	"testing"

	"pipe/experts/builder/part"
)

// counting counts what is searched for.
type counting struct {
	queries, most int
}

func (c *counting) Find(_ context.Context, queries []string, top int) ([][]part.Passage, error) {
	c.queries += len(queries)
	c.most = max(c.most, top)
	out := make([][]part.Passage, len(queries))
	for n := range out {
		for i := range min(top, 4) {
			out[n] = append(out[n], part.Passage{Page: fmt.Sprint(i), Text: queries[n]})
		}
	}
	return out, nil
}

func (*counting) Identity() string { return "" }
func (*counting) Close() error     { return nil }

func TestLevelsSearchOnce(t *testing.T) {
	c := &counting{}
	r := &CachedRetriever{corpus: c, most: 5}
	for round := range 4 {
		queries := []string{fmt.Sprint(round, "a"), fmt.Sprint(round, "b")}
		for _, top := range []int{1, 3, 5} {
			found, err := r.Find(context.Background(), queries, top)
			if err != nil || len(found) != 2 || len(found[1]) != min(top, 4) || found[1][0].Text != queries[1] {
				t.Fatalf("top %d: %v, %v", top, found, err)
			}
		}
	}
	if c.queries != 2*4 || c.most != 5 {
		t.Errorf("%d queries, at most %d passages", c.queries, c.most)
	}
	// Who asks for more gets more, and leaves later searches as they were.
	for _, asked := range []struct{ top, want int }{{9, 9}, {1, 5}} {
		c.most = 0
		if _, err := r.Find(context.Background(), []string{fmt.Sprint("another", asked.top)}, asked.top); err != nil || c.most != asked.want {
			t.Errorf("top %d: searched for %d, want %d, %v", asked.top, c.most, asked.want, err)
		}
	}
}
