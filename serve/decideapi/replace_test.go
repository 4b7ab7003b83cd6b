package decideapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pipe/serve/access"
)

// An outcome is corrected by whoever may change the server, and by no other key.
func TestReplaceOutcome(t *testing.T) {
	w := newWorld(t, defaults())
	d := w.decide(t, inJSON(t, map[string]any{"features": numbers(1, 1)})).Decisions[0]
	outcome := func(loss float64, more string) string {
		return fmt.Sprintf(`{"id": %q, "loss": %v%s}`, d.ID, loss, more)
	}
	for _, c := range []struct {
		body   string
		admin  bool
		status int
		want   string
	}{
		{outcome(0.25, ""), false, 200, `"duplicates":0`},
		{outcome(0.5, ""), true, 409, "conflicting_outcome"},
		{outcome(0.5, `, "replace": false`), true, 409, "conflicting_outcome"},
		{outcome(0.5, `, "replace": true`), false, 403, "admin: true"},
		{outcome(0.5, `, "replace": true`), true, 200, `{"accepted":1,"duplicates":0}`},
		{outcome(0.5, ""), false, 200, `"duplicates":1`},
		{outcome(0.25, ""), false, 409, "conflicting_outcome"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/outcomes", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		w.server.Config.Handler.ServeHTTP(answer, r.WithContext(access.With(r.Context(), &access.Caller{Name: "k", Admin: c.admin})))
		if answer.Code != c.status || !strings.Contains(answer.Body.String(), c.want) {
			t.Errorf("%s, admin %v: %d %s", c.body, c.admin, answer.Code, answer.Body)
		}
	}
}
