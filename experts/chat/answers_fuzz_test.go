package chat

import (
	"bytes"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/costs"
	"pipe/internal/fuzztest"
)

// FuzzAnswersFile: a file of kept answers is an error about the file with its row, or answers that are written as they were
// read, up to the end of the last whole line. An answer that is written is read back.
func FuzzAnswersFile(f *testing.F) {
	one, err := answer{Request: "r", Text: "SUPPORTS", PromptTokens: 7, Time: time.Unix(1, 0).UTC()}.line()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(answersHead+string(one)), "r1", "two\nlines", 3, 4, int64(5))
	f.Add([]byte(answersHead+string(one[:20])), "", "\xff\u2028<", 0, 1, int64(-1))
	f.Add([]byte(answersHead+strings.Replace(string(one), "SUPPORTS", "REFUTES", 1)), "r", "", math.MaxInt, -1, int64(math.MaxInt64))
	f.Add([]byte("{}\n"), "r", "x", maxTokens, 0, int64(0))
	file := fuzztest.NewFile(f, AnswersFile)
	load := func(t *testing.T, b []byte) (kept map[string]answer, whole int64, err error) {
		in, err := os.Open(file.Write(t, b))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		s := answerStore{file: in}
		whole, err = s.load()
		return s.kept, whole, err
	}
	f.Fuzz(func(t *testing.T, b []byte, request, text string, prompt, completion int, nanoseconds int64) {
		kept, whole, err := load(t, b)
		var bad *costs.DataError
		switch {
		case err != nil && (!errors.As(err, &bad) || bad.Row == 0):
			t.Fatalf("%v is no error with a row", err)
		case err != nil:
			file.Blames(t, err)
		case whole > int64(len(b)) || whole > 0 && b[whole-1] != '\n' || bytes.IndexByte(b[whole:], '\n') >= 0:
			t.Fatalf("%d of %d bytes are whole", whole, len(b))
		}
		if err != nil {
			b, whole, kept = []byte(answersHead), int64(len(answersHead)), map[string]answer{}
		} else if whole == 0 {
			b, whole = []byte(answersHead), int64(len(answersHead))
		}
		valid := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
		a := answer{Request: valid(request), Text: valid(text), PromptTokens: prompt, CompletionTokens: completion, Time: time.Unix(0, nanoseconds).UTC()}
		line, err := a.line()
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := load(t, append(slices.Clone(b[:whole]), line...))
		if min(prompt, completion) < 0 || max(prompt, completion) > maxTokens {
			if err == nil {
				t.Fatalf("%s is read", line)
			}
			return
		}
		back := again[a.Request]
		back.Check = ""
		fuzztest.Same(t, back, a, err)
		for name, was := range kept {
			if is := again[name]; name != a.Request && is != was {
				t.Fatalf("%+v is now %+v", was, is)
			}
		}
	})
}
