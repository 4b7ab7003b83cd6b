package policy

import (
	"errors"
	"fmt"
)

// Validate reports every problem of the policy: shapes that do not match, numbers that are not finite, reserved keys in
// Info.
func (p *Policy) Validate() error {
	switch {
	case p == nil:
		return errors.New("there is no policy")
	case p.Actions == nil:
		return errors.New("policy has no actions")
	}
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if err := p.Actions.Validate(); err != nil {
		return err
	}
	if p.FeatureDim() < 1 {
		add("policy takes %d features", p.FeatureDim())
	}
	if d := p.Actions.Features.Dim; d != 0 && d != p.FeatureDim() {
		add("policy takes %d features, its actions say %d", p.FeatureDim(), d)
	}
	if !isFinite(p.Lambda) || p.Lambda < 0 || !isFinite(p.Tau) || p.Tau < 0 {
		add("lambda %v and tau %v must be finite and not negative", p.Lambda, p.Tau)
	}
	if err := p.Standard.Check(p.FeatureDim()); err != nil {
		add("%w", err)
	}
	for i, m := range p.Members {
		if err := m.Check(p.FeatureDim()); err != nil {
			add("member %d: %w", i, err)
		}
	}
	for key := range p.Info {
		if reservedKeys[key] || key == "" {
			add("info key %q is reserved", key)
		}
	}
	if d, err := p.decoder(); err != nil {
		add("%w", err)
	} else if err := d.check(p); err != nil {
		add("%w", err)
	}
	return errors.Join(problems...)
}
