package cascade

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pipe/models/policy"
)

func TestInfoIsWhatExportWrote(t *testing.T) {
	p := planted(rand.New(rand.NewPCG(1, 2)), 3, 4, 8)
	p.Info = map[string]string{"method": "cascade", GuardKey: jsonOf(Guard{Gain: 0.1, Rows: 5, Rule: policy.RuleGain}), NamesKey: `["a","b","c","d"]`}
	m, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cascade.onnx")
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	_, info, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(info.Facts, p.Facts) || !reflect.DeepEqual(info.States, p.executed()) || info.Stages != 2 || info.Lambda != 1.5 || info.Dim != 4 {
		t.Errorf("%+v", info)
	}
	if info.Guard == nil || !info.Guard.Passes() || len(info.Names) != 4 || info.Info["method"] != "cascade" || info.OneShot() {
		t.Errorf("%+v", info)
	}
	if _, err := policy.Parse(m); !errors.Is(err, policy.ErrNotPolicy) {
		t.Error(err)
	}
	rest, err := p.Rest.Export()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(rest); !errors.Is(err, ErrNotCascade) {
		t.Error(err)
	}
}

// Metadata that contradicts itself or the graph is refused.
func TestParseRefuses(t *testing.T) {
	p := planted(rand.New(rand.NewPCG(1, 3)), 3, 4, 8)
	for key, values := range map[string][]string{
		"format": {"0", "x", "4"}, "dim": {"5", "-1", "1e3"}, "stages": {"0", "1", "6", "2147483647"}, "lambda": {"NaN", "-1", "Inf"}, "actions": {"{}", "x"},
		"facts": {
			"[]", "x", `[{"name":"label"}]`, `[{"name":"a"},{"name":"b"},{"name":"a"}]`, `[{"name":"a"},{"name":"b"},{"name":"C c"}]`,
			`[{"name":"label","values":["yes","no"]},{"name":"confidence"},{"name":"length"}]`,
		},
		"states": {"[]", "[[1]]", "[[],[0],[0]]", "[[],[1,0]]", "[[],[5]]", "[[],[-1]]", "[[],[0,1,2]]", "x"},
		"guard":  {"x"}, "feature_names": {`["a"]`, "x"}, "kind": {"policy", ""},
	} {
		for _, value := range values {
			m, err := p.Export()
			if err != nil {
				t.Fatal(err)
			}
			meta := m.Metadata()
			meta[keyPrefix+key] = value
			m.SetMetadata(meta)
			if info, err := Parse(m); err == nil {
				t.Errorf("%s %q: %+v", key, value, info)
			}
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	for want, change := range map[string]func(*Policy){
		"reserved":                  func(p *Policy) { p.Info = map[string]string{"states": ""} },
		"stages":                    func(p *Policy) { p.Stages = 0 },
		"more than 1 pairs":         func(p *Policy) { p.Stages = 1 },
		"nothing is seen":           func(p *Policy) { p.Facts = nil },
		"confidence is there twice": func(p *Policy) { p.Facts[2].Name = "confidence" },
		"6 stages for 5 pairs":      func(p *Policy) { p.Stages = 6 },
		"first state":               func(p *Policy) { p.States = p.States[1:] },
		"is there twice":            func(p *Policy) { p.States = append(p.States, p.States[1]) },
		"column 99 is no number":    func(p *Policy) { p.States[1].Encoding.Numbers[0].Column = 99 },
		"cannot be compared":        func(p *Policy) { p.States[1].Encoding.Agree = []Agreement{{99, 0}} },
		"has no value 7":            func(p *Policy) { p.States[1].Encoding.Values[0].Index = 7 },
		"of no executed pair":       func(p *Policy) { p.States[1].Encoding.Known[0] = 99 },
		"its policy has 6 pairs":    func(p *Policy) { p.States[0].Policy = p.States[1].Policy },
		"a state without a policy":  func(p *Policy) { p.Rest = nil },
		"has 3 features, the polic": func(p *Policy) { p.States[0].Encoding.Dim = 3 },
	} {
		p := planted(rand.New(rand.NewPCG(1, 4)), 3, 4, 8)
		change(p)
		if _, err := p.Export(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
