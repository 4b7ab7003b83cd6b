package decision

import (
	"sync"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/policies"
)

// version is what the decider keeps about one version of a policy.
type version struct {
	info    *policy.Info
	names   []string    // of pairs
	certain [][]float64 // certain[i] are the propensities if pair i is always chosen
	guarded bool        // the policy is the best fixed pair, because the guard exported that
	reason  string      // of the guard; empty: the file has no guard
	fixed   *fixedPair
	bound   *lossBound // nil: there is no ledger, or nothing bounds its losses
}

func newVersion(info *policy.Info) *version {
	n := info.Actions.Len()
	v := &version{info: info, names: info.Actions.Names(), certain: make([][]float64, n)}
	all := make([]float64, n*n)
	for i := range v.certain {
		v.certain[i] = all[i*n : (i+1)*n : (i+1)*n]
		v.certain[i][i] = 1
	}
	v.fixed = newFixedPair(info)
	if g := info.Guard; g != nil {
		v.guarded = g.Fallback
		_, v.reason = g.Verdict()
	}
	return v
}

// About describes a version of a policy as the decision log does.
func About(p *policies.Policy) decisionlog.PolicyInfo {
	info := p.Info()
	return decisionlog.PolicyInfo{
		Name: p.Name, Digest: p.Digest, Actions: info.Actions, Lambda: info.Lambda, Dim: info.Dim, AnyPrice: info.Prices != nil,
		Meta: info.Shared(),
	}
}

// maxVersions is the number of versions after which all are discarded and computed again, so that reloads do not fill the
// memory.
const maxVersions = 256

// versions has the versions that have decided, by digest.
type versions struct {
	log *decisionlog.Writer // nil: none
	// prepare is called with every new version of a policy.
	prepare func(name string, v *version)
	mu      sync.RWMutex
	by      map[string]*version
}

func (vs *versions) of(p *policies.Policy) (*version, error) {
	vs.mu.RLock()
	v := vs.by[p.Digest]
	vs.mu.RUnlock()
	if v != nil {
		return v, nil
	}
	vs.mu.Lock()
	defer vs.mu.Unlock()
	if v := vs.by[p.Digest]; v != nil {
		return v, nil
	}
	info := p.Info()
	v = newVersion(info)
	vs.prepare(p.Name, v)
	if vs.log != nil {
		if err := vs.log.Policy(About(p)); err != nil {
			return nil, err
		}
	}
	if len(vs.by) >= maxVersions {
		clear(vs.by)
	}
	vs.by[p.Digest] = v
	return v, nil
}
