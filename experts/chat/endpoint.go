package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"sync/atomic"
	"time"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/fields"
	"pipe/experts/language"
	"pipe/experts/service"
	"pipe/internal/digest"
	"pipe/internal/parallel"
)

// endpoint is a chat model behind an HTTP service with OpenAI's API for chat
// completions.
type endpoint struct {
	cfg     EndpointSettings
	part    string // of the configuration
	url     string // with its query
	session *Session
	account *service.Account
	client  *http.Client
	slots   chan struct{} // one per request in flight
	hidden  atomic.Int64  // largest number of prompt tokens that the service added to the text
	known   atomic.Bool   // hidden is known from an answer
	scout   chan struct{} // held by the one request in flight while hidden is not known
}

func newEndpointChat(ctx context.Context, s *part.Setup, settings map[string]any) (Model, error) {
	cfg := DefaultEndpointSettings()
	if err := part.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	return OpenEndpoint(ctx, s, &cfg)
}

// OpenEndpoint makes a model behind an HTTP service for a part. It sends
// nothing and does not need the key, since stored answers need none.
func OpenEndpoint(ctx context.Context, s *part.Setup, cfg *EndpointSettings) (Sampler, error) {
	session, err := sessionOf(s.Build)
	if err != nil {
		return nil, err
	}
	if err := cfg.validate(session.money.limited()); err != nil {
		return nil, err
	}
	if err := s.InputSettings(cfg.identity()); err != nil {
		return nil, err
	}
	session.limits[s.Part] = Limits{cfg.url() + " " + cfg.Key, cfg.Concurrency, cfg.RequestsPerSecond, cfg.TokensPerMinute, cfg.Price != nil}
	if cfg.Price != nil {
		session.priced[s.Part] = ModelPrice{cfg.Model, cfg.Price.period(), costs.Money{Currency: cfg.Price.Currency, PerLoss: 1 / cfg.FeeScale}}
	}
	certificates, err := s.Path(cfg.CAFile).Fetch(ctx)
	if err != nil {
		return nil, err
	}
	client, err := service.NewClient(cfg.Concurrency, certificates)
	if err != nil {
		return nil, err
	}
	return &endpoint{
		cfg: *cfg, part: s.Part, url: service.WithQuery(cfg.url(), cfg.Query), session: session,
		account: session.accounts.Account(cfg.url(), cfg.Key, cfg.RequestsPerSecond, cfg.TokensPerMinute),
		client:  client,
		slots:   make(chan struct{}, cfg.Concurrency),
		scout:   make(chan struct{}, 1),
	}, nil
}

// Close ends the connections.
func (e *endpoint) Close() error {
	e.client.CloseIdleConnections()
	return nil
}

// Complete returns stored answers, and requests the others.
func (e *endpoint) Complete(ctx context.Context, batch []language.Conversation) ([]Completion, error) {
	prompts := make([]Prompt, len(batch))
	for n, c := range batch {
		prompts[n].Turns = c
	}
	all, err := e.Samples(ctx, prompts, 1)
	out := make([]Completion, len(batch))
	for n := range all {
		out[n] = all[n][0]
	}
	return out, err
}

// Samples is Complete for several answers to each prompt.
func (e *endpoint) Samples(ctx context.Context, batch []Prompt, samples int) ([][]Completion, error) {
	out := make([][]Completion, len(batch))
	for n := range out {
		out[n] = make([]Completion, samples)
	}
	err := parallel.First(ctx, e.cfg.Concurrency, len(batch)*samples, func(ctx context.Context, i int) error {
		n, sample := i/samples, i%samples
		var err error
		if out[n][sample], err = e.complete(ctx, batch[n], sample); err != nil {
			return &conversationError{n, err}
		}
		return nil
	})
	return out, err
}

func (e *endpoint) complete(ctx context.Context, p Prompt, sample int) (Completion, error) {
	r, err := e.request(p, sample)
	if err != nil {
		return Completion{}, err
	}
	if rehearsal, ok := rehearsalOf(ctx); ok {
		return e.rehearse(ctx, rehearsal, r)
	}
	a, fresh, err := e.session.store.once(ctx, r.key, func() (answer, error) { return e.ask(ctx, r) })
	if err != nil {
		return Completion{}, err
	}
	money := e.cfg.Price.of(a.PromptTokens, a.CompletionTokens)
	e.count(ctx, a, fresh, money)
	if a.Estimated && e.cfg.Price != nil && !e.cfg.EstimateTokens {
		return Completion{}, e.fault(0, "the answer has no token counts, but a price per token is set").
			Advise("the answer is kept; set estimate_tokens: true to assume four characters per token, or remove price")
	}
	c := a.completion()
	c.Fee, c.Used = money*e.cfg.FeeScale, e.used(a)
	return c, nil
}

// completion is the answer without its fee. An answer that was kept before programs kept how it ends ends for a reason that
// is not known, but for the limit on tokens.
func (a *answer) completion() Completion {
	c := Completion{Text: a.Text, Finish: a.Finish, LogProb: a.LogProb, Truncated: a.Truncated, ToolCall: a.ToolCall}
	if a.Truncated {
		c.Finish = finishLength
	}
	return c
}

// used is what the call of an answer used. Tokens that were estimated are known if the settings take them for those of the fee.
func (e *endpoint) used(a answer) part.Usage {
	u := part.UnknownUsage()
	u[costs.Calls] = 1
	if !a.Estimated || e.cfg.EstimateTokens {
		u[costs.TokensIn], u[costs.TokensOut] = float32(a.PromptTokens), float32(a.CompletionTokens)
	}
	if a.CachedTokens != nil {
		u[costs.TokensCached] = float32(*a.CachedTokens)
	}
	return u
}

