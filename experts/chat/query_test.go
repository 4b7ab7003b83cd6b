package chat

import (
	"net/http"
	"testing"

	"pipe/experts/chat/chattest"
	"pipe/experts/language"
)

// The query of an address is sent with every request, and answers belong to it: another one asks again. Without one, answers and
// settings have the identities that they always had.
func TestQueryIsPartOfTheIdentity(t *testing.T) {
	server := chattest.NewServer(t)
	var sent string
	server.Fault = func(_ int, _ http.ResponseWriter, r *http.Request) bool { sent = r.URL.RequestURI(); return false }
	s := chatSetup(t, 0)
	version := func(v string) map[string]any { return map[string]any{"api-version": v} }
	for _, c := range []struct {
		query map[string]any
		want  string
		asked int
	}{
		{nil, "/v1/chat/completions", 1},
		{map[string]any{}, "/v1/chat/completions", 1},
		{version("2024-10-21"), "/v1/chat/completions?api-version=2024-10-21", 2},
		{version("2025-01-01"), "/v1/chat/completions?api-version=2025-01-01", 3},
		{version("2024-10-21"), "/v1/chat/completions?api-version=2025-01-01", 3},
	} {
		settings := map[string]any{}
		if c.query != nil {
			settings["query"] = c.query
		}
		if _, err := newChat(t, s, server.Settings(settings)).Complete(t.Context(), []language.Conversation{say("x")}); err != nil || sent != c.want || server.Requests() != c.asked {
			t.Errorf("%v: %s, %d requests, %v", c.query, sent, server.Requests(), err)
		}
	}
	identity := func(query map[string]any) (inputs, key string) {
		s := chatSetup(t, 0)
		settings := map[string]any{"base_url": "http://h/v1", "model": "m"}
		if query != nil {
			settings["query"] = query
		}
		r, err := newChat(t, s, settings).(*endpoint).request(Prompt{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return s.Inputs["settings of chat"], r.key
	}
	const oldInputs, oldKey = "sha256:42474d7715ccb963bf792c9e3f1010e9843a241732514ca8ab109518254cd299", "sha256:3af4fd9af0f91679898dd4fc9ee90fd9dbee414d7f2018021cccc92e3b9f6604"
	for _, none := range []map[string]any{nil, {}} {
		if inputs, key := identity(none); inputs != oldInputs || key != oldKey {
			t.Errorf("without a query: %s, %s", inputs, key)
		}
	}
	if inputs, key := identity(version("1")); inputs == oldInputs || key == oldKey {
		t.Errorf("with a query: %s, %s", inputs, key)
	}
}
