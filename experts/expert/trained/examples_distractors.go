package trained

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pipe/experts/builder/part"
	"pipe/experts/retrieval"
	"pipe/experts/retrieval/bm25"
	"pipe/internal/atomicfile"
	"pipe/internal/parallel"
	"pipe/internal/storage"
)

// claimReader reads examples of claims. It keeps every text once in memory.
type claimReader struct {
	*claimExamples
	distractors [][]string // per claim, best first
}

// Open finds the distractors of all claims and embeds all texts.
func (x *claimExamples) Open(ctx context.Context, t *part.Preparation) (exampleReader, error) {
	r := &claimReader{x, make([][]string, len(x.claims))}
	if x.most() > 0 {
		if err := r.find(ctx, t); err != nil {
			return nil, err
		}
	}
	texts := make(map[string]bool)
	for i := range x.list {
		in, shown := r.example(i)
		texts[in.Text] = true
		for _, p := range shown.Passages {
			texts[p.Text] = true
		}
	}
	return r, x.embedder.Ensure(ctx, texts, t.Progress)
}

// find lists the distractors of every claim.
func (r *claimReader) find(ctx context.Context, t *part.Preparation) (err error) {
	pages, sentences := make([][]string, len(r.claims)), make([][]string, len(r.claims))
	if r.sentences {
		if sentences, err = r.amongSentences(ctx, t); err != nil {
			return err
		}
	}
	if r.pages != nil {
		if pages, err = r.among(ctx, t, r.pages); err != nil {
			return err
		}
	}
	for i := range r.distractors {
		r.distractors[i] = inTurns(sentences[i], pages[i])
	}
	shareTexts(r.distractors)
	return nil
}

// inTurns takes distinct texts from the lists in turn, from the first list first.
func inTurns(lists ...[]string) []string {
	var out []string
	for i := 0; ; i++ {
		more := false
		for _, list := range lists {
			if i < len(list) {
				more = true
				if !slices.Contains(out, list[i]) {
					out = append(out, list[i])
				}
			}
		}
		if !more {
			return out
		}
	}
}

// most returns the largest number of passages of an example.
func (x *claimExamples) most() int {
	most := 0
	for _, e := range x.list {
		most = max(most, int(e.passages))
	}
	return most
}

// among finds, for every claim, passages that contain none of its sentences.
func (x *claimExamples) among(ctx context.Context, t *part.Preparation, from retrieval.Retriever) ([][]string, error) {
	settling, most := x.settling(), x.most()
	out, longest := make([][]string, len(x.claims)), 0
	for _, s := range settling {
		longest = max(longest, len(s))
	}
	t.Progress.Start(int64(len(x.claims)), "claims to find passages for")
	defer t.Progress.Done()
	const some = 64
	err := parallel.Each(ctx, t.Workers, (len(x.claims)+some-1)/some, func(ctx context.Context, i int) error {
		part := x.claims[i*some : min((i+1)*some, len(x.claims))]
		queries := make([]string, len(part))
		for n, c := range part {
			queries[n] = c.Text
		}
		found, err := from.Find(ctx, queries, most+longest)
		if err != nil {
			return err
		}
		for n, list := range found {
			out[i*some+n] = without(list, settling[normal(part[n].Text)], most)
		}
		t.Progress.Add(int64(len(part)))
		return nil
	})
	return out, err
}

// settling returns the sentences that settle each claim, by its normalised text.
func (x *claimExamples) settling() map[string][]string {
	of := make(map[string][]string)
	for _, c := range x.claims {
		if c.Sentence != "" {
			of[normal(c.Text)] = append(of[normal(c.Text)], c.Sentence)
		}
	}
	return of
}

// without returns the texts of the first passages that contain none of the
// sentences, at most most of them.
func without(list []part.Passage, sentences []string, most int) []string {
	var texts []string
	for _, p := range list {
		settles := slices.ContainsFunc(sentences, func(s string) bool { return strings.Contains(p.Text, s) })
		if !settles && len(texts) < most {
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// shareTexts makes equal texts share their memory.
func shareTexts(lists [][]string) {
	known := make(map[string]string)
	for _, list := range lists {
		for i, text := range list {
			if one, ok := known[text]; ok {
				list[i] = one
			} else {
				known[text] = text
			}
		}
	}
}

// amongSentences finds distractors among the sentences of all claims, with a
// temporary index.
func (x *claimExamples) amongSentences(ctx context.Context, t *part.Preparation) (_ [][]string, err error) {
	if _, err := atomicfile.MkdirAll(t.Scratch); err != nil {
		return nil, err
	}
	folder, remove, err := atomicfile.TempFolder(t.Scratch, "sentences")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	pages, index := filepath.Join(folder, "sentences.jsonl"), filepath.Join(folder, "sentences.bm25")
	if err := x.writeSentences(pages); err != nil {
		return nil, err
	}
	settings := bm25.DefaultSettings()
	settings.Title = 0
	if _, err := bm25.Build(ctx, bm25.BuildOptions{Pages: storage.File(pages), Out: storage.File(index), Settings: settings, Workers: t.Workers}); err != nil {
		return nil, err
	}
	corpus, err := retrieval.OpenIndex(index)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, corpus.Close()) }()
	return x.among(ctx, t, corpus)
}

// writeSentences writes every sentence once, as a page.
func (x *claimExamples) writeSentences(path string) error {
	var sentences []string
	for _, c := range x.claims {
		if c.Sentence != "" {
			sentences = append(sentences, c.Sentence)
		}
	}
	slices.Sort(sentences)
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	e := json.NewEncoder(w)
	for i, text := range slices.Compact(sentences) {
		page := struct {
			ID   string `json:"id"`
			Text string `json:"text"`
		}{fmt.Sprintf("%08d", i), text}
		if err := e.Encode(page); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return errors.Join(w.Flush(), f.Close())
}

// Read returns examples from..to.
func (r *claimReader) Read(_ context.Context, from, to int) ([]part.Instance, []part.AdvicePayload, error) {
	batch, shown := make([]part.Instance, to-from), make([]part.AdvicePayload, to-from)
	for i := range batch {
		batch[i], shown[i] = r.example(from + i)
	}
	return batch, shown, nil
}

// example returns one example: the sentence that settles its claim, if the example
// has it, then distractors.
func (r *claimReader) example(i int) (part.Instance, part.AdvicePayload) {
	e := r.list[i]
	c := r.claims[e.claim]
	var list []part.Passage
	if e.settled && e.passages > 0 {
		list = append(list, part.Passage{Text: c.Sentence})
	}
	for _, text := range r.distractors[e.claim] {
		if len(list) < int(e.passages) {
			list = append(list, part.Passage{Text: text})
		}
	}
	return part.Instance{Text: c.Text, Row: i}, part.AdvicePayload{Passages: list}
}
