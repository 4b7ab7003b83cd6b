package main

import (
	"github.com/spf13/cobra"

	"pipe/pipeline"
)

const indexText = `Index makes an index of pages, for the advice "passages" of pipe costs: exact BM25 over a folder of .jsonl files, or one
such file, in the format of FEVER's wiki-pages (a line is {"id": ..., "text": ..., "lines": ...}). Pages without text are
counted and left out. The corpus may be larger than memory; the index appears when it is complete, and its bytes depend
on the pages and the ranking only.

--query searches the index that was made; pipe inspect INDEX --query does the same later. docs/retrieval.md has the
formula, the words and the file.`

const indexExamples = `  pipe index --pages wiki-pages --out out/wiki.bm25
  pipe index --pages wiki-pages/wiki-001.jsonl --out part.bm25 --query 'Colin Kaepernick became a starting quarterback'
  pipe index --pages wiki-pages --out plain.bm25 --k1 1.2 --b 0.75 --stop-words=false --stem=false --json`

func indexCommand(a *app) *cobra.Command {
	o := pipeline.DefaultIndexOptions()
	c := &cobra.Command{
		Use:     "index --pages DIR|FILE --out FILE",
		Short:   "Make an index of pages for retrieval",
		Long:    indexText,
		Example: indexExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runIndex(c, a, o) },
	}
	f := c.Flags()
	f.StringVar(&o.Pages, "pages", "", "a folder of .jsonl files of pages, or one file")
	f.StringVarP(&o.Out, "out", "o", "", "the index")
	f.Float64Var(&o.Settings.K1, "k1", o.Settings.K1, "how soon repeating a word stops to count, above 0")
	f.Float64Var(&o.Settings.B, "b", o.Settings.B, "how much the length of a page counts, 0 to 1")
	f.BoolVar(&o.Settings.StopWords, "stop-words", o.Settings.StopWords, "leave out the commonest English words")
	f.BoolVar(&o.Settings.Stem, "stem", o.Settings.Stem, "take English plurals for their singulars")
	f.IntVar(&o.Settings.Title, "title", o.Settings.Title, "how often the words of a title count as words of its page")
	f.StringArrayVar(&o.Queries, "query", nil, "search for this; may be repeated")
	f.IntVar(&o.Top, "top", o.Top, "pages shown for a query")
	return c
}

func runIndex(c *cobra.Command, a *app, o pipeline.IndexOptions) error {
	if err := required(c, "pages", "out"); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usage(c, "%v", err)
	}
	r, err := pipeline.IndexPages(c.Context(), o, a.progress())
	if err != nil {
		return err
	}
	return a.print(r)
}