// rehearse returns the answer of a request in a rehearsal.
func (e *endpoint) rehearse(ctx context.Context, rehearsal rehearsing, r *request) (Completion, error) {
	a, kept, err := e.session.store.peek(ctx, r.key)
	if err != nil {
		return Completion{}, err
	}
	rehearsal.add(r.key, kept)
	return a.completion(), nil
}

// count adds an answer to the counts of the run and of the tensor.
func (e *endpoint) count(ctx context.Context, a answer, fresh bool, money float64) {
	now := AnswerCount{Cached: 1}
	if fresh {
		now = AnswerCount{Asked: 1, Spent: money}
	}
	e.session.run.Add(e.part, now)
	runOf(ctx).Add(e.part, now)
	whole := AnswerCount{PromptTokens: int64(a.PromptTokens), CompletionTokens: int64(a.CompletionTokens), Money: money}
	if a.Estimated {
		whole.Estimated = 1
	}
	if a.Truncated {
		whole.Truncated = 1
	}
	if a.ToolCall {
		whole.ToolCalls = 1
	}
	TallyOf(ctx).Add(e.part, whole)
}

// request is a conversation as it is sent.
type request struct {
	asked language.Conversation
	body  []byte
	key   string // of its answer
	most  int    // limit on the tokens of the answer; 0: none
}

// request writes a prompt. A sample after the first is another request, also where the bytes are the same.
func (e *endpoint) request(p Prompt, sample int) (*request, error) {
	content := fields.Merge(e.fields(p.Turns, sample), p.Fields)
	body, err := json.Marshal(content) // keys are sorted, so that equal requests have equal bytes
	return &request{p.Turns, body, requestKey(e.url, body, sample), mostTokens(content)}, err
}

// fields are those of the request for a conversation by the settings.
func (e *endpoint) fields(c language.Conversation, sample int) map[string]any {
	out := map[string]any{"model": e.cfg.Model, "messages": c}
	if e.cfg.Temperature != nil {
		out["temperature"] = *e.cfg.Temperature
	}
	if _, other := e.cfg.Extra[otherMaxTokens]; e.cfg.MaxTokens != nil && !other {
		out["max_tokens"] = *e.cfg.MaxTokens
	}
	if e.cfg.Seed != nil {
		out["seed"] = *e.cfg.Seed + int64(sample)
	}
	if len(e.cfg.ResponseFormat) > 0 {
		out["response_format"] = e.cfg.ResponseFormat
	}
	maps.Copy(out, e.cfg.Extra)
	return out
}

// requestKey identifies everything that an answer depends on. The API key is
// not part of it.
func requestKey(url string, body []byte, sample int) string {
	text := fmt.Appendf(nil, "POST %s\n%s", url, body)
	if sample > 0 {
		text = fmt.Appendf(text, "\nsample %d", sample)
	}
	return digest.Of(text)
}

// ask sends a request until it is answered, fails for good, or has no attempts
// left.
func (e *endpoint) ask(ctx context.Context, r *request) (answer, error) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	key, err := e.key()
	if err != nil {
		return answer{}, err
	}
	if key != "" {
		e.session.accounts.WarnOpen(e.url)
	}
	var a answer
	err = e.account.Do(ctx, e.cfg.RetrySettings, func() (err error) {
		a, err = e.attempt(ctx, key, r)
		return err
	})
	a.Request, a.Time = r.key, time.Now().UTC()
	return a, err
}

// attempt sends a request once, as soon as limits and budget allow.
func (e *endpoint) attempt(ctx context.Context, key service.Secret, r *request) (answer, error) {
	c, most := r.asked, r.most
	prompt := characters(c)/charactersPerToken + 1
	if err := e.account.Wait(ctx, prompt+most); err != nil {
		return answer{}, err
	}
	release, err := e.ahead(ctx)
	if err != nil {
		return answer{}, err
	}
	defer release()
	worst := e.cfg.Price.of(mostPromptTokens(c)+int(e.hidden.Load()), most)
	if err := e.session.money.reserve(ctx, worst); err != nil {
		return answer{}, err
	}
	start := time.Now()
	a, billed, err := e.send(ctx, key, c, r.body)
	cost := 0.0
	switch {
	case err == nil:
		cost = e.cfg.Price.of(a.PromptTokens, a.CompletionTokens)
		e.session.times.add(e.part, time.Since(start))
		e.account.Owe(a.PromptTokens + a.CompletionTokens - prompt - most)
		e.learn(int64(a.PromptTokens - mostPromptTokens(c)))
	case billed: // perhaps billed: uncounted costs must not exceed the budget
		cost = worst
		e.session.run.Add(e.part, AnswerCount{Spent: worst})
	}
	e.session.money.settle(worst, cost)
	return a, err
}

// ahead sends one request at a time in a run with a budget, until an answer
// shows how many tokens the service adds. Reservations for requests in flight
// could not be corrected later.
func (e *endpoint) ahead(ctx context.Context) (release func(), err error) {
	if !e.session.money.limited() || e.known.Load() {
		return func() {}, nil
	}
	select {
	case e.scout <- struct{}{}:
		if e.known.Load() { // learned while this one waited
			<-e.scout
			return func() {}, nil
		}
		return func() { <-e.scout }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// learn records how many tokens a service adds to a prompt, so that later
// requests reserve enough.
func (e *endpoint) learn(hidden int64) {
	defer e.known.Store(true)
	for was := e.hidden.Load(); hidden > was && !e.hidden.CompareAndSwap(was, hidden); {
		was = e.hidden.Load()
	}
}
