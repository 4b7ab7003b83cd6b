package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"

	"pipe/internal/atomicfile"
	"pipe/internal/parallel"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/pipeline/stage"
)

// PagesOptions are the options of GeneratePages.
type PagesOptions struct {
	Pages   int              // at least 1
	Seed    uint64           // other seeds give other pages of the same language
	Out     storage.Location // folder for the files
	Workers int              // goroutines; the bytes do not depend on it
}

// DefaultPagesOptions is half a million pages, on all cores.
func DefaultPagesOptions() PagesOptions {
	return PagesOptions{Pages: 500_000, Workers: runtime.GOMAXPROCS(0)}
}

// Validate returns every problem of the options.
func (o *PagesOptions) Validate() error {
	var problems []error
	if o.Pages < 1 || o.Pages > mostPages {
		problems = append(problems, fmt.Errorf("pages %d: 1 to %d", o.Pages, mostPages))
	}
	if o.Out.IsZero() {
		problems = append(problems, errors.New("no folder for the files"))
	}
	if o.Workers < 1 {
		problems = append(problems, fmt.Errorf("workers %d: at least 1", o.Workers))
	}
	return errors.Join(problems...)
}

// The synthetic language. Ranks of words follow the Zipf-Mandelbrot law, P(rank) ~ (rank + 2.7)^-1.07; lengths of pages
// are lognormal.
const (
	mostPages      = 100_000_000
	pagesPerFile   = 50_000
	pageVocabulary = 1_000_000
	zipfExponent   = 1.07
	zipfOffset     = 3.7 // ranks count from 0 in the code, from 1 in the formula
	pageWords      = 63  // mean
	pageSpread     = 0.7 // standard deviation of the logarithm
	pageLongest    = 2000
	sentenceWords  = 15
)

// PagesReport describes the pages that GeneratePages wrote. It is the JSON object of pipe generate pages --json.
type PagesReport struct {
	Format int    `json:"format"`
	Folder string `json:"folder"`
	Files  int    `json:"files"`
	Pages  int    `json:"pages"`
	Words  int64  `json:"words"` // of all texts
	Bytes  int64  `json:"bytes"`
	Seed   uint64 `json:"seed"`
}

// WriteText writes the report for a terminal.
func (r *PagesReport) WriteText(w io.Writer) error {
	b := safetext.Titled(r.Folder, fmt.Sprintf("%d pages in %d files, seed %d", r.Pages, r.Files, r.Seed))
	b.Add("words", "%d, %.1f a page", r.Words, float64(r.Words)/float64(r.Pages))
	b.Add("bytes", "%.1f MB", float64(r.Bytes)/1e6)
	return b.WriteText(w)
}

// GeneratePages writes pages in the format of FEVER's wiki-pages into o.Out, 50,000 pages per file, of synthetic words
// whose frequencies follow Zipf's law. The same options give the same bytes on any number of cores; each file appears
// whole or not at all. Invalid options are an *stage.OptionError.
func GeneratePages(ctx context.Context, o PagesOptions, p stage.Progress) (*PagesReport, error) {
	p = stage.OrQuiet(p)
	if err := o.Validate(); err != nil {
		return nil, &stage.OptionError{Err: fmt.Errorf("generate pages: %w", err)}
	}
	return stage.Alone(o.Out, func() (*PagesReport, error) { return o.write(ctx, p) })
}

// write writes the files.
func (o *PagesOptions) write(ctx context.Context, p stage.Progress) (*PagesReport, error) {
	r := &PagesReport{Format: 1, Folder: o.Out.String(), Files: (o.Pages + pagesPerFile - 1) / pagesPerFile, Pages: o.Pages, Seed: o.Seed}
	p.Start(int64(o.Pages), "generate")
	defer p.Done()
	var words, bytes atomic.Int64
	err := parallel.First(ctx, o.Workers, r.Files, func(ctx context.Context, file int) error {
		return o.writeFile(ctx, file, p, &words, &bytes)
	})
	if err != nil {
		return nil, fmt.Errorf("generate pages: %w", err)
	}
	r.Words, r.Bytes = words.Load(), bytes.Load()
	return r, o.dropOld(ctx, r.Files)
}

