package panels

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs/grade"
	"pipe/internal/config"
)

// Grader says how the answers of a panel are graded, and which outcomes are logged for them.
type Grader struct {
	Kind string `yaml:"kind"` // of grade.Kinds but pair, whose model the gateway does not load
	// Reference is what answers are compared with: the name of a pair, whose answer is right by definition; Majority; or "" for a
	// grader that needs no reference.
	Reference string `yaml:"reference"`
	// Settings are those of the kind. The model of a judge is {expert: NAME}, an expert of the gateway.
	Settings map[string]any `yaml:",inline"`
}

// Majority is the value of Grader.Reference for what more than half of the answers say.
const Majority = "majority"

// Open opens the grader. models opens the model of a judge.
func (g *Grader) Open(ctx context.Context, models grade.Models) (grade.Grader, error) {
	return grade.Open(ctx, grade.Config{Kind: g.Kind, Settings: g.Settings}, models)
}

// Asks reports whether a call of an expert grades an answer.
func (g *Grader) Asks() bool { return g != nil && g.Settings["model"] != nil }

// judgeSettings are the settings of the model of a judge.
type judgeSettings struct {
	Expert string `json:"expert"`
}

// JudgeName is the name of the expert that judges.
func JudgeName(settings map[string]any) (string, error) {
	var s judgeSettings
	if err := config.DecodeSettings(settings, &s); err != nil {
		return "", fmt.Errorf("model: %w", err)
	}
	if s.Expert == "" {
		return "", errors.New("model: expert: not set; name an expert of the gateway")
	}
	return s.Expert, nil
}

// knownJudges are the models of a grader whose settings are checked. It opens none.
type knownJudges struct{ experts []string }

func (k knownJudges) Chat(_ context.Context, settings map[string]any) (grade.ChatModel, error) {
	name, err := JudgeName(settings)
	if err == nil && !slices.Contains(k.experts, name) {
		err = fmt.Errorf("model: expert: %q is no expert of the gateway", name)
	}
	return noModel{}, err
}

// noModel is a model that is asked nothing.
type noModel struct{ grade.ChatModel }

func (noModel) Close() error { return nil }

func (knownJudges) Pair(context.Context, map[string]any) (grade.PairModel, error) {
	return nil, ErrNoPair
}

// ErrNoPair is the error of a grader whose model would have to be loaded.
var ErrNoPair = errors.New("model: the gateway loads no models; grade the file of answers instead")

// CheckGrader reports every problem of the grader of the panel of a gateway with experts of these names.
func (p *Settings) CheckGrader(experts []string) error {
	g := p.Grader
	if g == nil {
		return nil
	}
	var all config.Problems
	if g.Kind != "" && !slices.Contains(grade.Kinds(), g.Kind) {
		all.Check(false, "kind: %q is none of %s", g.Kind, strings.Join(grade.Kinds(), ", "))
		return all.Err()
	}
	opened, err := g.Open(context.Background(), knownJudges{experts})
	if err != nil {
		all.Add(err)
		return all.Err()
	}
	expert, _, pair := strings.Cut(g.Reference, "/")
	known := slices.Contains(experts, expert)
	switch {
	case opened.NeedsReference() && g.Reference == "":
		all.Check(false, "reference: the grader compares answers; name a pair whose answers are taken to be right, such as %s/none, or %s", anyOf(experts), Majority)
	case !opened.NeedsReference():
		all.Check(g.Reference == "", "reference: is %q, but the grader compares answers with nothing", g.Reference)
	case g.Reference != Majority:
		all.Check(pair && known, "reference: is %q, neither %s nor a pair of an expert of the gateway, such as %s/none", g.Reference, Majority, anyOf(experts))
		all.Check(p.Number() == 0, "reference: %s does not answer every request of the panel, because pairs is %s; set pairs to %s", g.Reference, p.Pairs, All)
	}
	return all.Err()
}

// anyOf is the name of an expert for examples.
func anyOf(experts []string) string {
	if len(experts) == 0 {
		return "EXPERT"
	}
	return slices.Min(experts)
}
