package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decide"
	"pipe/pipeline/report/page"
	"pipe/serve/policies"
)

// Limits of tries.
const (
	maxTries = 2        // at once
	maxInput = 1 << 20  // bytes of a text, a row or features
	maxImage = 16 << 20 // bytes of an image, with the rest of the form
)

// kindRecent is the kind of input that is drawn from the recent rows.
const kindRecent = "recent"

// tryResult is the decision on one input, or an error.
type tryResult struct {
	input   string
	policy  string
	at      *policy.Prices
	ranked  []rankedPair
	guard   string // its reason, for a policy that always takes the best fixed pair
	encoded time.Duration
	decided time.Duration
	err     error
}

// rankedPair is a pair with its score and expectations; NaN: not known.
type rankedPair struct {
	pair            string
	score           float64
	loss, fee, cost float64
}

// try decides on the input of the form. It responds with the whole page, and to the script with the result only.
func (p *Page) try(w http.ResponseWriter, r *http.Request) {
	t, status := &tryResult{}, http.StatusOK
	r.Body = http.MaxBytesReader(w, r.Body, maxImage)
	if err := r.ParseMultipartForm(maxInput); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		t.err, status = fmt.Errorf("read the form: %w", err), http.StatusBadRequest
	}
	if r.MultipartForm != nil {
		defer func() { _ = r.MultipartForm.RemoveAll() }() // temporary files of large images
	}
	q := queryOf(r.PostForm)
	if t.err == nil {
		select {
		case p.tries <- struct{}{}:
			t.err = p.decideOn(r.Context(), t, q, r)
			<-p.tries
		default:
			t.err = errBusy
		}
		if t.err != nil {
			status = statusOf(t.err)
		}
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		writeJSON(w, status, map[string]any{"html": string(sectionHTML(t.section()))})
		return
	}
	p.write(w, r, q, status, t)
}

var errBusy = errors.New("other requests are being tried: try again")

// decideOn reads the input, encodes it, and decides.
func (p *Page) decideOn(ctx context.Context, t *tryResult, q query, r *http.Request) error {
	l, err := p.from.Policies.Acquire(q.policy)
	if err != nil {
		return err
	}
	defer l.Release()
	t.policy = versionKey(l.Name, l.Digest)
	t.input = r.PostForm.Get("input")
	in, err := p.inputs(r, l, t.input)
	if err != nil {
		return err
	}
	change, err := priceChange(priceFields(l.Info()), q.values)
	if err != nil {
		return &formError{err}
	}
	if t.at, err = l.Price(l.Pricing(), change); err != nil {
		return err
	}
	start := time.Now()
	features, err := l.Encode(ctx, in)
	if err != nil {
		return err
	}
	if in.Features == nil {
		t.encoded = time.Since(start)
	}
	start = time.Now()
	d, err := l.Decide(ctx, t.at, features, 1)
	if err != nil {
		return err
	}
	t.decided = time.Since(start)
	if g := l.Info().Guard; g != nil && g.Fallback {
		_, t.guard = g.Verdict()
	}
	t.ranked = rank(l.Info().Actions, t.at, d)
	return nil
}

// inputs returns the input of the form, which is one row.
func (p *Page) inputs(r *http.Request, l *policies.Policy, text string) (in policies.Inputs, err error) {
	if len(text) > maxInput {
		return in, formErrorf("the input has %s; at most %s can be tried", size(int64(len(text))), size(maxInput))
	}
	switch kind := r.PostForm.Get("kind"); kind {
	case kindRecent:
		in.Features = p.from.Collector.recent(l.Name, l.Digest)
		if in.Features == nil {
			return in, &formError{errNoRows}
		}
	case decide.InputFeatures, "":
		in.Features, err = parseFeatures(text, l.Info().Dim)
	case decide.InputText:
		if strings.TrimSpace(text) == "" {
			return in, formErrorf("the text is empty")
		}
		if !utf8.ValidString(text) {
			return in, formErrorf("the text is not UTF-8")
		}
		in.Texts = []string{text}
	case decide.InputRow:
		row, err := parseRow(text)
		return policies.Inputs{Rows: []map[string]string{row}}, err
	case decide.InputImage:
		file, err := imageOf(r)
		return policies.Inputs{Images: [][]byte{file}}, err
	default:
		return in, formErrorf("%q is no kind of input", excerpt(kind))
	}
	return in, err
}

