package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
	"pipe/serve/gateway"
	"pipe/serve/policies"
)

// Report says what a configuration would serve, and what is wrong with it. It contains no secrets.
type Report struct {
	HTTP     string         `json:"http"`
	GRPC     string         `json:"grpc,omitempty"`
	TLS      string         `json:"tls,omitempty"` // when the certificate expires
	Policies []PolicyReport `json:"policies"`
	Prices   string         `json:"prices,omitempty"` // the price file, and the policies that decide at its prices
	Log      string         `json:"log,omitempty"`    // folder of the decision log
	Experts  []string       `json:"experts"`          // of the gateway; nothing was sent to them
	Keys     []KeyReport    `json:"keys"`             // of callers
	Notes    []string       `json:"notes"`            // remarks that are no problems
	Problems []string       `json:"problems"`         // why the server would not start, or what it would leave out

	errs []error // the problems
}

// PolicyReport describes a policy that would be served.
type PolicyReport struct {
	Name    string   `json:"name"`
	Digest  string   `json:"digest"`
	Default bool     `json:"default"`
	Input   string   `json:"input"` // what it takes besides features: text, image or row
	Dim     int      `json:"features"`
	Pairs   []string `json:"pairs"`
}

// KeyReport describes a key of a caller.
type KeyReport struct {
	Name   string `json:"name"`
	Admin  bool   `json:"admin"`
	Limits string `json:"limits"` // in words
}

// CheckError means that a configuration has problems. The report lists them.
type CheckError struct {
	Problems int
	errs     []error
}

func (e *CheckError) Error() string {
	if e.Problems == 1 {
		return "check: 1 problem"
	}
	return fmt.Sprintf("check: %d problems", e.Problems)
}

// Unwrap returns the problems.
func (e *CheckError) Unwrap() []error { return e.errs }

// Check opens everything that the configuration names, and closes it again. It does not open listeners and the decision log,
// which a running server may use. It sends nothing to experts and writes no file. Problems are in the report.
func Check(ctx context.Context, c Config, o Options) *Report {
	r := &Report{HTTP: c.Listen, GRPC: c.GRPC, Log: c.Log.Folder.String(), Policies: []PolicyReport{}, Experts: []string{}, Keys: []KeyReport{}, Notes: []string{}, Problems: []string{}}
	r.add(c.Validate())
	if len(r.Problems) == 0 {
		read := c
		read.Log.Folder, read.Monitor.State, read.Gateway.Sessions.File = "", "", "" // they may belong to a running server
		s := prepare(read, o)
		s.checking = true
		s.openForCheck(ctx, o, r)
		s.describe(ctx, r)
		r.add(s.Close())
	}
	r.notes(&c)
	return r
}

// openForCheck opens as much as possible, so that the report has every problem and not only the first one.
func (s *Server) openForCheck(ctx context.Context, o Options, r *Report) {
	for _, open := range s.openBasics(ctx, o) {
		r.add(open())
	}
	if len(r.Problems) == 0 {
		for _, open := range s.openServices(ctx, o) {
			if err := open(); err != nil {
				r.add(err)
				break
			}
		}
	}
	if len(r.Problems) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.config.Policies.Encoders)) {
		if file := s.config.Policies.Encoders[name]; filepath.Ext(file) == ".json" { // others may be names of models
			r.addMissing("policies.encoders."+name, storage.File(file))
		}
	}
	r.addMissing("monitor.baseline", s.config.Monitor.Baseline.Location())
	r.addMissing("monitor.actions", s.config.Monitor.Actions.Location())
	if s.parts.gateway == nil {
		for _, line := range config.Lines(gateway.Try(s.config.Gateway)) {
			if !slices.Contains(r.Problems, line) {
				r.add(errors.New(line))
			}
		}
	}
}

// addMissing adds a problem if a file does not exist and no problem names it yet.
func (r *Report) addMissing(key string, file storage.Location) {
	if file.IsZero() || slices.ContainsFunc(r.Problems, func(line string) bool { return strings.Contains(line, file.String()) }) {
		return
	}
	if _, err := file.Stat(context.Background()); err != nil {
		r.add(fmt.Errorf("%s: %w", key, err))
	}
}

// Err returns a *CheckError if there are problems.
func (r *Report) Err() error {
	if len(r.Problems) > 0 {
		return &CheckError{len(r.Problems), r.errs}
	}
	return nil
}

