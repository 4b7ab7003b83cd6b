package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// chatKey is the key that the server of the scripts takes.
const chatKey = "sk-script-5tGh8kLm2QwErTy7"

// chatServer is a chat model for the scripts, at $CHAT/v1. It accepts $GOOD_KEY and counts its answers. It answers that
// a claim with a "not" is wrong, and that it cannot decide on one with a "perhaps". At $CHAT/busy/v1 it refuses the
// first request as overloaded, at $CHAT/many/v1 it reports an impossible number of tokens.
type chatServer struct {
	answered atomic.Int64
	busy     atomic.Bool // has refused a request as overloaded
}

type chatServerKey struct{}

// startChat starts the server of one script.
func startChat(e *testscript.Env) {
	s := &chatServer{}
	web := httptest.NewServer(s)
	e.Defer(web.Close)
	e.Values[chatServerKey{}] = s
	e.Setenv("CHAT", web.URL)
	e.Setenv("GOOD_KEY", chatKey)
	e.Setenv("BAD_KEY", "sk-wrong-"+chatKey[10:])
}

func (s *chatServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if got := r.Header.Get("Authorization"); err != nil || got != "Bearer "+chatKey {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"incorrect key: %s, %s, %s"}}`, got, strings.ToUpper(got), base64.StdEncoding.EncodeToString([]byte(got)))
		return
	}
	if strings.HasPrefix(r.URL.Path, "/busy/") && !s.busy.Swap(true) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	prompt := "200"
	if strings.HasPrefix(r.URL.Path, "/many/") {
		prompt = "1000000000000000000"
	}
	answer := "SUPPORTS"
	switch text := string(body); {
	case strings.Contains(text, " not "):
		answer = "**refutes**"
	case strings.Contains(text, "perhaps"):
		answer = "hard to tell"
	}
	s.answered.Add(1)
	fmt.Fprintf(w, `{"choices":[{"message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":%s,"completion_tokens":10}}`, answer, prompt)
}

// answered checks how many answers the server has given: answered COUNT.
func answered(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: answered COUNT")
	}
	want, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	if got := ts.Value(chatServerKey{}).(*chatServer).answered.Load(); got != want {
		ts.Fatalf("%d answers were given, want %d", got, want)
	}
}
