// Package search finds passages with an OpenSearch or Elasticsearch service.
//
// It imports experts/service for requests over HTTP, and experts/builder/part for the type of passages and the way in which
// settings are read.
package search

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"pipe/experts/builder/part"
	"pipe/experts/service"
	"pipe/internal/parallel"
)

// Settings name an index of OpenSearch or Elasticsearch. Key, User and
// Password are names of environment variables that hold the credentials.
type Settings struct {
	URL      string    `json:"url"`               // of the service
	Index    string    `json:"index"`             // its name there
	Page     string    `json:"page"`              // field that holds the id of a page
	Text     string    `json:"text"`              // field with the text to show
	Fields   []string  `json:"fields"`            // fields to search; none: the field of the text
	Tie      string    `json:"tie"`               // keyword field by which ties are sorted; "": by page id, after the search
	Key      string    `json:"key"`               // variable with an API key
	User     string    `json:"user"`              // variables with a user
	Password string    `json:"password"`          // and a password
	Timeout  float64   `json:"timeout"`           // seconds
	CAFile   part.Path `json:"ca_file,omitempty"` // PEM file of certificates to trust in addition to the system's
	service.RetrySettings
	Concurrency int `json:"concurrency"` // requests in flight per batch
}

// UnmarshalJSON starts from the defaults.
func (s *Settings) UnmarshalJSON(b []byte) error {
	type plain Settings
	p := plain{Page: "id", Text: "text", Timeout: 30, RetrySettings: service.RetrySettings{Retries: 6, Backoff: 0.5}, Concurrency: 4}
	var given map[string]any
	if err := json.Unmarshal(b, &given); err != nil {
		return err
	}
	if err := part.DecodeSettings(given, &p); err != nil {
		return fmt.Errorf("opensearch: %w", err)
	}
	*s = Settings(p)
	return nil
}

// MarshalJSON writes the settings that affect results, for digests.
func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings
	return json.Marshal(plain{URL: s.URL, Index: s.Index, Page: s.Page, Text: s.Text, Fields: s.Fields, Tie: s.Tie})
}

// Validate reports the first problem.
func (s *Settings) Validate() error {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("opensearch: url is not an http or https URL such as https://localhost:9200")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("opensearch: url has more than scheme, host and path; put a user, a password or a key into environment variables, and name them with the settings user, password and key")
	case s.Index == "" || strings.ContainsAny(s.Index, "/?#"):
		return fmt.Errorf("opensearch: index is %q", s.Index)
	case s.Page == "" || s.Text == "":
		return errors.New("opensearch: page and text must name the fields with the id and the text of a page")
	case s.Key != "" && s.User != "" || (s.User == "") != (s.Password == ""):
		return errors.New("opensearch: set either key, or user and password")
	case slices.ContainsFunc([]string{s.Key, s.User, s.Password}, func(name string) bool { return name != "" && !service.IsVariable(name) }):
		return errors.New("opensearch: key, user and password must be names of environment variables, in capitals; a configuration never holds the secrets themselves")
	case !(s.Timeout > 0 && s.Timeout <= service.MaxTimeout) || s.Retries < 0 || s.Retries > service.MaxRetries ||
		!(s.Backoff > 0 && s.Backoff <= service.MaxBackoff) || s.Concurrency < 1 || s.Concurrency > service.MaxConcurrency:
		return fmt.Errorf("opensearch: timeout %v s, %d retries, backoff %v s, concurrency %d; timeout is at most %d, retries %d, backoff %d, concurrency %d",
			s.Timeout, s.Retries, s.Backoff, s.Concurrency, service.MaxTimeout, service.MaxRetries, service.MaxBackoff, service.MaxConcurrency)
	}
	return nil
}

// credentials sets the Authorization header; hidden are the strings that must
// not appear in messages.
func (s *Settings) credentials() (set func(*http.Request), hidden []service.Secret, err error) {
	read := func(name string) (string, error) {
		value, err := service.ReadSecret(name)
		if err != nil {
			return "", fmt.Errorf("opensearch: %w", err)
		}
		return string(value), nil
	}
	switch {
	case s.Key != "":
		key, err := read(s.Key)
		return func(r *http.Request) { r.Header.Set("Authorization", "ApiKey "+key) }, []service.Secret{service.Secret(key)}, err
	case s.User != "":
		user, err := read(s.User)
		if err != nil {
			return nil, nil, err
		}
		password, err := read(s.Password)
		both := base64.StdEncoding.EncodeToString([]byte(user + ":" + password)) // as in the header
		return func(r *http.Request) { r.SetBasicAuth(user, password) }, []service.Secret{service.Secret(password), service.Secret(both)}, err
	}
	return func(*http.Request) {}, nil, nil
}

