package gateway

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pipe/models/policy"
	"pipe/serve/decision"
)

// TestCanaries: a canary of the gateway answers its share of the users, always the same ones, also where the policy sees nothing: then
// its own fixed pair answers. A policy that is asked for by name and version has no canary.
func TestCanaries(t *testing.T) {
	other := map[string]string{policy.GuardKey: policy.Guard{Fixed: "small/none"}.JSON()}
	w := newWorldOf(t, guarded, nil, func(folder string, s *decision.Settings) {
		writePolicy(t, folder, "next", other)
		s.Canary = []decision.Canary{{Of: "claims", Policy: "next", Share: 0.3}}
	})
	const users = 100
	asked, of := 0, make(map[string]string)
	for i := range 2 * users {
		user := fmt.Sprint("user ", i%users)
		messages, pair := `[{"role":"user","content":"x"}]`, "small/search"
		if i >= users {
			messages, pair = withoutText["null"], map[string]string{"claims": "large/none", "next": "small/none"}[of[user]]
		}
		a := w.post(t, fmt.Sprintf(`{"model":"pipe","messages":%s,"user":%q}`, messages, user))
		name, _, _ := strings.Cut(a.header.Get("X-Pipe-Policy"), "@")
		if i < users {
			of[user] = name
		}
		if got := a.header.Get("X-Pipe-Expert") + "/" + a.header.Get("X-Pipe-Advice"); a.status != 200 || name != of[user] || got != pair {
			t.Errorf("%s: %d by %s of %s, want %s of %s", user, a.status, got, name, pair, of[user])
		}
		if name == "next" {
			asked++
		}
	}
	if share := float64(asked) / (2 * users); math.Abs(share-0.3) > 0.15 {
		t.Errorf("the canary got %v", share)
	}
	fixed := 0
	for _, r := range w.records(t) {
		if r.IsFixed() {
			fixed++
		}
		if r.Canary != (r.Policy == "next") || r.Share != 0.3 {
			t.Errorf("%+v", r)
		}
	}
	if fixed != users {
		t.Errorf("%d records without a policy", fixed)
	}
}