// add adds the lines of an error to the problems.
func (r *Report) add(err error) {
	if err != nil {
		r.Problems, r.errs = append(r.Problems, config.Lines(err)...), append(r.errs, err)
	}
}

// describe adds what the server has opened.
func (s *Server) describe(ctx context.Context, r *Report) {
	if s.certs != nil {
		r.TLS = s.certs.Expires().UTC().Format(time.RFC3339)
		if time.Now().After(s.certs.Expires()) {
			r.add(errors.New("tls: the certificate has expired"))
		}
	}
	if s.access != nil {
		for _, k := range s.access.Callers() {
			r.Keys = append(r.Keys, KeyReport{k.Name, k.Admin, k.Limits()})
		}
	}
	if s.parts.gateway != nil {
		r.Experts = slices.Sorted(maps.Keys(s.config.Gateway.Experts))
	}
	if s.parts.policies != nil {
		s.describePolicies(ctx, r)
	}
	r.Notes = append(r.Notes, s.peopleNotes(r)...)
	if s.parts.gateway != nil {
		r.Notes = append(r.Notes, s.parts.gateway.Notes()...)
		r.add(s.parts.gateway.Problems())
	}
}

// describePolicies adds the policies, and the files that were left out.
func (s *Server) describePolicies(ctx context.Context, r *Report) {
	set := s.parts.policies
	for _, name := range set.Names() {
		p, err := set.Acquire(name)
		if err != nil { // its file changed meanwhile
			r.add(err)
			continue
		}
		r.Policies = append(r.Policies, PolicyReport{p.Name, p.Digest, name == set.Default(), p.Input(), p.Info().Dim, p.Info().Actions.Names()})
		p.Release()
	}
	if f := set.PriceFile(); f != nil {
		r.Prices = f.File + ", for " + strings.Join(f.Policies, ", ")
	}
	for _, c := range set.Reload(ctx) {
		if c.Verdict == policies.Refused && c.Prices {
			r.add(fmt.Errorf("prices: %s", c.Reason))
		} else if c.Verdict == policies.Refused {
			r.add(fmt.Errorf("policy %s: %s", c.Name, c.Reason))
		}
	}
}

// peopleNotes are remarks about experts that are people and that no policy has.
func (s *Server) peopleNotes(r *Report) (notes []string) {
	for _, name := range slices.Sorted(maps.Keys(s.config.People.Experts)) {
		if !slices.ContainsFunc(r.Policies, func(p PolicyReport) bool {
			return slices.ContainsFunc(p.Pairs, func(pair string) bool { return strings.HasPrefix(pair, name+"/") })
		}) {
			notes = append(notes, fmt.Sprintf("people: no policy has the expert %q, so only callers give it questions", name))
		}
	}
	return notes
}

// notes adds remarks about the configuration that are no problems.
func (r *Report) notes(c *Config) {
	log := c.Log.Folder
	note := func(yes bool, text string) {
		if yes {
			r.Notes = append(r.Notes, text)
		}
	}
	keys := len(c.Access.Keys) > 0 || c.Access.KeysFile != ""
	note(!keys && c.isLocal(), "callers need no key; only programs of this machine can reach the server")
	note(!keys && !c.isLocal(), "callers need no key, and other machines can reach the server")
	note(!c.TLS.On() && !c.isLocal(), "connections are not encrypted: put TLS in front, or configure tls")
	note(log == "", "decisions are not logged, so outcomes are refused; log.folder names a folder for them")
	note(c.Monitor.Baseline == "", "decisions are not compared with a baseline; monitor.baseline names one")
	note(log != "" && !decisionlog.IsLog(string(log)), "the decision log will be created")
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s %s\n", name, value)
		}
	}
	line("http", r.HTTP)
	line("grpc", r.GRPC)
	line("tls until", r.TLS)
	line("log", r.Log)
	for _, p := range r.Policies {
		digest := p.Digest[:min(len(p.Digest), 12)]
		text := fmt.Sprintf("%s (%s): %d features", p.Name, digest, p.Dim)
		if p.Input != "" && p.Input != "features" {
			text += " or " + p.Input
		}
		if p.Default {
			text += ", default"
		}
		line("policy", text+": "+strings.Join(p.Pairs, ", "))
	}
	line("prices", r.Prices)
	line("experts", strings.Join(r.Experts, ", "))
	for _, k := range r.Keys {
		line("key", k.Name+": "+k.Limits)
	}
	for _, n := range r.Notes {
		line("note", n)
	}
	for _, p := range r.Problems {
		line("problem", p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