// Service is a search service. It is safe for concurrent use.
type Service struct {
	service *Settings
	client  *http.Client
	account *service.Account
	sign    func(*http.Request)
	hidden  []service.Secret
	pages   int64
}

// Open makes a client of the service, which the caller closes. It sends nothing. caFile is CAFile as this process finds
// it. Requests wait for the limits of the account. secret is called if a key or a password will be sent to the address.
func Open(cfg *Settings, caFile string, account *service.Account, secret func(url string)) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	sign, hidden, err := cfg.credentials()
	if err != nil {
		return nil, err
	}
	client, err := service.NewClient(cfg.Concurrency, caFile)
	if err != nil {
		return nil, fmt.Errorf("opensearch: %w", err)
	}
	if len(hidden) > 0 {
		secret(cfg.URL)
	}
	return &Service{service: cfg, sign: sign, hidden: hidden, account: account, client: client}, nil
}

// Count requests the number of pages of the index, so that a wrong address or key is found at once.
func (s *Service) Count(ctx context.Context) error {
	return s.ask(ctx, http.MethodGet, "_count", nil, s.readCount)
}

func (s *Service) readCount(text []byte) error {
	var r struct {
		Count *int64 `json:"count"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	if r.Count == nil || *r.Count < 0 {
		return errors.New("it has no number of pages")
	}
	s.pages = *r.Count
	return nil
}

// Identity differs between indexes with different numbers of pages; the service reports no more.
func (s *Service) Identity() string {
	return fmt.Sprintf("index %q of a search service, %d pages", s.service.Index, s.pages)
}

// Close ends the connections.
func (s *Service) Close() error {
	s.client.CloseIdleConnections()
	return nil
}

// Find returns up to top passages per query, best first, and searches for several queries at a time.
func (s *Service) Find(ctx context.Context, queries []string, top int) ([][]part.Passage, error) {
	out := make([][]part.Passage, len(queries))
	err := parallel.First(ctx, s.service.Concurrency, len(queries), func(ctx context.Context, n int) (err error) {
		out[n], err = s.find(ctx, queries[n], top)
		return err
	})
	return out, err
}

// searchResponse is the part of a response that is used.
type searchResponse struct {
	TimedOut bool `json:"timed_out"`
	Shards   struct {
		Failed int `json:"failed"`
	} `json:"_shards"`
	Hits *struct {
		Hits []struct {
			Score  *float64       `json:"_score"`
			Source map[string]any `json:"_source"`
		} `json:"hits"`
	} `json:"hits"`
}

func (s *Service) find(ctx context.Context, query string, top int) ([]part.Passage, error) {
	body, err := json.Marshal(s.request(query, top))
	if err != nil {
		return nil, err
	}
	var found []scored
	err = s.ask(ctx, http.MethodPost, "_search", body, func(text []byte) (err error) {
		found, err = s.read(text)
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.service.Tie == "" {
		slices.SortStableFunc(found, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Page, b.Page))
		})
	}
	var list []part.Passage
	seen := make(map[part.Passage]bool)
	for _, f := range found {
		if len(list) < top && !seen[f.Passage] {
			seen[f.Passage] = true
			list = append(list, f.Passage)
		}
	}
	return list, nil
}

func (s *Service) request(query string, top int) map[string]any {
	fields := s.service.Fields
	if len(fields) == 0 {
		fields = []string{s.service.Text}
	}
	body := map[string]any{
		"size": top, "_source": []string{s.service.Page, s.service.Text}, "track_total_hits": false,
		"query": map[string]any{"multi_match": map[string]any{"query": query, "fields": fields, "type": "most_fields"}},
	}
	if s.service.Tie != "" {
		body["sort"] = []map[string]string{{"_score": "desc"}, {s.service.Tie: "asc"}}
	}
	return body
}

// scored is a passage with the service's score.
type scored struct {
	part.Passage
	score float64
}

// errPartial means that a service did not search all of the index.
var errPartial = errors.New("the service has searched only a part of the index")

func (s *Service) read(text []byte) ([]scored, error) {
	var r searchResponse
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	if r.TimedOut || r.Shards.Failed > 0 {
		return nil, errPartial
	}
	if r.Hits == nil {
		return nil, errors.New("it has no hits.hits")
	}
	var found []scored
	for i, h := range r.Hits.Hits {
		page, isPage := h.Source[s.service.Page].(string)
		text, isText := h.Source[s.service.Text].(string)
		switch {
		case h.Score == nil:
			return nil, fmt.Errorf("hit %d has no _score", i)
		case !isPage:
			return nil, fmt.Errorf("hit %d has no text field %q for the page", i, s.service.Page)
		case !isText:
			return nil, fmt.Errorf("hit %d has no text field %q for the text", i, s.service.Text)
		}
		found = append(found, scored{part.Passage{Page: s.redactAnswer(page), Text: s.redactAnswer(text)}, *h.Score})
	}
	return found, nil
}
