package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/pipeline/index"
	"pipe/pipeline/sharded"
	"pipe/pipeline/shards"
)

const indexText = `Index makes a search index of pages for the advice "passages" of pipe costs: exact BM25 over a folder of .jsonl files, or
one file, in the format of FEVER's wiki-pages (one {"id": ..., "text": ..., "lines": ...} per line). Pages without text
are counted and left out. The corpus may be larger than memory. The bytes of the index depend only on the pages and the
ranking settings.

--query searches the new index; pipe inspect INDEX --query searches it later. docs/retrieval.md describes the formula, how
text is split into words, and the file format.

Several machines can share the pages (docs/scale.md): --shards N --shard I makes the postings of one of N ranges of their
lines, and --gather merges them into the index of one run, byte for byte.`

const indexExamples = `  pipe index --pages wiki-pages --out out/wiki.bm25
  pipe index --pages wiki-pages/wiki-001.jsonl --out part.bm25 --query 'Colin Kaepernick became a starting quarterback'
  pipe index --pages wiki-pages --out plain.bm25 --k1 1.2 --b 0.75 --stop-words=false --stem=false --json
  pipe index --pages wiki-pages --out out/wiki.bm25 --shards 16 --shard $JOB_COMPLETION_INDEX
  pipe index --pages wiki-pages --out out/wiki.bm25 --gather`

func indexCommand(a *app) *cobra.Command {
	o := index.DefaultOptions()
	var s shardFlags
	c := &cobra.Command{
		Use:     "index --pages DIR|FILE --out FILE",
		Short:   "Make a search index of pages",
		Long:    indexText,
		Example: indexExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if s.on() {
				return shardIndex(c, a, &s, o)
			}
			return runIndex(c, a, o)
		},
	}
	f := c.Flags()
	cli.LocationVar(f, &o.Pages, "pages", "a .jsonl file of pages, or a folder of them")
	cli.LocationVarP(f, &o.Out, "out", "o", "the index file")
	f.Float64Var(&o.Settings.K1, "k1", o.Settings.K1, "BM25 k1, above 0: how much repeated words count")
	f.Float64Var(&o.Settings.B, "b", o.Settings.B, "BM25 b, 0 to 1: how much the length of a page counts")
	f.BoolVar(&o.Settings.StopWords, "stop-words", o.Settings.StopWords, "leave out the most common English words")
	f.BoolVar(&o.Settings.Stem, "stem", o.Settings.Stem, "treat English plurals as singulars")
	f.IntVar(&o.Settings.Title, "title", o.Settings.Title, "how often the words of the title are added to the page")
	f.StringArrayVar(&o.Queries, "query", nil, "search the new index for this; may be repeated")
	f.IntVar(&o.Top, "top", o.Top, "number of pages shown per query")
	s.add(f)
	return c
}

// shardIndex indexes shards of the pages.
func shardIndex(c *cobra.Command, a *app, s *shardFlags, o index.Options) error {
	needed := []string{"pages", "out"}
	if s.list {
		needed = []string{"out"}
	}
	if err := required(c, needed...); err != nil {
		return err
	}
	return s.run(c, a, o.Out, func(n int, _ shards.Options) (first, second shards.Stage, err error) {
		second, err = sharded.Index(c.Context(), o, n, a.Progress())
		return nil, second, err
	})
}

func runIndex(c *cobra.Command, a *app, o index.Options) error {
	if err := required(c, "pages", "out"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	r, err := index.Run(c.Context(), o, a.Progress())
	if err != nil {
		return err
	}
	return a.Print(r)
}
