package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/config"
)

// An outcome that comes after the server was started again belongs to its decision. A second one is the same, and one of a decision
// that never was is refused.
func TestOutcomesAfterARestart(t *testing.T) {
	folder := config.Path(filepath.Join(t.TempDir(), "log"))
	file := aPolicy(t)
	open := func() *running {
		return start(t, func(c *Config) { c.Log.Folder, c.Policies.Paths = folder, []string{file} }, nil)
	}
	r := open()
	_, _, decided := r.do(t, "POST", "/v1/decide", `{"features":[[1,2,3,4]]}`, "Content-Type", "application/json")
	_, id, _ := strings.Cut(decided, `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if err := r.wait(t); err != nil || id == "" {
		t.Fatal(err, decided)
	}
	r = open()
	for i, c := range []struct {
		id   string
		code int
	}{{id, 200}, {id, 200}, {"nobody", 404}} {
		if code, _, body := r.do(t, "POST", "/v1/outcomes", `{"id":"`+c.id+`","loss":0.5}`, "Content-Type", "application/json"); code != c.code {
			t.Errorf("outcome %d: %d %s", i+1, code, body)
		}
	}
}
