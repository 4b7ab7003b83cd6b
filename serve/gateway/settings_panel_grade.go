package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipe/costs/grade"
	"pipe/internal/config"
)

// PanelGrader says how the answers of a panel are graded, and which outcomes are logged for them.
type PanelGrader struct {
	Kind string `yaml:"kind"` // of grade.Kinds but pair, whose model the gateway does not load
	// Reference is what answers are compared with: the name of a pair, whose answer is right by definition; gradeMajority; or "" for a
	// grader that needs no reference.
	Reference string `yaml:"reference"`
	// Settings are those of the kind. The model of a judge is {expert: NAME}, an expert of the gateway.
	Settings map[string]any `yaml:",inline"`
}

// gradeMajority is the value of PanelGrader.Reference for what more than half of the answers say.
const gradeMajority = "majority"

// open opens the grader. models opens the model of a judge.
func (g *PanelGrader) open(ctx context.Context, models grade.Models) (grade.Grader, error) {
	return grade.Open(ctx, grade.Config{Kind: g.Kind, Settings: g.Settings}, models)
}

// asks reports whether a call of an expert grades an answer.
func (g *PanelGrader) asks() bool { return g != nil && g.Settings["model"] != nil }

// judgeSettings are the settings of the model of a judge.
type judgeSettings struct {
	Expert string `json:"expert"`
}

// judgeName is the name of the expert that judges.
func judgeName(settings map[string]any) (string, error) {
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
type knownJudges struct{ settings *Settings }

func (k knownJudges) Chat(_ context.Context, settings map[string]any) (grade.ChatModel, error) {
	name, err := judgeName(settings)
	if _, ok := k.settings.Experts[name]; err == nil && !ok {
		err = fmt.Errorf("model: expert: %q is no expert of the gateway", name)
	}
	return noModel{}, err
}

// noModel is a model that is asked nothing.
type noModel struct{ grade.ChatModel }

func (noModel) Close() error { return nil }

func (knownJudges) Pair(context.Context, map[string]any) (grade.PairModel, error) {
	return nil, errNoPair
}

var errNoPair = errors.New("model: the gateway loads no models; grade the file of answers instead")

// checkGrader reports every problem of the grader of the panel.
func (s *Settings) checkGrader() error {
	g := s.Panel.Grader
	if g == nil {
		return nil
	}
	var p config.Problems
	if g.Kind != "" && !slices.Contains(grade.Kinds(), g.Kind) {
		p.Check(false, "kind: %q is none of %s", g.Kind, strings.Join(grade.Kinds(), ", "))
		return p.Err()
	}
	opened, err := g.open(context.Background(), knownJudges{s})
	if err != nil {
		p.Add(err)
		return p.Err()
	}
	expert, _, pair := strings.Cut(g.Reference, "/")
	_, known := s.Experts[expert]
	switch {
	case opened.NeedsReference() && g.Reference == "":
		p.Check(false, "reference: the grader compares answers; name a pair whose answers are taken to be right, such as %s/none, or %s", s.anyExpert(), gradeMajority)
	case !opened.NeedsReference():
		p.Check(g.Reference == "", "reference: is %q, but the grader compares answers with nothing", g.Reference)
	case g.Reference != gradeMajority:
		p.Check(pair && known, "reference: is %q, neither %s nor a pair of an expert of the gateway, such as %s/none", g.Reference, gradeMajority, s.anyExpert())
		p.Check(s.Panel.pairs() == 0, "reference: %s does not answer every request of the panel, because pairs is %s; set pairs to %s", g.Reference, s.Panel.Pairs, panelAll)
	}
	return p.Err()
}

// anyExpert is the name of an expert for examples.
func (s *Settings) anyExpert() string {
	names := make([]string, 0, len(s.Experts))
	for name := range s.Experts {
		names = append(names, name)
	}
	if len(names) == 0 {
		return "EXPERT"
	}
	return slices.Min(names)
}
