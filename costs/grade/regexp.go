package grade

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"pipe/internal/config"
)

// pattern compares what a regular expression finds in an answer with the reference.
type pattern struct {
	normaliser
	re    *regexp.Regexp
	group int
	last  bool
}

type regexpSettings struct {
	Pattern   string   `json:"pattern"`    // RE2
	Group     *int     `json:"group"`      // that is compared; nil: the first one, or the whole match if there is none
	Take      string   `json:"take"`       // which match: first or last
	MatchOnly bool     `json:"match_only"` // a match is right, whatever the reference is
	Ignore    []string `json:"ignore"`     // case, punctuation, articles, space
}

func newRegexp(_ context.Context, settings map[string]any, _ Models) (Grader, error) {
	cfg := regexpSettings{Take: takeFirst, Ignore: []string{ignoreCase, ignoreSpace}}
	if err := config.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	n, errIgnore := newNormaliser(cfg.Ignore)
	re, errPattern := cfg.compile()
	var errTake error
	if cfg.Take != takeFirst && cfg.Take != takeLast {
		errTake = fmt.Errorf("take is %q; it must be %s or %s", cfg.Take, takeFirst, takeLast)
	}
	if err := errors.Join(errPattern, errTake, errIgnore); err != nil {
		return nil, err
	}
	p := pattern{normaliser: n, re: re, last: cfg.Take == takeLast}
	switch {
	case cfg.Group != nil:
		p.group = *cfg.Group
	case re.NumSubexp() > 0:
		p.group = 1
	}
	if cfg.MatchOnly {
		return matchOnly{texts{p}}, nil
	}
	return texts{p}, nil
}

func (cfg *regexpSettings) compile() (*regexp.Regexp, error) {
	if cfg.Pattern == "" {
		return nil, errors.New("pattern: not set")
	}
	re, err := regexp.Compile(cfg.Pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	if g := cfg.Group; g != nil && (*g < 0 || *g > re.NumSubexp()) {
		return nil, fmt.Errorf("group is %d; the pattern has the groups 0 to %d", *g, re.NumSubexp())
	}
	if re.MatchString("") {
		return nil, errors.New("pattern: it matches an empty text, so every answer would match")
	}
	return re, nil
}

// find returns the text of the group in the chosen match.
func (p pattern) find(answer string) (string, bool) {
	var at []int
	if !p.last {
		at = p.re.FindStringSubmatchIndex(answer)
	} else if all := p.re.FindAllStringSubmatchIndex(answer, -1); len(all) > 0 {
		at = all[len(all)-1]
	}
	if at == nil || at[2*p.group] < 0 {
		return "", false
	}
	return answer[at[2*p.group]:at[2*p.group+1]], true
}

func (p pattern) key(answer string) (string, bool) {
	found, ok := p.find(answer)
	return p.text(found), ok
}

func (p pattern) score(answer, reference string) float64 {
	if key, ok := p.key(answer); ok && key == p.text(reference) {
		return 1
	}
	return 0
}

// matchOnly gives 1 to every answer with a match.
type matchOnly struct{ texts }

// NeedsReference returns false.
func (matchOnly) NeedsReference() bool { return false }

// Check accepts any reference, since none is used.
func (matchOnly) Check(string) error { return nil }

// Grade returns 1 for a match, else 0.
func (m matchOnly) Grade(_ context.Context, answers []Answer) ([]float64, error) {
	scores := make([]float64, len(answers))
	for i, a := range answers {
		if _, ok := m.Key(a.Text); ok {
			scores[i] = 1
		}
	}
	return scores, nil
}