func imageOf(r *http.Request) ([]byte, error) {
	file, _, err := r.FormFile("image")
	if err != nil {
		return nil, formErrorf("choose an image")
	}
	defer file.Close() // only read
	content, err := io.ReadAll(file)
	if err != nil {
		return nil, formErrorf("read the image: %v", err)
	}
	if len(content) == 0 {
		return nil, formErrorf("choose an image")
	}
	return content, nil
}

// recent returns a random one of the recent rows, nil if there are none.
func (c *Collector) recent(name, digest string) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.versions[versionKey(name, digest)]
	if v == nil || v.sample.n() == 0 {
		return nil
	}
	i := rand.IntN(v.sample.n())
	return slices.Clone(v.sample.rows[i*v.sample.dim : (i+1)*v.sample.dim])
}

// rank returns the pairs that may be chosen: the decision first, then the others by score.
func rank(a *costs.Actions, at *policy.Prices, d *policy.Decisions) []rankedPair {
	chosen := int(d.Action[0])
	order := make([]int, 0, d.Actions)
	for i := range d.Actions {
		if at.Available[i] && d.Scores[i] > policy.ExcludedBelow {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch chosen {
		case i:
			return -1
		case j:
			return 1
		}
		return cmp.Compare(d.Scores[j], d.Scores[i])
	})
	var out []rankedPair
	for _, i := range order {
		r := rankedPair{pair: a.Name(i), score: float64(d.Scores[i]), loss: math.NaN(), cost: math.NaN(), fee: at.FeeOn(d, 0, i)}
		if d.Loss != nil {
			r.loss, r.cost = float64(d.Loss[i]), float64(d.Cost[i])
		}
		out = append(out, r)
	}
	return out
}

// section shows the result.
func (t *tryResult) section() page.Section {
	s := page.Section{ID: "tried", Title: "What is decided"}
	if t.err != nil {
		s.Blocks = []page.Block{{List: []string{sentence(t.err)}}}
		return s
	}
	known := !math.IsNaN(t.ranked[0].loss)
	table := &page.Table{Head: head("pair", "score")}
	if known {
		table.Head = head("pair", "expected cost", "expected loss", "fee")
	}
	const most = 20
	for i, r := range t.ranked {
		if i == most {
			table.Caption = fmt.Sprintf("%s that rank lower are left out.", plural(int64(len(t.ranked)-most), "pair"))
			break
		}
		row := []page.Cell{name(r.pair)}
		if known {
			row = append(row, cell(cost(r.cost)), cell(cost(r.loss)), cell(cost(r.fee)))
		} else {
			row = append(row, cell(cost(r.score)))
		}
		row[1].Bold = i == 0
		table.Rows = append(table.Rows, row)
	}
	list := []string{fmt.Sprintf("The policy %s takes %s. Decided in %s%s.", shortKey(t.policy), t.ranked[0].pair, seconds(t.decided.Seconds()), t.encoding())}
	if t.guard != "" {
		list = append(list, "The guard of the training exported the best fixed pair: "+t.guard+".")
	}
	for _, u := range t.at.Unchecked {
		list = append(list, "The guard did not check the policy at these prices: "+u+".")
	}
	s.Blocks = []page.Block{{List: list}, {Table: table}}
	return s
}

func (t *tryResult) encoding() string {
	if t.encoded == 0 {
		return ""
	}
	return ", after encoding in " + seconds(t.encoded.Seconds())
}

// statusOf returns the status for an error of a try or a frontier.
func statusOf(err error) int {
	var unknown *policies.UnknownError
	var overload *policies.OverloadError
	switch {
	case errors.As(err, &unknown):
		return http.StatusNotFound
	case errors.As(err, &overload), errors.Is(err, errBusy):
		return http.StatusTooManyRequests
	case errors.Is(err, policies.ErrClosed):
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// computeFrontier computes the frontier at the prices of a query.
func (p *Page) computeFrontier(ctx context.Context, q query) (f *Frontier, err error) {
	l, err := p.from.Policies.Acquire(q.policy)
	if err != nil {
		return nil, err
	}
	defer l.Release()
	change, err := priceChange(priceFields(l.Info()), q.values)
	if err != nil {
		return nil, &formError{err}
	}
	rows := p.from.Collector.sampleOf(l.Name, l.Digest)
	err = p.latest.do(ctx, func(ctx context.Context) error {
		f, err = frontier(ctx, l, rows, change)
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}