// dropOld removes the files that an earlier, larger corpus left in the folder.
func (o *PagesOptions) dropOld(ctx context.Context, file int) error {
	for ; ; file++ {
		switch err := o.file(file).Remove(ctx); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("generate pages: %w", err)
		}
	}
}

// file is the range of pages in a file.
func (o *PagesOptions) file(n int) storage.Location {
	return o.Out.Join(fmt.Sprintf("wiki-%03d.jsonl", n+1))
}

// writeFile writes one of the files.
func (o *PagesOptions) writeFile(ctx context.Context, file int, p stage.Progress, words, bytes *atomic.Int64) error {
	return atomicfile.WriteAt(ctx, o.file(file), func(w io.Writer) error {
		var text []byte
		from, to := file*pagesPerFile, min(o.Pages, (file+1)*pagesPerFile)
		for n := from; n < to; n++ {
			if (n-from)%1024 == 0 {
				if err := ctx.Err(); err != nil {
					return err
				}
				p.Add(int64(min(1024, to-n)))
			}
			page := newGeneratedPage(o.Seed, n)
			text = page.append(text[:0])
			if _, err := w.Write(text); err != nil {
				return err
			}
			words.Add(int64(page.words))
			bytes.Add(int64(len(text)))
		}
		return nil
	})
}

// generatedPage is a page that is being generated.
type generatedPage struct {
	number int
	draw   *rand.Rand
	ranks  *rand.Zipf
	words  int
}

func newGeneratedPage(seed uint64, number int) *generatedPage {
	draw := rand.New(rand.NewPCG(seed, uint64(number)))
	mean := math.Log(pageWords) - pageSpread*pageSpread/2
	words := int(math.Exp(mean+pageSpread*draw.NormFloat64()) + 0.5)
	return &generatedPage{
		number: number, draw: draw, words: max(1, min(words, pageLongest)),
		ranks: rand.NewZipf(draw, zipfExponent, zipfOffset, pageVocabulary-1),
	}
}

// append appends the line of the page. Only the tabs and line ends between its sentences need an escape.
func (p *generatedPage) append(line []byte) []byte {
	line = append(line, `{"id": "`...)
	for range 1 + p.draw.IntN(3) {
		at := len(line)
		line = append(appendWord(line, p.ranks.Uint64()), '_')
		line[at] -= 'a' - 'A'
	}
	line = fmt.Appendf(line, `-LRB-%d-RRB-", "text": "`, p.number)
	start := len(line)
	for n := range p.words {
		line = append(appendWord(line, p.ranks.Uint64()), ' ')
		if n%sentenceWords == sentenceWords-1 || n == p.words-1 {
			line = append(line, ". "...)
		}
	}
	line = line[:len(line)-1]
	text := string(line[start:])
	line = append(line, `", "lines": "`...)
	for n, sentence := range strings.SplitAfter(text, " .") {
		if sentence = strings.TrimSpace(sentence); sentence != "" {
			line = fmt.Appendf(line, `%d\t%s\n`, n, sentence)
		}
	}
	return append(line, "\"}\n"...)
}

// appendWord spells the word of a rank in syllables; more frequent words are shorter.
func appendWord(dst []byte, rank uint64) []byte {
	const consonants, vowels = "bdfghklmnprstvwz", "aeiou"
	for rank++; rank > 0; rank /= uint64(len(consonants) * len(vowels)) {
		syllable := rank % uint64(len(consonants)*len(vowels))
		dst = append(dst, consonants[syllable/uint64(len(vowels))], vowels[syllable%uint64(len(vowels))])
	}
	return dst
}
